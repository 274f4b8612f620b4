"""Disk: a full disk, a read-only one, a limit on the size of files, and folders without permission.

Every writing command ends in a sentence and exit status 2; what was there is whole, and nothing is left behind.
"""

from __future__ import annotations

import os
import random
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Final

from torture.arena import Arena, Part
from torture.folders import Reference, Snapshot, reset, snapshot
from torture.kills import Command, Kills
from torture.processes import Outcome
from torture.verdicts import DETECTED, HARMLESS, SKIPPED, WRONG, Verdict

NOBODY: Final = 65534
FAULTS: Final = ("full disk", "size limit", "read-only disk", "no permission")


class Disk(Part):
    """Every writing command where it cannot write, or only a part."""

    name = "disk"
    default = 120

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.folder = reset(arena.folder / "disk")
        self._kills = Kills(arena)
        self.commands = [c for c in self._kills.commands if not c.name.startswith("compare")]

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Run the command whose turn it is where it cannot write."""
        fault = FAULTS[number % len(FAULTS)]
        command = self.commands[number // len(FAULTS) % len(self.commands)]
        if fault in ("full disk", "read-only disk") and not self.can_mount:
            return Verdict(fault, SKIPPED, "no file system can be mounted here; it needs root")
        if fault == "no permission" and os.getuid() != 0:
            return Verdict(fault, SKIPPED, "a folder of another user can only be made as root")
        whole = self._kills._reference(command)
        folder = reset(self.folder)
        needed = sum(path.stat().st_size for path in self._kills.folder.rglob("*") if path.is_file()) + 1
        mounted = False
        try:
            if fault in ("full disk", "read-only disk"):
                size = rng.randrange(4096, max(8192, needed)) if fault == "full disk" else 64 << 20
                mounted = _mount(folder, size)
            if command.before is not None:
                try:
                    command.before(folder)
                except OSError:
                    return Verdict(f"{fault}: {command.argv[0]}", HARMLESS, "the disk was full before it began")
            before = snapshot(folder)
            outcome = self._run(command, folder, fault, rng.randrange(1, 65536))
            after = snapshot(folder)
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", str(folder)], check=False)
            folder.chmod(0o755)
        return self._judge(command, fault, outcome, before=before, after=after, whole=whole)

    @cached_property
    def can_mount(self) -> bool:
        """Whether a small file system can be mounted."""
        probe = reset(self.arena.folder / "probe")
        if os.getuid() != 0 or not _mount(probe, 65536):
            return False
        subprocess.run(["umount", str(probe)], check=False)
        return True

    def _run(self, command: Command, folder: Path, fault: str, size: int) -> Outcome:
        launcher = self.arena.launcher
        if fault == "size limit":
            return launcher.run(command.argv, folder, limits={"RLIMIT_FSIZE": size})
        if fault == "read-only disk":
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        if fault == "no permission":
            folder.chmod(0o555)
            return launcher.run(command.argv, folder, uid=NOBODY)
        return launcher.run(command.argv, folder)

    @staticmethod
    def _judge(
        command: Command, fault: str, outcome: Outcome, *, before: Snapshot, after: Snapshot, whole: Reference
    ) -> Verdict:  # fmt: skip
        attack = f"{fault}: {command.argv[0]}"
        if wrong := outcome.fault():
            return Verdict(attack, WRONG, f"{command.name}: {wrong}")
        if outcome.status == 0:
            different = whole.differences(after)
            return Verdict(
                attack, WRONG if different else HARMLESS, f"{command.name}: exit status 0, but {different[:2]}"
            )
        old = Reference()
        old.add(before, 0)
        different = old.differences(after)
        resumable = command.argv[0] == "fit" and all(
            name.startswith((".out.pass-", "out.log", "out.tuning")) for name in set(after) - set(before)
        )
        changed = [line for line in different if not (resumable and line.endswith("is left over"))]
        changed = [line for line in changed if not line.startswith("out.log.jsonl")]
        if changed:
            return Verdict(attack, WRONG, f"{command.name}: {outcome.sentence[:80]}: {changed[:3]}")
        return Verdict(attack, DETECTED)


def _mount(folder: Path, size: int) -> bool:
    """Mount a small file system in memory; return whether that was possible."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(folder)], capture_output=True, check=False
    )
    return done.returncode == 0
