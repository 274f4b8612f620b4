"""Corruption: every file of a corpus, a model and its checkpoints, damaged at a random place; then all is asked of it.

Detected means a sentence that names the file; harmless means that every answer is that of the undamaged store.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from torture.arena import Arena, Part
from torture.corpora import FIT, WORD
from torture.damage import KINDS, damage, restore
from torture.folders import Reference, reset, snapshot
from torture.kills import MORE, interrupted_fit
from torture.processes import Outcome, Worker
from torture.verdicts import DETECTED, HARMLESS, WRONG, Verdict

SCORE: Final = ("--json", "--threads", "1", "--engine", "cpu")
#: The stores in turn; small ones more often, because they are asked in a tenth of the time.
STORES: Final = (
    "small corpus", "small model", "large model", "small checkpoint", "small corpus", "large corpus", "small model",
    "large model", "small corpus", "small model", "small checkpoint", "large checkpoint",
)  # fmt: skip


@dataclass
class Target:
    """A store under attack: the files to damage, the questions to ask, and the undisturbed answers."""

    name: str
    folder: Path  # everything is asked here
    store: Path  # what is damaged
    whole: Path  # an undamaged copy
    other: Path | None  # another store of the same kind
    questions: list[list[str | Path]]
    answers: list[Outcome] = field(default_factory=list)
    made: Reference = field(default_factory=Reference)  # what the questions write


class Corruption(Part):
    """Damage to every file of every kind of store."""

    name = "corruption"
    default = 1000

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.worker = Worker()
        self.unnoticed: Counter[str] = Counter()
        self.undisturbed: list[Verdict] = []
        self._targets: dict[str, Target] = {}

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Damage one file of the store whose turn it is, and ask everything."""
        name = STORES[number % len(STORES)]
        if name.endswith("checkpoint"):
            return self._resume(name, rng)
        target = self._target(name)
        files = sorted(path.name for path in target.whole.iterdir())
        file, kind = _damage_one(target.store, files, rng, target.other)
        (target.folder / "made").mkdir(exist_ok=True)
        outcomes = self.worker.run(target.questions, target.folder)
        made = snapshot(target.folder / "made")
        reset(target.folder / "made")
        restore(target.store / file, target.whole / file)
        another = file == "meta.json" and kind == "another store's file"  # then it may be any file that does not fit
        faults = list(self._faults(target, "" if another else file, outcomes, made))
        if faults:
            more = f" (and {len(faults) - 1} more)" if faults[1:] else ""
            return Verdict(name, WRONG, f"{kind}: {file}: {faults[0]}{more}")
        if any(outcome.refused for outcome in outcomes):
            return Verdict(name, DETECTED)
        self.unnoticed[file] += 1
        return Verdict(name, HARMLESS)

    def conclusions(self) -> list[Verdict]:
        """Return the questions that failed although nothing was damaged."""
        return self.undisturbed

    def notes(self) -> list[str]:
        """Say which changes nobody noticed, because no answer depended on them."""
        if not self.unnoticed:
            return []
        files = ", ".join(f"{file} {times}" for file, times in self.unnoticed.most_common())
        return [f"changes that --verify let pass and that changed no answer: {files}"]

    def close(self) -> None:
        """End the process that is asked."""
        self.worker.close()

    def _faults(self, target: Target, file: str, outcomes: list[Outcome], made: dict[str, Any]) -> Iterator[str]:
        for question, outcome, whole in zip(target.questions, outcomes, target.answers, strict=False):
            command = " ".join(map(str, question[:1])) + (" --verify" if "--verify" in question else "")
            if fault := outcome.fault():
                yield f"{command}: {fault}"
            elif outcome.refused:
                if file not in outcome.stderr:
                    yield f"{command}: the sentence does not name the file: {outcome.sentence[:160]}"
            elif command != "fit" and outcome.stdout != whole.stdout:
                yield f"{command}: another answer without a word"
        failed = {str(q[0]) for q, outcome in zip(target.questions, outcomes, strict=False) if outcome.status != 0}
        if len(outcomes) == len(target.questions):
            for line in target.made.differences(made):
                if line.partition("/")[0].partition(" ")[0].partition(".")[0] not in failed:
                    yield f"{line} (written without a word)"

    def _target(self, name: str) -> Target:
        if name not in self._targets:
            self._targets[name] = self._make_target(name)
        return self._targets[name]

    def _make_target(self, name: str) -> Target:
        size, _, kind = name.partition(" ")
        corpora, folder = self.arena.corpora, reset(self.arena.folder / "corruption" / name.replace(" ", "-"))
        choose = corpora.corpus if kind == "corpus" else corpora.model
        whole, other = choose(f"{size}-1"), choose(f"{size}-2")
        store = folder / whole.name
        reset(store, whole)
        if kind == "corpus":
            questions = corpus_questions(store, corpora.model(f"{size}-1"), folder / "made")
        else:
            questions = model_questions(store, corpora.corpus(f"{size}-1"), folder / "made")
        target = Target(name, folder, store, whole, other, questions)
        for question in list(questions):  # what fails undisturbed is told once, and not asked again
            reset(folder / "made")
            outcome = self.worker.run([question], folder)[0]
            if outcome.status != 0:
                questions.remove(question)
                seen = f"{question[0]}: {outcome.fault() or outcome.sentence}"
                self.undisturbed.append(Verdict(f"{name}, undisturbed", WRONG, seen))
        for _ in range(2):
            reset(folder / "made")
            target.answers = self.worker.run(questions, folder)
            target.made.add(snapshot(folder / "made"), 0)
        reset(folder / "made")
        return target

    def _resume(self, name: str, rng: random.Random) -> Verdict:
        """Damage a checkpoint and resume the fit: refused, or continued to the same bytes, and never silently anew."""
        size = name.partition(" ")[0]
        options = () if size == "small" else ("--dim", "16", "--passes", "4")
        folder = self.arena.folder / "corruption" / name.replace(" ", "-")
        whole = self.arena.folder / "corruption" / f"{size}-interrupted"
        argv = ["fit", self.arena.corpora.corpus(f"{size}-1"), "--out", "out", *MORE, *options, "--resume"]
        if name not in self._targets:
            interrupted_fit(self.arena, f"{size}-1", whole, *options)
            target = self._targets[name] = Target(name, folder, folder, whole, None, [argv])
            for _ in range(2):
                reset(folder, whole)
                target.answers = self.worker.run([argv], folder)
                if target.answers[0].status != 0:
                    raise SystemExit(f"An undisturbed fit could not be resumed: {target.answers[0]}")
                target.made.add(snapshot(folder), 0)
        target = self._targets[name]
        reset(folder, whole)
        files = [str(p.relative_to(whole)) for p in sorted(whole.rglob("*")) if p.is_file() and p.parent != whole]
        file, kind = _damage_one(folder, files, rng, None)
        outcome = self.worker.run([argv], folder)[0]
        if fault := outcome.fault():
            return Verdict(name, WRONG, f"{kind}: {file}: fit --resume: {fault}")
        if outcome.refused:
            named = Path(file).name in outcome.stderr or "checkpoint" in outcome.stderr.lower()
            return Verdict(name, DETECTED if named else WRONG, f"{kind}: {file}: {outcome.sentence}")
        if different := target.made.differences(snapshot(folder)):
            return Verdict(name, WRONG, f"{kind}: {file}: another model without a word: {different[0]}")
        if _continued(folder, whole) < _continued(folder, whole, target.made):
            said = re.search(r"checkpoint|damaged", outcome.stderr, re.IGNORECASE)
            if not said:
                return Verdict(name, WRONG, f"{kind}: {file}: went back, or started over, without a word")
            return Verdict(name, DETECTED)
        return Verdict(name, HARMLESS)


