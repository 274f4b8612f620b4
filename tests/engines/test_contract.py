"""What every engine of the registry must do, whatever machine it runs on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import NAMES, by_word, independent, make_parameters, make_plan, make_step

import driftword as dw
from driftword.engines import Engine, make_engine
from driftword.engines.parameters import Parameters
from driftword.engines.prior import Chain
from driftword.engines.reference import ReferenceEngine
from driftword.engines.registry import ENGINES
from driftword.engines.rounds import Centering, Sampler, Text, read_pass, read_text

WORDS, SLICES, DIM = 15, 3, 6
SAMPLER = Sampler.make(np.arange(1, WORDS + 1), 0.75)
CENTERING = Centering(np.full(WORDS, 1 / WORDS, dtype=np.float32), 3.5)
WALK = np.array([2.0, 4.0])
Make = Callable[[Parameters], Engine]


@pytest.fixture(scope="module")
def corpus() -> dw.Corpus:
    """Make three slices with 100 training words each in two chunks, and a held-out chunk of 40 words."""
    lengths, splits = [60, 40, 40] * SLICES, [0, 0, 1] * SLICES
    random = np.random.default_rng(0)
    return dw.Corpus.from_ids(
        [f"w{i}" for i in range(WORDS)],
        random.integers(0, WORDS, sum(lengths)),
        np.r_[0, np.cumsum(lengths)],
        chunk_slice=np.repeat(np.arange(SLICES), 3),
        chunk_split=np.array(splits),
        slices=[2000, 2001, 2002],
    )


@pytest.fixture(params=list(ENGINES))
def make(request: pytest.FixtureRequest) -> Make:
    """Give a function that makes an engine on one thread of the processor, from a copy of parameters."""
    name = request.param
    options: dict[str, Any] = {"threads": 1}
    if ENGINES[name].package is not None:
        pytest.importorskip(ENGINES[name].package).set_num_threads(1)
    if "device" in ENGINES[name].options:
        options["device"] = "cpu"
    return lambda parameters: make_engine(name, copy.deepcopy(parameters), SAMPLER, **options)


@pytest.fixture
def static() -> Parameters:
    return make_parameters(1, WORDS, DIM, intercept=True)


@pytest.fixture
def sliced() -> Parameters:
    return make_parameters(SLICES, WORDS, DIM, intercept=True)


def values(engine: Engine) -> dict[str, Any]:
    """Copy the parameters, as an engine may hand out its own."""
    return {name: getattr(engine.parameters, name).copy() for name in NAMES}


def held_out(corpus: dw.Corpus) -> Text:
    return read_text(corpus, "valid", pass_number=0, sliced=True)


SCORING: dict[str, Any] = {"half_window": 2, "negatives": 5, "key": 12345}


def test_an_engine_says_what_it_runs_on(make: Make, static: Parameters) -> None:
    assert make(static).machine.strip()


@pytest.mark.parametrize("is_sliced", [True, False])
def test_a_pass_is_read_into_rounds(make: Make, sliced: Parameters, corpus: dw.Corpus, is_sliced: bool) -> None:
    plan = make_plan(sliced=is_sliced, rounds=4, number=1, subsample=2)
    rounds = make(sliced).read(corpus, plan)
    assert [part.positions for part in rounds] == [part.positions for part in read_pass(corpus, plan)]
    assert sum(part.positions for part in rounds) == 100 * SLICES
    assert all(part.positions > 0 for part in rounds)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["static", "binned", "dynamic"])
def test_rounds_are_those_of_the_reference(
    make: Make, static: Parameters, sliced: Parameters, corpus: dw.Corpus, model: str
) -> None:
    parameters = static if model == "static" else sliced
    # One block for each slice: with several, engines may interleave those of different slices.
    shape = {"block_size": 16, "rounds": 3} if model == "static" else {"block_size": 110, "rounds": 1}
    plan = make_plan(sliced=model != "static", **shape)
    slices = 1 if model == "static" else SLICES
    step = make_step(slices, **(independent(slices) if model != "dynamic" else {}), centering=CENTERING)
    engine, reference = make(parameters), ReferenceEngine(copy.deepcopy(parameters), SAMPLER)
    before = values(engine)
    for _ in range(2):
        for part, same in zip(engine.read(corpus, plan), read_pass(corpus, plan), strict=True):
            total = float(engine.round(part, step))
            assert isinstance(total, float)
            assert total < 0
            assert total == pytest.approx(reference.round(same, step), rel=1e-4)
    after = values(engine)
    for name in NAMES:
        assert not np.array_equal(after[name], before[name]), name
        np.testing.assert_allclose(after[name], getattr(reference.parameters, name), rtol=1e-3, atol=1e-4, err_msg=name)


def test_words_may_have_walks_and_slices_context_vectors_of_their_own(make: Make, corpus: dw.Corpus) -> None:
    parameters = make_parameters(SLICES, WORDS, DIM, intercept=True, contexts=True)
    step = make_step(
        SLICES, frozen=2, centering=CENTERING, rho=by_word(SLICES, WORDS), alpha=Chain(np.full(SLICES, 0.3), WALK)
    )
    plan = make_plan(block_size=110)
    engine, reference = make(parameters), ReferenceEngine(copy.deepcopy(parameters), SAMPLER)
    for part, same in zip(engine.read(corpus, plan), read_pass(corpus, plan), strict=True):
        assert float(engine.round(part, step)) == pytest.approx(reference.round(same, step), rel=1e-4)
    for name in NAMES:
        np.testing.assert_allclose(
            values(engine)[name], getattr(reference.parameters, name), rtol=1e-3, atol=1e-4, err_msg=name
        )
    scores = [e.score(held_out(corpus), sampler=SAMPLER, **SCORING) for e in (engine, reference)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-5)
    moved = np.abs(values(engine)["rho"] - parameters.rho)[..., :DIM].mean(axis=(0, 2))
    assert moved[WORDS // 2 :].mean() > moved[: WORDS // 2].mean()  # towards each other: their walks are stronger


def test_some_context_vectors_stay_and_a_prior_has_centers(make: Make, sliced: Parameters, corpus: dw.Corpus) -> None:
    center, alpha_center = (np.random.default_rng(1).normal(size=a.shape) for a in (sliced.rho, sliced.alpha))
    rho, intercept = Chain(np.full(SLICES, 30.0), WALK), Chain(np.array([3.0, 0.0, 1.0]), WALK)
    step = make_step(
        SLICES, frozen=4, center=center, intercept=intercept, rho=rho, alpha=Chain.independent(90.0),
        alpha_center=alpha_center,
    )  # fmt: skip
    plan = make_plan(block_size=110)
    engine, reference = make(sliced), ReferenceEngine(copy.deepcopy(sliced), SAMPLER)
    before = values(engine)
    for part, same in zip(engine.read(corpus, plan), read_pass(corpus, plan), strict=True):
        engine.round(part, step)
        reference.round(same, step)
    after = values(engine)
    np.testing.assert_array_equal(after["alpha"][:4], before["alpha"][:4])
    assert (after["alpha"][4:] != before["alpha"][4:]).all()
    for name in NAMES:
        np.testing.assert_allclose(after[name], getattr(reference.parameters, name), rtol=1e-3, atol=1e-4, err_msg=name)
    assert np.abs(after["rho"] - center).mean() < np.abs(before["rho"] - center).mean()
    moved = [np.abs(state["alpha"] - alpha_center)[4:].mean() for state in (before, after)]
    assert moved[1] < moved[0]


def test_a_round_without_text_takes_the_step_of_the_prior(make: Make, sliced: Parameters, corpus: dw.Corpus) -> None:
    engine = make(sliced)
    rounds = engine.read(corpus, make_plan(block_size=110, rounds=4))
    empty = next(part for part in rounds if not part.positions)
    before = values(engine)
    step = make_step(SLICES, alpha=Chain.independent(1.0), rho=Chain(np.zeros(SLICES), 20 * WALK))
    assert float(engine.round(empty, step)) == 0.0
    after = values(engine)
    assert (np.abs(after["alpha"]) < np.abs(before["alpha"])).all()
    assert np.abs(np.diff(after["rho"], axis=0)).sum() < np.abs(np.diff(before["rho"], axis=0)).sum()
    for name in ("rho_accumulator", "alpha_accumulator"):
        np.testing.assert_array_equal(after[name], before[name])


def test_broadcast_gives_every_slice_the_static_embeddings(make: Make, static: Parameters, corpus: dw.Corpus) -> None:
    engine = make(static)
    for part in engine.read(corpus, make_plan(sliced=False)):
        engine.round(part, make_step(SLICES))
    before = values(engine)
    engine = engine.broadcast(SLICES, 0.25)
    after = values(engine)
    np.testing.assert_array_equal(after["rho"], np.repeat(before["rho"], SLICES, axis=0))
    np.testing.assert_array_equal(after["alpha"], before["alpha"])
    np.testing.assert_array_equal(after["rho_accumulator"], np.full((SLICES, WORDS, 2), 0.25))
    np.testing.assert_array_equal(after["alpha_accumulator"], np.full((WORDS, 1), 0.25))
    with_contexts = values(make(static).broadcast(SLICES, 0.25, contexts=True))
    np.testing.assert_allclose(with_contexts["alpha"], np.repeat(static.alpha[None], SLICES, axis=0), rtol=1e-6)
    np.testing.assert_array_equal(with_contexts["alpha_accumulator"], np.full((SLICES, WORDS, 1), 0.25))
    for part in engine.read(corpus, make_plan()):
        engine.round(part, make_step(SLICES))
    rho = values(engine)["rho"]
    assert all(not np.array_equal(rho[t], rho[t + 1]) for t in range(SLICES - 1))  # each slice moves for itself


@pytest.mark.parametrize("is_sliced", [True, False])
def test_scores_are_those_of_the_reference(
    make: Make, static: Parameters, sliced: Parameters, corpus: dw.Corpus, is_sliced: bool
) -> None:
    parameters = sliced if is_sliced else static
    engine, reference = make(parameters), ReferenceEngine(copy.deepcopy(parameters), SAMPLER)
    before = values(engine)
    text = held_out(corpus)
    for sampler in (SAMPLER, Sampler.make(np.ones(WORDS), 1)):  # its own, and another
        for found, exact in zip(
            engine.score(text, sampler=sampler, **SCORING),
            reference.score(text, sampler=sampler, **SCORING),
            strict=True,
        ):
            assert found.shape == (40 * SLICES,)
            np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)
    for name in NAMES:
        np.testing.assert_array_equal(values(engine)[name], before[name])


def test_parameters_come_back_and_can_be_continued_from(make: Make, sliced: Parameters, corpus: dw.Corpus) -> None:
    engine = make(sliced)
    for name in NAMES:
        np.testing.assert_allclose(getattr(engine.parameters, name), getattr(sliced, name), rtol=1e-6)
    rounds = engine.read(corpus, make_plan(rounds=2))
    engine.round(rounds[0], make_step(SLICES))
    continued = make(engine.parameters)
    again = continued.read(corpus, make_plan(rounds=2))
    total = float(engine.round(rounds[1], make_step(SLICES)))
    assert total == float(continued.round(again[1], make_step(SLICES)))
    for name in NAMES:
        np.testing.assert_array_equal(values(continued)[name], values(engine)[name])


def test_a_snapshot_is_not_changed_by_later_rounds(make: Make, sliced: Parameters, corpus: dw.Corpus) -> None:
    engine = make(sliced)
    (part,) = engine.read(corpus, make_plan())
    engine.round(part, make_step(SLICES))
    before = [array.copy() for array in engine.embeddings()]
    np.testing.assert_array_equal(before[0], values(engine)["rho"])
    np.testing.assert_array_equal(before[1], values(engine)["alpha"])
    snapshot = engine.snapshot()
    engine.round(part, make_step(SLICES))
    for kept, now, then in zip(snapshot(), engine.embeddings(), before, strict=True):
        np.testing.assert_array_equal(kept, then)
        assert not np.array_equal(now, then)


@pytest.mark.parametrize("name", ["rho", "alpha"])
def test_numbers_that_are_not_finite_are_noticed(make: Make, static: Parameters, corpus: dw.Corpus, name: str) -> None:
    assert make(static).finite()
    getattr(static, name).flat[0] = np.nan
    engine = make(static)
    (part,) = engine.read(corpus, make_plan(sliced=False))
    with np.errstate(invalid="ignore"):
        engine.round(part, make_step())
    assert not engine.finite()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers_on_one_thread(make: Make, static: Parameters, corpus: dw.Corpus) -> None:
    results, totals, scores = [], [], []
    for seed in (3, 3, 4):
        engine = make(static)
        total = 0.0
        for number in range(2):
            plan = make_plan(number=number, subsample=number + 1, sliced=number > 0, rounds=2, seed=seed)
            if number:
                engine = engine.broadcast(SLICES, 0.01)
            for part in engine.read(corpus, plan):
                total += float(engine.round(part, make_step(SLICES if number else 1, centering=CENTERING)))
        results.append(values(engine))
        totals.append(total)
        scores.append(engine.score(held_out(corpus), sampler=SAMPLER, **SCORING))
    assert totals[0] == totals[1] != totals[2]
    np.testing.assert_array_equal(scores[0], scores[1])
    for name in NAMES:
        np.testing.assert_array_equal(results[0][name], results[1][name])
        assert not np.array_equal(results[0][name], results[2][name])


@pytest.mark.parametrize("contexts", [False, True])
def test_engines_are_merged_as_their_numbers_say(make: Make, contexts: bool) -> None:
    one, two = (
        make_parameters(SLICES, WORDS, DIM, intercept=True, contexts=contexts, seed=seed, accumulator=seed / 100)
        for seed in (1, 2)
    )
    first, other = make(one), make(two)
    by_slice = one.alpha if contexts else one.alpha[None]
    expected = np.concatenate([by_slice.mean(axis=0), one.rho[..., :DIM].mean(axis=0)])
    np.testing.assert_allclose(first.vectors(), expected, rtol=1e-5, atol=1e-6)

    own, others = np.random.default_rng(3).normal(size=(2, DIM, DIM))
    first.merge(other, own, others, 0.25)
    merged = values(first)
    for name in NAMES:
        mine, theirs = getattr(one, name), getattr(two, name)
        expected = 0.75 * mine + 0.25 * theirs
        if not name.endswith("accumulator"):
            expected[..., :DIM] = mine[..., :DIM] @ own + theirs[..., :DIM] @ others
        np.testing.assert_allclose(merged[name], expected, rtol=1e-4, atol=1e-5)
