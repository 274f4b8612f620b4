"""Writers: two or three commands that write to the same place at once.

One wins; the others are told so in a sentence, early. What is there in the end is wholly the work of one winner.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torture.arena import Arena, Part
from torture.corpora import FIT, PREPARE, replace
from torture.folders import Reference, leftovers, reset, snapshot
from torture.processes import Outcome, Running
from torture.verdicts import SURVIVED, WRONG, Verdict

SLOW: Final = (*FIT, "--passes", "12", "--patience", "12", "--rounds", "40")  # long enough to overlap
EARLY: Final = 0.75  # a writer that is refused must be told before this share of the winner's time has passed


@dataclass(frozen=True)
class Race:
    """A command that several run at once, each with a number of its own that shows in the result."""

    name: str
    overwrite: bool = False
    resume: bool = False

    def argv(self, arena: Arena, writer: int) -> list[str | Path]:
        """Return the command of one writer."""
        corpora, options = arena.corpora, ["--overwrite"] * self.overwrite + ["--resume"] * self.resume
        if self.name == "fit":
            return ["fit", corpora.corpus("small-1"), "--out", "out", *SLOW, "--seed", str(writer), *options]
        if self.name == "prepare":
            return ["prepare", corpora.source("small-1"), "--out", "out", *PREPARE, "--seed", str(writer), *options]
        model = corpora.model(f"large-{1 + writer % 2}")
        return ["export", model, "--format", self.name.split()[1], "--out", "out", *options]


RACES: Final = (
    Race("fit"), Race("fit", overwrite=True), Race("fit", resume=True), Race("prepare"),
    Race("prepare", overwrite=True), Race("export word2vec"), Race("export word2vec", overwrite=True),
    Race("export numpy", overwrite=True),
)  # fmt: skip


class Writers(Part):
    """Several writers at one place."""

    name = "writers"
    default = 120

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.folder = arena.folder / "writers"
        self.slowest_refusal = 0.0
        self._references: dict[tuple[str, int], Reference] = {}

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Start two or three writers, within milliseconds or during one another; sometimes kill the first."""
        race = RACES[number % len(RACES)]
        count, together = rng.choice((2, 2, 3)), rng.random() < 0.6
        references = [self._reference(race, writer) for writer in range(count)]
        duration = references[0].seconds
        delays = [0.0] + [rng.uniform(0, 0.02 if together else 0.6 * duration) for _ in range(count - 1)]
        kill_after = rng.uniform(0.2, 0.9) * duration if rng.random() < 0.25 else None
        folder = self._before(race)
        running: list[Running] = []
        for writer, delay in enumerate(sorted(delays)):
            if running:
                time.sleep(max(0.0, running[0].began + delay - time.monotonic()))
            running.append(self.arena.launcher.start(race.argv(self.arena, writer), folder))
        if kill_after is not None:
            running[0].ended.wait(max(0.0, running[0].began + kill_after - time.monotonic()))
            running[0].kill()
        outcomes = [one.wait() for one in running]
        attack = race.name + " --overwrite" * race.overwrite + " --resume" * race.resume
        attack += ", the first killed" if kill_after is not None else ""
        fault = self._judge(race, running, outcomes, references, folder, killed=kill_after is not None)
        starts = ", ".join(f"{one.began - running[0].began:.3f}" for one in running)
        return Verdict(attack, WRONG if fault else SURVIVED, f"{count} writers: {fault} (started after {starts} s)")

    def notes(self) -> list[str]:
        """Say how long the slowest refusal took."""
        return [f"the slowest refusal of a second fit took {self.slowest_refusal:.2f} s"]

    def _judge(
        self, race: Race, running: list[Running], outcomes: list[Outcome], references: list[Reference], folder: Path,
        *, killed: bool,
    ) -> str | None:  # fmt: skip
        victim = 0 if killed and outcomes[0].status not in (0, 2) else None
        for writer, outcome in enumerate(outcomes):
            if writer != victim and (fault := outcome.fault()):
                return f"writer {writer}: {fault}"
        winners = [writer for writer, outcome in enumerate(outcomes) if outcome.status == 0]
        if not winners and victim is None:
            return "nobody won: " + " | ".join(outcome.sentence for outcome in outcomes)
        if not winners:  # the others were refused while the first lived: the place must be free now
            outcome = self.arena.launcher.run([*race.argv(self.arena, 1), *_again(race)], folder)
            if outcome.status != 0:
                return f"after the first was killed, the next failed: {outcome.fault() or outcome.sentence}"
            winners = [1]
        elif fault := self._early(race, running, outcomes, winners, killed=killed):
            return fault
        if victim is not None and leftovers(snapshot(folder)):  # the next writer removes what the killed one left
            outcome = self.arena.launcher.run([*race.argv(self.arena, 1), *_again(race)], folder)
            if outcome.status != 0:
                return f"after the first was killed, the next failed: {outcome.fault() or outcome.sentence}"
            winners = [1]
        state = snapshot(folder)
        different = [references[winner].differences(state) for winner in winners]
        if all(different):
            left = f"; left over: {leftovers(state)[:3]}" if leftovers(state) else ""
            return f"writers {winners} won, but the result is of none: {min(different, key=len)[:2]}{left}"
        return None

    def _early(
        self, race: Race, running: list[Running], outcomes: list[Outcome], winners: list[int], *, killed: bool
    ) -> str | None:
        """Check that no two writers won that cannot have followed one another, and that losers were told early.

        One that overwrites may win after another has ended; only a fit takes long enough to tell the two apart.
        """
        if winners[1:] and not race.overwrite:
            return f"writers {winners} were all told that they had won"
        if race.name != "fit":
            return None
        if winners[1:] and not _sequential(running, winners):
            return f"writers {winners} wrote at the same time, and all were told that they had won"
        longest = max(outcomes[winner].seconds for winner in winners)
        for writer, outcome in enumerate(outcomes):
            if outcome.status == 2:
                self.slowest_refusal = max(self.slowest_refusal, outcome.seconds)
                if not killed and outcome.seconds > max(1.0, EARLY * longest):
                    return f"writer {writer} was refused only after {outcome.seconds:.1f} s: {outcome.sentence}"
        return None

    def _reference(self, race: Race, writer: int) -> Reference:
        key = race.name, writer % 2 if race.name.startswith("export") else writer
        if key not in self._references:

            def run() -> tuple[Path, float]:
                folder = self._before(race)
                outcome = self.arena.launcher.run(race.argv(self.arena, writer), folder)
                if outcome.status != 0:
                    raise SystemExit(f"An undisturbed {race} failed: {outcome.stderr}")
                return folder, outcome.seconds

            self._references[key] = Reference.learn(run)
        return self._references[key]

    def _before(self, race: Race) -> Path:
        folder = reset(self.folder)
        if race.overwrite:
            name = race.name.split()[-1]
            corpora = self.arena.corpora
            if race.name in ("fit", "prepare"):
                store = corpora.model("small-2") if name == "fit" else corpora.corpus("small-2")
                replace(store, folder / "out")
            else:
                argv = ["export", corpora.model("small-2"), "--format", name, "--out", "out"]
                self.arena.launcher.run(argv, folder)
        return folder


def _sequential(running: list[Running], winners: list[int]) -> bool:
    """Tell whether each winner could have begun its work when the one before had ended."""
    ends = sorted(running[winner].end for winner in winners)
    lengths = [running[winner].end - running[winner].began for winner in winners]
    return ends[-1] - ends[0] > 0.8 * min(lengths)


def _again(race: Race) -> list[str]:
    return [] if race.overwrite else ["--overwrite"]
