"""Random text and parameters, which every engine is tried on."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from driftword.engines.rounds import Parameters, Sampler, Step, Text

NAMES = ("rho", "alpha", "rho_squares", "alpha_squares")
SETTING = st.fixed_dictionaries(
    {
        "lengths": st.lists(st.integers(0, 40), min_size=1, max_size=10),
        "slices": st.integers(1, 5),
        "words": st.integers(2, 30),
        "dim": st.sampled_from([1, 3, 16, 21, 33]),
        "reach": st.integers(1, 5),
        "block": st.integers(1, 40),
        "run": st.integers(1, 40),
        "pool": st.integers(1, 30),
        "rounds": st.integers(1, 4),
        "model": st.sampled_from(["static", "binned", "dynamic"]),
        "seed": st.integers(0, 1000),
    }
)


def make_parameters(slices: int, words: int, dim: int, *, seed: int = 0, squares: float = 0.01) -> Parameters:
    random = np.random.default_rng(seed)
    rho, alpha = random.normal(size=(slices, words, dim)) * 0.4, random.normal(size=(words, dim)) * 0.4
    return Parameters(rho, alpha, np.full_like(rho, squares), np.full_like(alpha, squares))


def single(parameters: Parameters) -> Parameters:
    return Parameters(*(getattr(parameters, name).astype(np.float32) for name in NAMES))


def make_text(lengths: list[int], slice_of: list[int], words: int, *, seed: int = 0) -> Text:
    random = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(lengths)].astype(np.int64)
    ids = random.integers(0, words, int(offsets[-1])).astype(np.int32)
    chunks = np.arange(len(lengths))
    return Text(ids, offsets, chunks, np.array(slice_of, dtype=np.int32), np.arange(len(ids)))


def make_step(**changes: Any) -> Step:
    options: dict[str, Any] = {
        "learning_rate": 0.05, "reach": 2, "negatives": 20, "pool": 8, "drift": 3.0, "prior": 0.01,
        "anchor": 0.02, "chained": True,
        **changes,
    }  # fmt: skip
    return Step(**options)


def make_case(setting: dict[str, Any]) -> tuple[Text, Parameters, Sampler, Step]:
    """Return the text, parameters, negatives and step of a setting."""
    slices = 1 if setting["model"] == "static" else setting["slices"]
    random = np.random.default_rng(setting["seed"])
    slice_of = sorted(random.integers(0, slices, len(setting["lengths"])).tolist())
    text = make_text(setting["lengths"], slice_of, setting["words"], seed=setting["seed"])
    parameters = make_parameters(slices, setting["words"], setting["dim"], seed=setting["seed"])
    sampler = Sampler.make(np.bincount(text.ids, minlength=setting["words"]), 0.75)
    step = make_step(reach=setting["reach"], pool=setting["pool"], chained=setting["model"] == "dynamic")
    return text, parameters, sampler, step
