"""Faults: every call of the operating system by which a command writes fails, one after another.

Each fails alone (a fault that passes), and with all later calls that can fail for the same reason (a disk that stays
full). The command says so in one sentence; at its place is what was there before, or the complete result; a second try
without the fault ends as if nothing had been.
"""

from __future__ import annotations

import dataclasses
import errno
import math
import random
import signal
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from torture.arena import Arena, Part
from torture.corpora import FIT, PREPARE, replace, write_texts
from torture.failing_calls import ERRORS, Fault, Supervisor, available
from torture.folders import Reference, leftovers, reset, snapshot
from torture.kills import Command, Kills
from torture.processes import Outcome, Worker
from torture.verdicts import DETECTED, HARMLESS, SKIPPED, SURVIVED, WRONG, Verdict

LEFT_OUT: Final = ("fit --tune", "compare")  # they write as `fit` does
SEEDS_APART: Final = 997  # cases, so that another seed tries other faults first
NO_MEMORY: Final = "driftword: There is not enough memory; "
BESIDES_MEMORY: Final = tuple(kind for kind in ERRORS if kind != "memory")
KEPT: Final = ".out.checkpoints"  # what `fit` keeps on purpose, to be continued


class Faults(Part):
    """Calls of the system that fail."""

    name = "faults"

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.folder = reset(arena.folder / "faults")
        self.unsupervised = Worker()
        if available():
            self.supervisor = Supervisor(self.folder)
            self.supervised = Worker(supervisor=self.supervisor.address)
        self._references: dict[str, Reference] = {}

    def case(self, number: int, rng: random.Random) -> Verdict:  # noqa: ARG002 - nothing is drawn at random
        """Let one call fail, and then try again."""
        if not self.faults:
            return Verdict("all", SKIPPED, "calls of other processes cannot be supervised here; it needs Linux")
        command, fault = self.faults[(SEEDS_APART * self.arena.seed + number) * self._stride % len(self.faults)]
        whole, folder, before = self._reference(command), command.begin_in(self.folder), Reference()
        before.add(snapshot(folder), 0)
        starved = fault.kind == "memory"
        if starved:
            self.supervised.close()  # a process that has run has its memory already
        self.supervisor.expect(fault)
        outcome = self.supervised.run([command.argv], folder)[0]
        failed = self.supervisor.failed
        self.supervisor.expect(None)
        # Where memory runs out, Polars ends the process, which then counts as killed.
        killed = starved and outcome.status == -signal.SIGABRT
        wrong = None if killed else _ending(outcome, fault)
        wrong = wrong or self._damage(before, whole, outcome, may_leave=killed or _hinders_removal(fault, failed))
        # In the same process, as in a notebook, unless that had no memory.
        wrong = wrong or self._try_again(command, whole, self.unsupervised if starved else self.supervised)
        if wrong or starved:
            self.supervised.close()
        if wrong:
            return Verdict(command.name, WRONG, f"{fault} ({', '.join(failed[:1])}): {wrong}")
        return Verdict(command.name, SURVIVED if killed else DETECTED if outcome.stderr else HARMLESS)

    def close(self) -> None:
        """End the processes."""
        self.unsupervised.close()
        if available():
            self.supervised.close()
            self.supervisor.close()

    @cached_property
    def default(self) -> int:
        """As many cases as there are faults."""
        return max(1, len(self.faults))

    @cached_property
    def faults(self) -> list[tuple[Command, Fault]]:
        """All faults of all commands; none where calls cannot be supervised."""
        if not available() or self.supervised.run([["--version"]], self.folder)[0].status != 0:
            return []
        listed = [(command, fault) for command in self.commands for fault in self._faults(command, BESIDES_MEMORY)]
        listed += [(command, fault) for command in self.large_commands for fault in self._faults(command, ("memory",))]
        return listed

    @cached_property
    def commands(self) -> list[Command]:
        """Every writing command, fresh and over an older result."""
        corpora = self.arena.corpora
        source = write_texts(self.arena.folder / "later.csv", 3, documents=60, years=range(1996, 1998))
        extend = ("extend", corpora.model("small-1"), source, "--out", "out", "--engine", "cpu", "--threads", "2")
        significance = ("significance", "out", "--engine", "cpu", "--threads", "2", "--permutations", "50")

        def old(folder: Path) -> None:
            replace(corpora.model("small-2"), folder / "out")
            replace(corpora.corpus("small-2"), folder / "out.corpus")

        listed = {command.name: command for command in Kills(self.arena).commands if command.name not in LEFT_OUT}
        for name in ("fit", "fit --overwrite", "fit --resume"):
            listed[name] = _repeatable(listed[name])
        interrupted = self._interrupted(listed["fit"])
        listed["fit --resume"] = dataclasses.replace(
            listed["fit --resume"], before=lambda folder: reset(folder, interrupted)
        )
        return [
            *listed.values(),
            Command("extend", extend, "out"),
            Command("extend --overwrite", (*extend, "--overwrite"), "out", before=old),
            Command("significance", significance, "out", before=old),
        ]

    def _interrupted(self, fit: Command) -> Path:
        """Return a folder with the checkpoints of a fit that could not go on after its second pass."""
        self.supervisor.expect(Fault("mkdir", 4, errno.ENOSPC))  # one is for their folder
        self.supervised.run([fit.argv], reset(self.folder))
        return reset(self.arena.folder / "faults-interrupted", self.folder)

    @cached_property
    def large_commands(self) -> list[Command]:
        """Commands that need some memory."""
        corpora = self.arena.corpora
        prepare = ("prepare", corpora.source("large-1"), "--out", "out", *PREPARE)
        fit = ("fit", corpora.corpus("large-1"), "--out", "out", *FIT, "--dim", "16", "--passes", "2")
        return [
            Command("prepare a larger text", prepare, "out"),
            Command("fit a larger corpus", (*fit, "--no-significance"), "out", ("--resume",)),
        ]

    @cached_property
    def _stride(self) -> int:
        """The step from case to case: about the golden section, so that any number of cases is spread evenly.

        It has no divisor in common with the number of faults, so that none is tried twice.
        """
        step = round(len(self.faults) * 0.618)
        while math.gcd(step, len(self.faults)) > 1:
            step += 1
        return step

    def _faults(self, command: Command, kinds: Sequence[str]) -> Iterator[Fault]:
        """Run a command undisturbed, and return what can fail in it."""
        if "memory" in kinds:
            self.supervised.close()
        self.supervisor.expect(None)
        must(self.supervised.run([command.argv], command.begin_in(self.folder))[0], command)
        for kind in kinds:
            for number in range(1, self.supervisor.counts[kind] + 1):
                for error in ERRORS[kind]:
                    if kind != "memory":  # the C library tries a single allocation again, in another way
                        yield Fault(kind, number, error)
                    yield Fault(kind, number, error, lasting=True)

    def _reference(self, command: Command) -> Reference:
        """Return what undisturbed runs of a command leave."""
        if command.name not in self._references:

            def run() -> tuple[Path, float]:
                folder = command.begin_in(self.folder)
                return folder, must(self.unsupervised.run([command.argv], folder)[0], command).seconds

            self._references[command.name] = Reference.learn(run)
        return self._references[command.name]

    def _damage(self, before: Reference, whole: Reference, outcome: Outcome, *, may_leave: bool) -> str | None:
        """Say what is neither as it was nor as it should become, or left over although it could be removed."""
        state, ended = snapshot(self.folder), f"exit status {outcome.status}"
        silent = outcome.status == 0 and not outcome.stderr
        for name in _results({*before.names, *whole.names}):
            different = whole.differences(state, below=name)
            if different and (silent or before.differences(state, below=name)):
                return f"{ended}, and {'; '.join(different[:2])}"
            if f"{name}/meta.json" in state:
                verified = self.unsupervised.run([["info", name, "--verify"]], self.folder)[0]
                if verified.status != 0:
                    return f"{ended}, and then: {verified.fault() or verified.sentence}"
        if not may_leave and (left := _left_over([name for name in state if name not in before.names])):
            return f"{ended}, and left over although it could be removed: {left[:3]}"
        return None

    def _try_again(self, command: Command, whole: Reference, worker: Worker) -> str | None:
        """Run the command again without a fault, as its user would; say what went wrong."""
        argv = [*command.argv, *command.again]
        found = _results({path.name for path in self.folder.iterdir()})
        if found and command.argv[0] not in ("plot", "significance") and "--overwrite" not in argv:
            argv.append("--overwrite")
        before = snapshot(self.folder)
        outcome = worker.run([argv], self.folder)[0]
        if outcome.status != 0:
            return f"the second try failed: {outcome.fault() or outcome.sentence}"
        state = snapshot(self.folder)
        if state == before:  # all was done already, and only who writes removes what was left
            state = {name: content for name, content in state.items() if not leftovers([name])}
        if left := leftovers(state):
            return f"left over after the second try: {left[:3]}"
        if different := whole.differences(state):
            return f"the second try gave another result: {different[:3]}"
        return None


