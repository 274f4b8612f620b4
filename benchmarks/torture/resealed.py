"""Resealed: somebody changes facts, arrays or tables of a store on purpose, and its checksums with them.

Nobody can know that the store was another one, so any answer is allowed; a traceback, a hang, a crash, much memory or
a connection is not.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.storage.checksums import file_checksums, sealed_json
from torture.arena import Arena, Part
from torture.corpora import WORD, replace
from torture.corruption import corpus_questions, model_questions
from torture.folders import reset
from torture.processes import Worker
from torture.verdicts import DETECTED, HARMLESS, WRONG, Verdict

MEMORY: Final = 2_000_000  # kB that a command may take
EVERYTHING: Final = 20  # cases of a kind of which one asks everything
VALUES: Final = (
    None, True, False, 0, 1, -1, 3, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, -1e308, math.nan, math.inf, "",
    "x", "1990", "-1", "nan", "all", "\0", "\ud800", "😀" * 50, "x" * 10_000, "../../../etc/passwd", "/dev/zero",
    "http://127.0.0.1:9/x",
    "reference://x::data:application/json;base64,e30=", "ftp://127.0.0.1/x", "<b>&amp;", "%s{0}",
    [], {}, [None], ["x"], [[[]]], {"x": {}}, {"": None}, [1, "x", None], list(range(1000)), [["x", 1]] * 3,
)  # fmt: skip
TYPES: Final = ("float64", "int8", "int64", "uint64", "float16", "complex64", "bool", "S3", "U2", "M8[D]")


class Resealed(Part):
    """Stores that were changed on purpose."""

    name = "resealed"
    default = 10_000

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.worker = Worker()
        self.slowest = 0.0
        self.peak = 0

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Change a store and ask it."""
        corpora, kind = self.arena.corpora, ("corpus", "model")[number % 2]
        whole = corpora.corpus("small-1") if kind == "corpus" else corpora.model("small-1")
        folder = self.arena.folder / "resealed"
        store, made = folder / f"changed.{kind}", folder / "made"
        folder.mkdir(exist_ok=True)
        replace(whole, store)
        reset(made)
        how = rng.choices((change_fact, change_array, change_table), (8, 1, 1))[0]
        done = how(store, rng)
        if kind == "corpus":
            everything = corpus_questions(store, corpora.model("small-1"), made)
        else:
            everything = [
                *model_questions(store, corpora.corpus("small-1"), made),
                ["card", store],
                ["passages", corpora.corpus("small-1"), WORD, "-n", "2"],
                ["report", store, "--out", made / "report.html"],
                ["plot", store, "--kind", "history", "--out", made / "history.svg"],
                ["significance", store, WORD, "--permutations", "99"],
            ]
        asked = everything if number // 2 % EVERYTHING == 0 else [everything[0], rng.choice(everything[1:5])]
        outcomes = self.worker.run(asked, folder)
        self.peak = max(self.peak, *(outcome.peak for outcome in outcomes))
        self.slowest = max(self.slowest, *(outcome.seconds for outcome in outcomes))
        for question, outcome in zip(asked, outcomes, strict=False):
            if fault := outcome.fault() or (f"took {outcome.peak:,} kB" if outcome.peak > MEMORY else None):
                return Verdict(kind, WRONG, f"{done}: {question[0]}: {fault}")
        return Verdict(kind, DETECTED if any(outcome.refused for outcome in outcomes) else HARMLESS)

    def notes(self) -> list[str]:
        """Say what the commands took."""
        return [f"slowest command {self.slowest:.1f} s, peak memory {self.peak / 1e6:.2f} GB"]

    def close(self) -> None:
        """End the process that is asked."""
        self.worker.close()


