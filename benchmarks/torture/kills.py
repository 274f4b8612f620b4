"""Kills: every writing command, ended by SIGKILL at a random moment, and then run again.

What was there before must still be there, or its complete successor; the next run must end well, leave the same bytes
as an undisturbed one, and nothing else.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from torture.arena import Arena, Part
from torture.corpora import FIT, PREPARE, WORD, Corpora, replace
from torture.folders import Reference, leftovers, reset, snapshot
from torture.processes import Running, wait_until
from torture.verdicts import HARMLESS, SURVIVED, WRONG, Verdict

EXPORTS: Final = ("word2vec", "word2vec-binary", "projector", "parquet", "safetensors", "numpy")
MORE: Final = (*FIT, "--passes", "6", "--patience", "6")


@dataclass(frozen=True)
class Command:
    """A writing command: what is there before, what it writes, and how it is run again after a kill."""

    name: str
    argv: tuple[str | Path, ...]
    out: str  # the name that must never be lost
    again: tuple[str, ...] = ()  # further options of the next run
    before: Callable[[Path], None] | None = None  # puts what was there before into the folder

    def begin_in(self, folder: Path) -> Path:
        """Return a folder with what is there before the command, and nothing else."""
        reset(folder)
        if self.before is not None:
            self.before(folder)
        return folder


def commands(corpora: Corpora, interrupted: Callable[[Path], None]) -> list[Command]:
    """Return every writing command, fresh and over an older result."""
    source, corpus, model = corpora.source("small-1"), corpora.corpus("small-1"), corpora.model("small-1")
    old_corpus, old_model = corpora.corpus("small-2"), corpora.model("small-2")

    def old(path: Path, name: str) -> Callable[[Path], None]:
        return lambda folder: replace(path, folder / name)

    prepare = ("prepare", source, "--out", "out", *PREPARE)
    fit = ("fit", corpus, "--out", "out", *MORE)
    tune = ("fit", corpus, "--out", "out", *FIT, "--passes", "2", "--tune")
    compare = ("compare", corpus, "--out", "out", "--contexts", "2", "--models", "static,dynamic", *FIT[:8])
    plot = ("plot", model, WORD, "--out", "out.svg")
    report = ("report", model, "--out", "out.html", "-n", "4", "--corpus", corpus)
    listed = [
        Command("prepare", prepare, "out"),
        Command("prepare --overwrite", (*prepare, "--overwrite"), "out", before=old(old_corpus, "out")),
        Command("fit", fit, "out", ("--resume",)),
        Command("fit --overwrite", (*fit, "--overwrite"), "out", ("--resume",), old(old_model, "out")),
        Command("fit --resume", (*fit, "--resume"), "out", before=interrupted),
        Command("fit --tune", tune, "out", ("--resume",)),
        Command("compare", compare, "out"),
        Command("plot", plot, "out.svg"),
        Command("plot over another", plot, "out.svg", before=old(corpora.source("small-2"), "out.svg")),
        Command("report", report, "out.html"),
        Command("report --overwrite", (*report, "--overwrite"), "out.html", before=old(source, "out.html")),
    ]
    for name in EXPORTS:
        export = ("export", model, "--format", name, "--out", "out")
        older = _exported(corpora, name)
        listed.append(Command(f"export {name}", export, "out"))
        listed.append(Command(f"export {name} --overwrite", (*export, "--overwrite"), "out", before=old(older, "out")))
    return listed


def _exported(corpora: Corpora, name: str) -> Path:
    """Return where an older export in this format lies."""
    return corpora.folder / f"small-2.{name}"


class Kills(Part):
    """Kills of every writing command."""

    name = "kills"
    default = 300

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.folder = arena.folder / "kills"
        for name in EXPORTS:
            older = _exported(arena.corpora, name)
            if not older.exists():
                argv = ["export", arena.corpora.model("small-2"), "--format", name, "--out", older]
                arena.launcher.run(argv, arena.folder)
        self.commands = commands(arena.corpora, self._interrupt)
        self._references: dict[str, Reference] = {}
        self._writing: dict[str, float] = {}  # seconds from the first change in the folder to the end

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Kill the command whose turn it is, at a moment drawn at random, and run it again."""
        command = self.commands[number % len(self.commands)]
        reference = self.reference(command)
        folder = command.begin_in(self.folder)
        old = Reference()
        old.add(snapshot(folder), 0)
        running = self.arena.launcher.start(command.argv, folder)
        aimed = number // len(self.commands) % 2 == 1  # every other round hits the time in which it writes
        if aimed:
            wait_for_change(folder, running)
        delay = rng.uniform(0, self._writing[command.name] if aimed else reference.seconds)
        finished = running.ended.wait(delay)
        running.kill()
        killed = f"killed {time.monotonic() - running.began:.3f} s after its start (of {reference.seconds:.2f} s)"
        running.wait()
        state = snapshot(folder)
        complete = command.out in state and not reference.differences(state, below=command.out)
        if command.out in old.names and not complete and (lost := old.differences(state, below=command.out)):
            return Verdict(command.name, WRONG, f"{killed}: what was there is not whole: {_short(lost)}")
        fault = self.run_again(command, folder, complete=complete, existed=command.out in old.names)
        if fault:
            return Verdict(command.name, WRONG, f"{killed}: {fault}")
        state = snapshot(folder)
        if left := leftovers(state):
            return Verdict(command.name, WRONG, f"{killed}: left over after the next run: {_short(left)}")
        if different := reference.differences(state):
            return Verdict(command.name, WRONG, f"{killed}: the next run gave another result: {_short(different)}")
        return Verdict(command.name, HARMLESS if finished else SURVIVED)

    def run_again(self, command: Command, folder: Path, *, complete: bool, existed: bool) -> str | None:
        """Run the command again, as its user would; return what went wrong."""
        argv = [*command.argv, *command.again]
        may_overwrite = command.argv[0] in ("prepare", "fit", "export", "report", "compare")
        if (complete or existed) and may_overwrite and "--overwrite" not in argv:
            argv.append("--overwrite")
        outcome = self.arena.launcher.run(argv, folder)
        if outcome.status != 0:
            return f"the next run failed: {outcome.fault() or outcome.sentence}"
        return None

    def reference(self, command: Command) -> Reference:
        """Return what undisturbed runs of a command leave."""
        if command.name not in self._references:

            def run() -> tuple[Path, float]:
                folder = command.begin_in(self.folder)
                running = self.arena.launcher.start(command.argv, folder)
                changed = wait_for_change(folder, running)
                outcome = running.wait()
                self._writing[command.name] = max(0.001, running.end - changed)
                if outcome.status != 0:
                    raise SystemExit(f"The undisturbed '{command.name}' failed: {outcome.stderr}")
                return folder, outcome.seconds

            self._references[command.name] = Reference.learn(run, times=2)
        return self._references[command.name]

    def _interrupt(self, folder: Path) -> None:
        """Put the state of an interrupted fit into a folder."""
        for path in self._interrupted.iterdir():
            replace(path, folder / path.name)

    @cached_property
    def _interrupted(self) -> Path:
        return interrupted_fit(self.arena, "small-1", self.arena.folder / "interrupted")


