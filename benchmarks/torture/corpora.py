"""Small corpora and models to attack: made-up texts in six slices, and a larger pair whose files have many blocks."""

from __future__ import annotations

import csv
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torture.processes import Launcher, Outcome

YEARS: Final = range(1990, 1996)
SYLLABLES: Final = ("ban", "den", "fil", "gor", "hup", "jal", "kem", "lor", "mip", "nud")
PREPARE: Final = ("--subsample", "none", "--min-count", "1", "--no-phrases")
FIT: Final = ("--dim", "8", "--engine", "cpu", "--threads", "1", "--passes", "4", "--checkpoint-every", "0")
WORD: Final = "banban"


def write_texts(
    path: Path, seed: int, *, documents: int = 300, topics: int = 6, length: int = 60, years: Sequence[int] = YEARS
) -> Path:
    """Write a CSV file of short made-up texts, each about one topic; the words are the same for every seed."""
    rng = random.Random(seed)
    stems = [a + b for a in SYLLABLES for b in SYLLABLES]
    vocabulary = [[stems[t % 100] + (str(t // 100) if t >= 100 else "")] for t in range(topics)]
    vocabulary = [[first[0], *(first[0] + c for c in SYLLABLES)] for first in vocabulary]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["date", "text", "author"])
        for i in range(documents):
            words = [*vocabulary[i % topics], WORD, "the", "of", "and"]
            text = " ".join(rng.choices(words, k=length))
            writer.writerow(
                [f"{years[i % len(years)]}-{1 + i % 12:02}-{1 + i % 28:02}", text, f"author {i % 7} of {seed}"]
            )
    return path


@dataclass(frozen=True)
class Corpora:
    """Two small sources with their corpora and models, and two larger ones, under one folder."""

    folder: Path

    def source(self, name: str) -> Path:
        """Return the CSV file of a corpus."""
        return self.folder / f"{name}.csv"

    def corpus(self, name: str) -> Path:
        """Return a corpus: small-1, small-2, large-1, large-2."""
        return self.folder / f"{name}.corpus"

    def model(self, name: str) -> Path:
        """Return a model of the corpus of that name."""
        return self.folder / f"{name}.model"


def make_corpora(folder: Path, launcher: Launcher, *, large: bool = True) -> Corpora:
    """Prepare and fit everything; large files have more than a megabyte."""
    corpora = Corpora(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {"small": {"documents": 300, "topics": 6, "length": 60}}
    if large:
        sizes["large"] = {"documents": 4200, "topics": 700, "length": 150}
    for size, shape in sizes.items():
        for seed in (1, 2):
            name = f"{size}-{seed}"
            write_texts(corpora.source(name), seed, **shape)
            dim = ("--dim", "8") if size == "small" else ("--dim", "16", "--passes", "3")
            must(launcher, ["prepare", corpora.source(name), "--out", corpora.corpus(name), *PREPARE], folder)
            fit = ["fit", corpora.corpus(name), "--out", corpora.model(name), *FIT, *dim, "--seed", str(seed)]
            must(launcher, fit, folder)
    return corpora


def must(launcher: Launcher, argv: Sequence[str | Path], cwd: Path) -> Outcome:
    """Run a command that has to succeed."""
    outcome = launcher.run(argv, cwd)
    if outcome.status != 0:
        raise SystemExit(f"The undisturbed command failed: driftword {' '.join(map(str, argv))}\n{outcome.stderr}")
    return outcome


def replace(source: Path, target: Path) -> None:
    """Copy a file over another, or a folder."""
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    elif target.exists() or target.is_symlink():
        target.unlink()
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)
