"""Inputs: mutated files for `prepare`; accepted or refused in a sentence, within bounded time and memory."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from torture.arena import Arena, Part, load
from torture.corpora import PREPARE
from torture.damage import BYTES
from torture.folders import leftovers, reset, snapshot
from torture.processes import PATIENCE, Worker
from torture.verdicts import DETECTED, HARMLESS, WRONG, Verdict

#: A name, a function that writes the input into a folder and returns its path, and options of `prepare`.
Mutation = tuple[str, Callable[[Path], Path], Sequence[str]]

GENERATOR: Final = Path(__file__).parents[2] / "tests" / "corpus" / "mutated_inputs.py"
MEMORY: Final = 2 << 30  # no input may take more
LIMIT: Final = 8 << 30  # where the process is stopped, so that the machine survives
ROUND: Final = 500  # cases that share one seed of the generator


class Inputs(Part):
    """Mutated inputs."""

    name = "inputs"
    default = 5000

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.folder = arena.folder / "inputs"
        self.worker = Worker(memory_limit=LIMIT)
        self.peak = self.slowest = 0.0
        self._round: tuple[int, list[Any]] = (-1, [])
        reset(self.folder)
        base = self.worker.run([["prepare", arena.corpora.source("small-1"), "--out", "out"]], self.folder)
        if base[0].status != 0:
            raise SystemExit(f"An undisturbed prepare failed: {base[0].stderr}")

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Prepare one input."""
        folder = reset(self.folder)
        name, write, options = self._mutation(number, rng)
        source = write(reset(folder / "source"))
        out = folder / "result"
        out.mkdir()
        argv = ["prepare", source, "--out", out / "corpus", *options]
        outcomes = self.worker.run([argv, ["info", out / "corpus", "--verify"]], folder)
        prepared = outcomes[0]
        self.peak, self.slowest = max(self.peak, prepared.peak), max(self.slowest, prepared.seconds)
        attack = name.partition(":")[0]
        if fault := prepared.fault():
            return Verdict(attack, WRONG, f"{name}: {fault}")
        if prepared.peak * 1024 > MEMORY:
            return Verdict(attack, WRONG, f"{name}: took {prepared.peak / 2**20:.1f} GB")
        if prepared.seconds > PATIENCE:
            return Verdict(attack, WRONG, f"{name}: took {prepared.seconds:.0f} s")
        state = snapshot(out)
        if left := leftovers(state):
            return Verdict(attack, WRONG, f"{name}: left over: {left[:3]}")
        if prepared.status == 2:
            return Verdict(attack, WRONG if state else DETECTED, f"{name}: refused, but {list(state)[:3]} is there")
        fault = outcomes[1].fault() if outcomes[1:] else "info died"
        return Verdict(attack, WRONG if fault or outcomes[1].status else HARMLESS, f"{name}: accepted, then {fault}")

    def notes(self) -> list[str]:
        """Say how much memory and time the worst input took."""
        return [f"peak memory {self.peak / 2**20:.2f} GB, slowest {self.slowest:.1f} s"]

    def close(self) -> None:
        """End the process."""
        self.worker.close()

    def _mutation(self, number: int, rng: random.Random) -> Mutation:
        """Return a case: every other one mutates bytes, the others come from the generator of the tests."""
        if number % 2:
            return byte_mutation(self.arena.corpora.source("small-1"), rng)
        which, position = divmod(number // 2, ROUND)
        if self._round[0] != which:
            generated = load(GENERATOR).mutations(1000 * self.arena.seed + which)
            self._round = which, list(itertools.islice(generated, ROUND))
        case = self._round[1][position]
        return f"generated: {case.name}", case.write, _as_options(case.options)


def _as_options(options: dict[str, Any]) -> list[str]:
    """Spell options of `prepare` for the command line."""
    spelled = []
    for name, value in options.items():
        option = name.replace("_", "-")
        if value is True:
            spelled.append(f"--{option}")
        elif value is False:
            spelled += ["--no-phrases"] if name == "phrases" else []
        elif value is not None:
            spelled.append(f"--{option}={value}")
    return spelled


def byte_mutation(source: Path, rng: random.Random) -> Mutation:
    """Damage the bytes of a file that could be read, in one of its formats."""
    suffix = rng.choice((".csv", ".tsv", ".jsonl", ".json", ".parquet", ".txt", ".csv.gz"))
    kinds = rng.choices(sorted(BYTES), k=rng.randint(1, 3))
    seed = rng.random()

    def write(folder: Path) -> Path:
        path = folder / f"letters-1995{suffix}"
        data = bytearray(_in_format(source, suffix))
        for kind in kinds:
            if data:
                BYTES[kind](data, random.Random(seed))
        path.write_bytes(data)
        return path

    return f"bytes of {suffix}: {', '.join(kinds)}", write, PREPARE


def _in_format(source: Path, suffix: str) -> bytes:
    """Return twenty documents of a CSV file in another format."""
    rows = list(csv.DictReader(source.open(encoding="utf-8")))[:20]
    lines = source.read_text(encoding="utf-8").splitlines()[:21]
    text = "\n".join(lines) + "\n"
    if suffix == ".tsv":
        return text.replace(",", "\t").encode()
    if suffix == ".jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if suffix == ".json":
        return json.dumps(rows).encode()
    if suffix == ".txt":
        return rows[0]["text"].encode()
    if suffix == ".csv.gz":
        return gzip.compress(text.encode(), mtime=0)
    if suffix == ".csv":
        return text.encode()
    import polars as pl

    buffer = io.BytesIO()
    pl.DataFrame(rows).write_parquet(buffer)
    return buffer.getvalue()