def corpus_questions(store: Path, model: Path, made: Path) -> list[list[str | Path]]:
    """Return what is asked of a corpus."""
    return [
        ["info", store, "--json"],
        ["info", store, "--verify"],
        ["passages", store, WORD, "-n", "20", "--json"],
        ["passages", store, WORD, "--at", "1993", "--csv"],
        ["evaluate", model, "--corpus", store, *SCORE],
        ["fit", store, "--out", made / "fit", *FIT, "--passes", "2", "--dim", "4", "--rounds", "2"],
    ]


def model_questions(store: Path, corpus: Path, made: Path) -> list[list[str | Path]]:
    """Return what is asked of a model."""
    return [
        ["info", store, "--json"],
        ["info", store, "--verify"],
        ["neighbors", store, WORD, "--at", "all", "--json"],
        ["drift", store, "-n", "50", "--json"],
        ["changes", store, "--json"],
        ["trajectory", store, WORD, "--at", "all", "--json"],
        ["frequency", store, WORD, "--json"],
        ["evaluate", store, "--corpus", corpus, *SCORE],
        ["export", store, "--format", "numpy", "--out", made / "export"],
    ]


def _damage_one(store: Path, files: Sequence[str], rng: random.Random, other: Path | None) -> tuple[str, str]:
    """Damage a file drawn at random until something has changed; return the file and what was done."""
    while True:
        file, kind = rng.choice(files), rng.choice(KINDS)
        if damage(store / file, kind, rng, None if other is None else other / file):
            return file, kind


def _continued(folder: Path, whole: Path, undisturbed: Reference | None = None) -> int:
    """Return how many passes of an interrupted fit were taken over: their times are those that it logged."""
    log = undisturbed.last["out.log.jsonl"] if undisturbed else _read_log(folder)
    pairs = zip(log, _read_log(whole), strict=False)
    return sum(new["seconds"] == old["seconds"] for new, old in pairs)


def _read_log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.log.jsonl").read_text().splitlines()]