def wait_for_change(folder: Path, running: Running) -> float:
    """Wait until a command writes something, or ends; return when that was."""
    before = _listing(folder)
    while not running.ended.is_set() and _listing(folder) == before:
        time.sleep(0.0005)
    return time.monotonic()


def _listing(folder: Path) -> list[tuple[str, int]]:
    with os.scandir(folder) as entries:
        return sorted((entry.name, entry.inode()) for entry in entries)


def interrupted_fit(arena: Arena, name: str, folder: Path, *options: str) -> Path:
    """Kill a fit after its second pass; return the folder that holds its checkpoints, of a model 'out'."""
    for _ in range(50):
        reset(folder)
        log = folder / "out.log.jsonl"
        running = arena.launcher.start(["fit", arena.corpora.corpus(name), "--out", "out", *MORE, *options], folder)
        wait_until(lambda: running.ended.is_set() or (log.exists() and log.read_text().count("\n") >= 3), 30)
        running.kill()
        running.wait()
        if not (folder / "out").exists() and len(list(folder.iterdir())) > 1:
            return folder
    raise SystemExit("No fit could be interrupted between two of its passes")


def _short(lines: list[str]) -> str:
    return "; ".join(lines[:3]) + (f" and {len(lines) - 3} more" if len(lines) > 3 else "")
