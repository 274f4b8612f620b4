"""Corpora that many tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import driftword as dw

# A busy machine is no failure; and what CI tries must not change from run to run.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")

ROOT = Path(__file__).parent.parent
TOPICS = {
    "sea": ["ship", "harbour", "sailor", "voyage", "storm", "anchor", "captain", "island"],
    "farm": ["wheat", "cattle", "plough", "harvest", "barn", "meadow", "farmer", "orchard"],
    "law": ["court", "judge", "statute", "treaty", "senate", "verdict", "justice", "congress"],
}


def data_folder() -> Path:
    return Path(os.environ.get("DRIFTWORD_DATA", ROOT.parent / "shared" / "data"))


def needs_data(name: str) -> Path:
    path = data_folder() / name
    if not path.exists():
        pytest.skip(f"{name} is not in {data_folder()}; set DRIFTWORD_DATA to the folder that holds it")
    return path


def letters(n: int = 60, *, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield small made-up letters, 1850 to 1859, each about one topic."""
    random = np.random.default_rng(seed)
    for i in range(n):
        topic = list(TOPICS)[i % len(TOPICS)]
        words = random.choice([*TOPICS[topic], "the", "and", "of"], size=120)
        yield " ".join(words).capitalize() + ".", f"{1850 + i % 10}-{i % 12 + 1:02}-15"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    out = tmp_path_factory.mktemp("corpora") / "small.corpus"
    return dw.prepare(letters(), slices="1y", out=out, subsample=None)


@pytest.fixture(scope="session")
def sotu(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    out = tmp_path_factory.mktemp("corpora") / "sotu.corpus"
    return dw.prepare("sotu", slices="5y", out=out)


@pytest.fixture(scope="session")
def small_model(small: dw.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dw.Model:
    out = tmp_path_factory.mktemp("models") / "small.model"
    return dw.fit(small, dw.Spec(dim=8, context=4, rounds=2, prior_precision=0.1), passes=3, out=out)
