"""Several starts of a fit: their mean, without noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import driftword as dw
from driftword.fitting.keeping import Checkpoints
from driftword.fitting.starts import LEAST_KEPT, rotate_and_filter

WORDS, DIM, RANK = 3000, 12, 5
SPEC = dw.Spec(dim=8, context=4, rounds=3, block_size=16, run_length=8, pool_size=16, learning_rate=0.1)


def some_starts(count: int, noise: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return vectors in a few directions, and copies of them with noise in all directions, each rotated anew."""
    random = np.random.default_rng(count)
    true = np.zeros((WORDS, DIM))
    true[:, :RANK] = random.normal(size=(WORDS, RANK)) * np.linspace(1, 3, RANK)
    noisy = [true + noise * random.normal(size=true.shape) for _ in range(count)]
    turns = [np.eye(DIM), *(np.linalg.qr(random.normal(size=(DIM, DIM)))[0] for _ in range(count - 1))]
    return true, [(one @ turn).astype(np.float32) for one, turn in zip(noisy, turns, strict=True)]


@pytest.mark.parametrize("count", [2, 3, 5])
def test_noise_is_averaged_and_filtered_out(count: int) -> None:
    true, starts = some_starts(count, noise=0.8)
    rotations, filtering = rotate_and_filter(list(starts))
    mean = sum(start @ rotation for start, rotation in zip(starts, rotations, strict=True)) / count

    def error(found: np.ndarray) -> float:
        return float(np.square(found - true).mean())

    assert error(mean) == pytest.approx(error(starts[0]) / count, rel=0.1)
    # The filter removes what noise is left in directions without signal, and hardly touches the others.
    assert error(mean @ filtering) < 0.6 * error(mean)
    kept = np.sort(np.linalg.eigvalsh(filtering))
    assert kept[: DIM - RANK].max() < 0.25
    assert kept[: DIM - RANK].min() >= LEAST_KEPT - 1e-9
    assert kept[-RANK:].min() > 0.6
    expected = 1 / (1 + 0.8**2 / count / np.linspace(1, 3, RANK) ** 2)  # signal of signal and noise, in the mean
    np.testing.assert_allclose(kept[-RANK:], expected, atol=0.04)


def test_starts_that_differ_only_by_a_rotation_stay_as_they_are() -> None:
    random = np.random.default_rng(0)
    vectors, turn = random.normal(size=(WORDS, DIM)), np.linalg.qr(random.normal(size=(DIM, DIM)))[0]
    (_, back), filtering = rotate_and_filter([vectors, vectors @ turn])
    np.testing.assert_allclose(back, turn.T, atol=1e-9)
    np.testing.assert_allclose(filtering, np.eye(DIM), atol=1e-9)


def test_directions_that_no_start_fills_do_no_harm() -> None:
    vectors = np.zeros((4, 3), np.float32)
    vectors[:, 0] = 1
    rotations, filtering = rotate_and_filter([vectors, vectors])
    np.testing.assert_allclose(vectors @ rotations[1] @ filtering, vectors, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["static", "binned", "dynamic"])
def test_a_fit_begins_several_times(small: dw.Corpus, name: str) -> None:
    spec = replace(SPEC, model=name)
    once, twice, thrice = (dw.fit(small, replace(spec, starts=n), passes=3) for n in (1, 2, 3))
    for again, model in ((2, twice), (3, thrice)):
        ratios = [m["words"] / o["words"] for m, o in zip(model.history, once.history, strict=True)]
        assert ratios == pytest.approx([again, again, 1], rel=0.05)  # other subsamples
        assert model.history[-1]["L"] > once.history[-1]["L"] - 0.05


@pytest.mark.slow
def test_a_short_fit_begins_once(small: dw.Corpus) -> None:
    once, twice = (dw.fit(small, replace(SPEC, starts=n), passes=2) for n in (1, 2))
    assert (once.rho == twice.rho).all()


@pytest.mark.slow
def test_checkpoints_begin_with_the_mean(small: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = []
    monkeypatch.setattr(Checkpoints, "save", lambda _, parameters, history, **__: saved.append(len(history)))
    dw.fit(small, SPEC, passes=4, patience=4, checkpoint_every=0, out=tmp_path / "model")
    assert saved == [2, 3, 4]
    assert len((tmp_path / "model.log.jsonl").read_text().splitlines()) == 4


def test_models_of_fits_without_that_option_began_once() -> None:
    options = dw.Spec(starts=3).to_dict()
    assert dw.Spec.from_dict(options).starts == 3
    del options["starts"]
    assert dw.Spec.from_dict(options).starts == 1
    assert dw.Spec.paper().starts == 1
