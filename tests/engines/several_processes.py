"""Fits by several processes, as ``torchrun`` would start them; prints what came out as JSON.

All are forked from this one, which has loaded everything and leads: that is much quicker than
starting each of them. Followers use nothing that threads of this process may hold.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import socket
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import driftword as dw
from driftword.basics.errors import DriftwordError
from driftword.engines.array_engine import ArrayEngine
from driftword.engines.distributed import engine as distributed
from driftword.fitting import fitting

SLICES, WORDS = 9, 120
SPEC: dict[str, Any] = {"dim": 8, "context": 4, "rounds": 2, "block_size": 64, "prior_precision": 0.1}


def make_corpus(seed: int = 0, *, groups: bool = False) -> dw.Corpus:
    """Make text in which words follow each other by a rule that half of the words change in time.

    Of two groups of documents one has text in the last slices alone, and a rule of its own.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(80, 240, size=16 * SLICES)
    slice_of = np.sort(random.integers(0, SLICES, size=len(lengths)))
    late = ((slice_of > 5) & (lengths > 120)).astype(int)
    ids = []
    for length, t, own in zip(lengths, slice_of, late * groups, strict=True):
        topic = random.integers(0, 6)
        shift = (t // 3 if topic % 2 else 0) + 7 * own
        ids.append((topic * 20 + shift + random.integers(0, 20, size=length)) % WORDS)
    return dw.Corpus.from_ids(
        [f"w{i}" for i in range(WORDS)], np.concatenate(ids), np.r_[0, np.cumsum(lengths)],
        chunk_slice=slice_of, chunk_split=np.where(np.arange(len(lengths)) % 5 == 0, 1, 0), slices=range(2000, 2009),
        **({"groups": ("all", "late"), "chunk_group": late} if groups else {}),
    )  # fmt: skip


def together(size: int, lead: Callable[[], Any], follow: Callable[[int], None]) -> tuple[Any, list[int]]:
    """Run a leader here and followers in forks; return what the leader returned, and how the others ended."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    common = {"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ |= {name: str(value) for name, value in common.items()}
    children = []
    # A follower must not tidy up what earlier fits left here: it would wait for threads that it does not have.
    gc.collect()
    gc.freeze()
    for rank in range(1, size):
        child = os.fork()
        if not child:
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            try:
                follow(rank)
            except DriftwordError as error:
                print(f"rank {rank}: {error}", file=sys.stderr, flush=True)
                os._exit(2)
            os._exit(0)
        children.append(child)
    gc.unfreeze()
    os.environ |= {"RANK": "0", "LOCAL_RANK": "0"}
    try:
        result = lead()
    except DriftwordError as error:
        result = str(error)
    for name in (*common, "RANK", "LOCAL_RANK"):
        del os.environ[name]
    return result, [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def facts(model: dw.Model | str) -> dict[str, Any]:
    if isinstance(model, str):
        return {"error": model}
    best = model.history[model.best_pass - 1]
    return {
        "L": best["L"], "passes": len(model.history), "words": best["words"], "shape": model.rho.shape,
        "steps": np.linalg.norm(np.diff(model.rho.astype(float), axis=0), axis=2).mean(axis=1).tolist(),
        "machine": model.provenance.ran_on,
    }  # fmt: skip


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # threads of it do not survive a fork
    corpus = make_corpus()
    found: dict[str, Any] = {}

    def fit(size: int, *, spec: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        chosen = dw.Spec(**{**SPEC, **(spec or {})})
        options = {"passes": 3, "engine": "cpu", "threads": 1, **options}
        if size == 1:
            return facts(dw.fit(corpus, chosen, **options))
        model, codes = together(size, lambda: dw.fit(corpus, chosen, **options), lambda _: fitting.follow(corpus))
        return {**facts(model), "codes": codes}

    found["four passes"] = fit(1, passes=4)
    for size in (1, 2, 3):
        found[f"dynamic {size}"] = fit(size)
    specs = {"static": {"model": "static"}, "contexts": {"dynamic_context": True}, "ou": {"walk": "ou"}}
    for name, changes in specs.items():
        for size in (1, 2):
            found[f"{name} {size}"] = fit(size, spec=changes, passes=2)
    for size in (1, 2):
        found[f"jumps {size}"] = fit(size, spec={"walk": "jumps"})  # which depend on embeddings from the third pass on
    found["again 2"] = fit(2, spec=specs["contexts"], passes=2)
    found["too many"] = fit(SLICES + 1)

    whole, ArrayEngine.capacity = ArrayEngine.capacity, lambda _: 4000.0  # type: ignore[method-assign]
    for size in (1, 2):
        found[f"streamed {size}"] = fit(size)
    ArrayEngine.capacity = whole  # type: ignore[method-assign]

    out = folder / "killed.model"
    spec = dw.Spec(**SPEC)

    def die(rank: int) -> None:
        if rank == 2:
            take, rounds = distributed.RankPart.round, itertools.count(1)

            def round_or_die(part: Any, number: int, step: Any) -> float:
                if part.sliced and next(rounds) == 6:  # the last round of the third pass; the second is done twice
                    os._exit(9)
                return take(part, number, step)

            distributed.RankPart.round = round_or_die  # type: ignore[method-assign]
        fitting.follow(corpus)

    options: dict[str, Any] = {"passes": 4, "engine": "cpu", "threads": 1, "out": out, "checkpoint_every": 0}
    model, codes = together(3, lambda: dw.fit(corpus, spec, **options), die)
    found["killed"] = {**facts(model), "codes": codes, "files": sorted(path.name for path in folder.iterdir())}
    model, codes = together(
        2, lambda: dw.fit(corpus, spec, resume=True, **options), lambda _: fitting.follow(corpus)
    )  # fmt: skip
    found["resumed"] = {**facts(model), "codes": codes, "files": sorted(path.name for path in folder.iterdir())}

    grouped = make_corpus(groups=True)

    def fit_groups() -> Any:
        return dw.fit(
            grouped, dw.Spec(**SPEC, learning_rate=2.0, group_precision=0.1), passes=4, engine="cpu", threads=1
        )

    groups = [fit_groups(), *(together(2, fit_groups, lambda _: fitting.follow(grouped))[0] for _ in range(2))]
    found["groups"] = {
        name: {
            "L": [max(entry["L"] for entry in model._groups[name].history) for model in groups],
            "moved": [float(np.abs(model.group(name).rho - model.rho).mean()) for model in groups],
            "again": np.array_equal(groups[1].group(name).rho, groups[2].group(name).rho),
        }
        for name in grouped.groups
    }

    def tune() -> Any:
        return dw.tune(grouped, spec, passes=3, candidates=4, threads=1, engine="cpu")

    one, (two, codes) = tune(), together(2, tune, lambda _: fitting.follow(grouped.without_groups()))
    found["tuned"] = {
        "tried": [tuned.tried.to_dicts() for tuned in (one, two)], "rate": two.spec.learning_rate, "codes": codes,
    }  # fmt: skip

    model, codes = together(2, lambda: dw.fit(corpus, spec), lambda _: fitting.follow(7))  # type: ignore[arg-type]
    found["no corpus"] = {**facts(model), "codes": codes}

    other = make_corpus(1)
    model, codes = together(2, lambda: dw.fit(corpus, spec), lambda _: fitting.follow(other))
    found["other corpus"] = {**facts(model), "codes": codes}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