def must(outcome: Outcome, command: Command) -> Outcome:
    """Return the outcome of an undisturbed command, which has to be a success."""
    if outcome.status != 0:
        raise SystemExit(f"The undisturbed '{command.name}' failed: {outcome.stderr}")
    return outcome


def _repeatable(fit: Command) -> Command:
    """Return a fit in threads of its own, without a test of words, which it leaves out where that takes too long."""
    return dataclasses.replace(fit, argv=(*fit.argv, "--threads", "2", "--no-significance"))


def _ending(outcome: Outcome, fault: Fault) -> str | None:
    """Say what is wrong with how a command ended; a sentence is right, and a success with or without one."""
    lines = outcome.stderr.splitlines()
    if lines[1:] and not outcome.traceback:
        return f"exit status {outcome.status} and {len(lines)} lines: {' / '.join(lines)[-300:]}"
    starved = fault.kind == "memory" and outcome.status == 1 and outcome.stderr.startswith(NO_MEMORY)
    return None if starved else outcome.fault()


def _hinders_removal(fault: Fault, failed: Sequence[str]) -> bool:
    """Tell whether a command may be unable to remove what it leaves; a file that it cannot lock may be another's."""
    forbidden = fault.error == errno.EACCES and (fault.lasting or fault.kind in ("move", "remove"))
    return forbidden or any(call.startswith("flock ") for call in failed)


def _results(names: set[str]) -> list[str]:
    """Return the names that commands give to results, of all that were found."""
    return sorted(name for name in names if "/" not in name and name.startswith("out") and not name.endswith(".jsonl"))


def _left_over(names: Sequence[str]) -> list[str]:
    """Return what a command that failed should have removed; checkpoints stay."""
    return [name for name in names if (rest := name.removeprefix(KEPT).strip("/")) and leftovers([rest])]
