"""Random texts, parameters and steps on which every engine is tried."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from driftword.engines.parameters import Parameters, accumulators
from driftword.engines.prior import Chain, Prior
from driftword.engines.rounds import Centering, PassPlan, Sampler, Step, Text

NAMES = ("rho", "alpha", "rho_accumulator", "alpha_accumulator")
SETTING = st.fixed_dictionaries(
    {
        "lengths": st.lists(st.integers(0, 40), min_size=1, max_size=10),
        "slices": st.sampled_from([1, 2, 3, 5, 17]),
        "words": st.integers(2, 30),
        "dim": st.sampled_from([1, 3, 16, 21, 33]),
        "half_window": st.integers(1, 5),
        "block_size": st.integers(1, 40),
        "run_length": st.integers(1, 40),
        "pool_size": st.integers(1, 30),
        "rounds": st.integers(1, 4),
        "model": st.sampled_from(["static", "binned", "dynamic"]),
        "intercept": st.booleans(),
        "by_word": st.booleans(),
        "contexts": st.booleans(),
        "passes_before": st.sampled_from([0, 40, 1000]),
        "seed": st.integers(0, 1000),
    }
)


def make_parameters(
    slices: int,
    words: int,
    dim: int,
    *,
    seed: int = 0,
    accumulator: float = 0.01,
    intercept: bool = False,
    contexts: bool = False,
) -> Parameters:
    """Draw parameters; with `contexts` every slice has context vectors of its own."""
    random = np.random.default_rng(seed)
    rho = random.normal(size=(slices, words, dim + intercept)) * 0.4
    alpha = random.normal(size=(slices, words, dim) if contexts else (words, dim)) * 0.4
    return Parameters(rho, alpha, *accumulators(rho, alpha, accumulator))


def single(parameters: Parameters) -> Parameters:
    return parameters.astype(np.float32)


def make_text(lengths: list[int], slice_of: list[int], words: int, *, seed: int = 0) -> Text:
    random = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(lengths)].astype(np.int64)
    ids = random.integers(0, words, int(offsets[-1])).astype(np.int32)
    chunks = np.arange(len(lengths))
    return Text(ids, offsets, chunks, np.array(slice_of, dtype=np.int32), np.arange(len(ids)))


def make_plan(**changes: Any) -> PassPlan:
    options: dict[str, Any] = {
        "number": 0, "subsample": 0, "sliced": True, "block_size": 16, "run_length": 4, "rounds": 1, "seed": 0,
        **changes,
    }  # fmt: skip
    return PassPlan(**options)


def make_prior(slices: int, **changes: Any) -> Prior:
    """Return a prior with a walk through slices that are not equally far from each other."""
    chain = Chain(np.linspace(0.02, 0.01, slices), np.linspace(2, 4, slices - 1))
    intercept = Chain(np.zeros(slices), np.linspace(7, 5, slices - 1))
    return Prior(**{"alpha": Chain.independent(0.01), "rho": chain, "intercept": intercept, **changes})


def make_step(slices: int = 1, **changes: Any) -> Step:
    """Return a step; what is not an option of it is one of the prior."""
    options: dict[str, Any] = {"learning_rate": 0.05, "half_window": 2, "negatives": 20, "pool_size": 8}
    options |= {name: changes.pop(name) for name in (*options, "centering", "frozen") if name in changes}
    return Step(**options, prior=make_prior(slices, **changes))


def by_word(slices: int, words: int) -> Chain:
    """Return a chain in which each word has a walk of its own."""
    chain = make_prior(slices).rho
    return Chain(chain.precision, chain.walk[:, None] * np.linspace(0.2, 3, words))


def independent(slices: int) -> dict[str, Any]:
    """Return the options of a prior that does not couple slices."""
    chain = make_prior(slices).rho
    return {"rho": Chain(chain.precision, 0 * chain.walk), "intercept": Chain.independent(np.zeros(slices))}


def make_case(setting: dict[str, Any]) -> tuple[Text, PassPlan, Parameters, Sampler, Step]:
    """Return the text, plan, parameters, negatives and step of a setting."""
    slices = 1 if setting["model"] == "static" else setting["slices"]
    random = np.random.default_rng(setting["seed"])
    slice_of = sorted(random.integers(0, slices, len(setting["lengths"])).tolist())
    text = make_text(setting["lengths"], slice_of, setting["words"], seed=setting["seed"])
    plan = make_plan(
        number=2, block_size=setting["block_size"], run_length=setting["run_length"], rounds=setting["rounds"], seed=1,
        passes_before=setting["passes_before"],
    )  # fmt: skip
    parameters = make_parameters(
        slices, setting["words"], setting["dim"], seed=setting["seed"], intercept=setting["intercept"],
        contexts=setting["contexts"],
    )  # fmt: skip
    prior = {"alpha": make_prior(slices).rho} if setting["contexts"] else {}
    if setting["model"] != "dynamic":
        prior |= independent(slices)
    elif setting["by_word"]:
        prior |= {"rho": by_word(slices, setting["words"])}
    counts = np.bincount(text.ids, minlength=setting["words"])
    step = make_step(
        slices, half_window=setting["half_window"], pool_size=setting["pool_size"],
        # Long steps of many blocks from the same point overshoot, and rounding errors grow beyond comparison.
        learning_rate=0.001 if setting["passes_before"] else 0.05,
        centering=Centering(((counts + 0.5) / (counts + 0.5).sum()).astype(np.float32), setting["half_window"] * 1.7),
        **prior,
    )  # fmt: skip
    return text, plan, parameters, Sampler.make(counts, 0.75), step
