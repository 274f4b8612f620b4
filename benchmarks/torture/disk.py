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
from torture.folders import Reference, Snapshot, leftovers, reset, snapshot
from torture.kills import Command, Kills
from torture.processes import Outcome
from torture.verdicts import DETECTED, HARMLESS, SKIPPED, WRONG, Verdict

NOBODY: Final = 65534
CONTINUED: Final = ("fit", "compare")  # keep what they have done so far, to be continued
FAULTS: Final = ("full disk", "size limit", "read-only disk", "no permission")


class Disk(Part):
    """Every writing command where it cannot write, or only a part."""

    name = "disk"
    default = 120

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.folder = reset(arena.folder / "disk")
        self._kills = Kills(arena)
        self._sizes: dict[str, list[int]] = {}  # of the files that each command leaves
        self.commands = self._kills.commands

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Run the command whose turn it is where it cannot write."""
        fault = FAULTS[number % len(FAULTS)]
        command = self.commands[number // len(FAULTS) % len(self.commands)]
        if fault in ("full disk", "read-only disk") and not self.can_mount:
            return Verdict(fault, SKIPPED, "no file system can be mounted here; it needs root")
        whole = self._kills.reference(command)
        if command.name not in self._sizes:  # the folder is as the last undisturbed run left it
            self._sizes[command.name] = [p.stat().st_size for p in self._kills.folder.rglob("*") if p.is_file()]
        needed, largest = sum(self._sizes[command.name]), max(self._sizes[command.name])
        folder, again = reset(self.folder), reset(self.arena.folder / "disk-again")
        mounted = False
        try:
            if fault in ("full disk", "read-only disk"):
                mounted = _mount(folder, 64 << 20)
            if command.before is not None:
                command.before(folder)
            before = snapshot(folder)
            outcome = self._run(command, folder, fault, rng.randrange(1, needed if mounted else largest))
            after = snapshot(folder)
            reset(again, folder)
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", str(folder)], check=False)
            os.chown(folder, os.getuid(), os.getgid())
            folder.chmod(0o755)
        attack = f"{fault}: {command.argv[0]}"
        if wrong := outcome.fault():
            return Verdict(attack, WRONG, f"{command.name}: {wrong}")
        if outcome.status == 0:
            different = whole.differences(after)
            seen = f"{command.name}: exit status 0, but {different[:2]}"
            return Verdict(attack, WRONG if different else HARMLESS, seen)
        changed = self._changes(command, before, after)
        if not changed and command.argv[0] in CONTINUED:
            changed = self._continue(command, again, existed=command.out in before)
        seen = f"{command.name}: {outcome.sentence[:100]}: {changed[:3]}"
        return Verdict(attack, WRONG if changed else DETECTED, seen)

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
        if fault == "full disk":  # as if others had used all but `size` bytes
            used = sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))
            subprocess.run(["mount", "-o", f"remount,size={used + size + 4096}", str(folder)], check=True)
        if fault == "read-only disk":
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        if fault == "no permission":
            folder.chmod(0o555)
            if os.getuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
            return launcher.run(command.argv, folder, unprivileged=True)
        return launcher.run(command.argv, folder)

    @staticmethod
    def _changes(command: Command, before: Snapshot, after: Snapshot) -> list[str]:
        """Return what a refused command changed; one that can be continued may keep what it has done so far."""
        old = Reference()
        old.add(before, 0)
        if command.argv[0] not in CONTINUED:
            return old.differences(after)
        return old.differences(after, below=command.out) if command.out in before else []

    def _continue(self, command: Command, folder: Path, *, existed: bool) -> list[str]:
        """Run the command again where it can write: it must end as if nothing had been."""
        folder.chmod(0o755)
        fault = self._kills.run_again(command, folder, complete=False, existed=existed)
        state = snapshot(folder)
        return [fault] if fault else leftovers(state) or self._kills.reference(command).differences(state)


def _mount(folder: Path, size: int) -> bool:
    """Mount a small file system in memory; return whether that was possible."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(folder)], capture_output=True, check=False
    )
    return done.returncode == 0