def change_fact(store: Path, rng: random.Random) -> str:
    """Change, remove or add one of the facts in ``meta.json``, however deep."""
    meta = read_meta(store)
    at, place = [], Any
    here: Any = meta
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if at == ["files"] and rng.random() < 0.8:  # one fact among many, but with most of the entries
            here, at = meta, []
            continue
        key = rng.choice(keys)
        place, at = here, [*at, key]
        if not isinstance(here[key], dict | list) or not here[key] or rng.random() < 0.3:
            break
        here = here[key]
    value = rng.choice(VALUES)
    what = rng.random()
    if what < 0.1:
        del place[key]
        done = "removed"
    elif what < 0.2 and isinstance(place, dict):
        place[rng.choice(("x", "", "pass", "rho.npy", "../x", "checksum"))] = value
        done = f"added {value!r:.60} beside"
    else:
        place[key] = value
        done = f"{value!r:.60} as"
    reseal(store, meta)
    return f"{done} {'.'.join(map(str, at))}"


def change_array(store: Path, rng: random.Random) -> str:
    """Change the type, the shape or some numbers of an array."""
    path = rng.choice(sorted(store.glob("*.npy")))
    values = np.load(path)
    changes: dict[str, Callable[[], Any]] = {
        "type": lambda: values.astype(rng.choice(TYPES)),
        "axis": lambda: values[None],
        "flat": lambda: values.reshape(-1),
        "shorter": lambda: values[:-1],
        "longer": lambda: np.concatenate([values, values]),
        "empty": lambda: values[:0],
        "columns": lambda: values[..., :-1],
        "order": lambda: np.asfortranarray(values),
        "largest": lambda: _with(values, rng, np.iinfo(values.dtype).max if values.dtype.kind in "iu" else math.inf),
        "smallest": lambda: _with(values, rng, np.iinfo(values.dtype).min if values.dtype.kind in "iu" else math.nan),
        "shuffled": lambda: np.random.default_rng(rng.randrange(99)).permutation(values),
    }
    name = rng.choice(sorted(changes))
    with np.errstate(all="ignore"):
        np.save(path, changes[name]())
    reseal(store, read_meta(store), path)
    return f"{name}: {path.name}"


def _with(values: Any, rng: random.Random, number: float) -> Any:
    values = values.copy()
    values.reshape(-1)[rng.randrange(values.size)] = number
    return values


def change_table(store: Path, rng: random.Random) -> str:
    """Change the columns, the types or some cells of a table."""
    path = rng.choice(sorted(store.glob("*.parquet")))
    table = pl.read_parquet(path)
    column = rng.choice(table.columns)
    changes: dict[str, Callable[[], pl.DataFrame]] = {
        "without": lambda: table.drop(column),
        "renamed": lambda: table.rename({column: "x"}),
        "as text": lambda: table.with_columns(pl.Series(column, [str(cell) for cell in table[column]])),
        "as numbers": lambda: table.with_columns(pl.lit(rng.choice((0, -1, 2**62))).alias(column)),
        "nothing in": lambda: table.with_columns(pl.lit(None).alias(column)),
        "empty": lambda: table.clear(),
        "one row": lambda: table.head(1),
        "twice": lambda: pl.concat([table, table]),
        "backwards": lambda: table.reverse(),
        "hostile": lambda: table.with_columns(pl.lit("<script>\u202e\0" * 50).alias(column)),
    }
    name = rng.choice(sorted(changes))
    changes[name]().write_parquet(path)
    reseal(store, read_meta(store), path)
    return f"{name} {column}: {path.name}"


def read_meta(store: Path) -> dict[str, Any]:
    """Return the facts of a store, without their checksum."""
    meta: dict[str, Any] = json.loads((store / "meta.json").read_bytes())
    del meta["checksum"]
    return meta


def reseal(store: Path, meta: dict[str, Any], changed: Path | None = None) -> None:
    """Write the facts of a store with a checksum that fits, and with those of a file that has changed."""
    if changed is not None:
        data = changed.read_bytes()
        meta["files"][changed.name] = {"bytes": len(data), "xxh3": file_checksums(BytesIO(data))}
    try:
        sealed = sealed_json(meta)
    except UnicodeEncodeError:  # half a character
        sealed = sealed_json(json.loads(json.dumps(meta).replace("\\ud800", "\\ufffd")))
    (store / "meta.json").write_bytes(sealed)
