"""The benchmark suite: what is planted, how it is judged, and a table that can be trusted and made again."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

import driftword as dw
from conftest import run_here, toy_model
from driftword.basics.progress import Progress
from driftword.benchmarking import measures, planting, suite
from driftword.benchmarking.fit_process import METHODS, OWN, fit_method
from driftword.benchmarking.planting import BANDS, KINDS, Planted, join_slices, plant, share_moved
from explore.test_planted import plant as toy_text

pytestmark = pytest.mark.slow

SPEC = dw.Spec(dim=16, context=4)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    """Return a text in which nothing was planted, stored."""
    made, _, _ = toy_text(exchange=False)
    return join_slices(made, 1, out=tmp_path_factory.mktemp("text") / "toy.corpus")


def occurrences(corpus: dw.Corpus) -> np.ndarray:
    return np.asarray(corpus.counts).sum(axis=0)


def test_exchanged_words_keep_their_frequency_and_thinned_ones_lose_it(text: dw.Corpus) -> None:
    assert join_slices(text, 3).slices.labels == ("2000 to 2002", "2003 to 2005", "2006 to 2007")
    corpus, words = plant(text, join=1, subsample=None, seed=3)
    before, after = occurrences(text), occurrences(corpus)
    pairs = words.changed.reshape(-1, 2)
    assert after[pairs].sum(axis=1) == pytest.approx(before[pairs].sum(axis=1))
    assert np.abs(after[pairs] / before[pairs] - 1).mean() < 0.1
    assert (after[words.thinned] < before[words.thinned]).all()
    others = np.setdiff1d(np.arange(len(text.words)), np.r_[words.changed, words.thinned])
    assert np.array_equal(before[others], after[others])
    for b, (low, high) in enumerate(BANDS):
        assert (before[words.changed[words.band == b]] >= low).all()
        assert (before[words.changed[words.band == b]] < high).all()
    same, again = plant(text, join=1, subsample=None, seed=3)
    assert np.array_equal(np.asarray(same.tokens), np.asarray(corpus.tokens))
    assert np.array_equal(again.changed, words.changed)
    unchanged, _ = plant(text, join=1, subsample=None, seed=3, changes=False)
    assert np.array_equal(occurrences(unchanged), before)


def test_the_schedules_of_change() -> None:
    gradual, abrupt, temporary = (share_moved(kind, 13) for kind in range(len(KINDS)))
    assert gradual == pytest.approx(np.arange(13) / 12)
    assert abrupt.tolist() == [0] * 7 + [1] * 6
    assert (temporary[0], temporary[6], temporary[-1]) == (0, 1, 0)


def judged() -> tuple[dw.Model, Planted]:
    """Return a model in which two words exchange their places at the fourth slice of six, and one was thinned."""
    random = np.random.default_rng(0)
    base = random.normal(size=(40, 12))
    rho = np.repeat(base[None], 6, axis=0) + 0.01 * random.normal(size=(6, 40, 12))
    rho[3:, [0, 1]] = rho[3:, [1, 0]]
    model = toy_model(rho, np.full((6, 40), 60), [f"w{v}" for v in range(40)], dim=12, intercept=False)
    words = Planted(
        changed=np.array([0, 1]), kind=np.array([1, 1]), band=np.array([1, 1]), thinned=np.array([2]),
        thinned_band=np.array([1]), crowded=np.arange(40) == 39,
    )  # fmt: skip
    return model, words


def test_measures_are_those_of_plain_computations() -> None:
    model, words = judged()
    score = np.arange(40, dtype=float)[::-1].copy()
    assert measures.precision_of(score, words, words.lasts) == 1
    score[[2, 39]] = 100  # the last one is crowded, and does not count
    assert measures.precision_of(score, words, words.lasts) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert measures.precision_of(score, words, words.lasts, np.arange(40) != 2) == 1
    counts = np.full(40, 360)
    assert measures.thinned_above(score, counts, words) == 1
    assert measures.thinned_above(np.arange(40, dtype=float), counts, words) == 0
    assert np.isnan(measures.average_precision(score, np.zeros(40, dtype=bool)))
    moved = measures.movement(model)
    assert set(np.argsort(-moved)[:2]) == {0, 1}
    assert measures.partner_ranks(model, words).tolist() == [1, 1]
    assert measures.dated_within(model, words, 0) == 1
    assert measures.dated_within(model, words, 0, abrupt=0.9) == 0
    assert measures.dated_within(model, words, 2, abrupt=0.9) == 1
    ratio = measures.frequency_change(np.array([[10, 10, 10], [10, 10, 40]]))
    assert ratio == pytest.approx([np.log(2), np.log(2), np.log(40.5 / 10.5) - np.log(2)])


def test_what_a_test_calls_is_counted() -> None:
    _, words = judged()  # words 0 and 1 changed; the last one is crowded
    names = [f"w{v}" for v in range(40)]
    rates = {"w0": 0.01, "w1": 0.2, "w5": 0.04, "w39": 0.001, "w6": None}
    assert measures.called(rates, names, words) == {"power": 0.5, "false_calls": 0.5}
    nothing = measures.called({}, names, words)
    assert nothing["power"] == 0
    assert np.isnan(nothing["false_calls"])


def test_neighbours_that_two_models_share(small: dw.Corpus, small_model: dw.Model) -> None:
    random = np.random.default_rng(0)
    other = dw.Model(
        random.normal(size=small_model.rho.shape).astype(np.float32), small_model.alpha,
        vocabulary=small_model.vocabulary, spec=small_model.spec, provenance=small_model.provenance,
    )  # fmt: skip
    same, chance, again = measures.shared_neighbors([small_model, small_model, other], small)
    assert same == 1
    assert chance == again < 0.7


@pytest.mark.parametrize("numbers", [[0.2, 0.5], [1.0, 2.0, 4.0], [3.0, 1.0, 2.0, 2.0, 7.0], list(range(11))])
def test_intervals_are_students(numbers: list[float]) -> None:
    middle, low, high = suite._interval(numbers)
    expected = student.interval(0.9, len(numbers) - 1, np.mean(numbers), np.std(numbers, ddof=1) / len(numbers) ** 0.5)
    assert (low, high) == pytest.approx(expected, rel=0.01)
    assert middle == pytest.approx(np.mean(numbers))
    assert suite._interval([3.0]) == (3.0, None, None)
    assert suite._interval([]) == (None, None, None)


def test_pairs_of_seeds_are_not_independent() -> None:
    pairs = {(0, 1): 0.5, (0, 2): 0.6, (0, 3): 0.8, (1, 2): 0.7, (1, 3): 0.4, (2, 3): 0.9}
    without = [np.mean([value for pair, value in pairs.items() if seed not in pair]) for seed in range(4)]
    error = np.sqrt(3 / 4 * np.sum((np.array(without) - np.mean(without)) ** 2))
    middle, low, high = suite._interval_of_pairs(list(pairs.values()), 4)
    assert (low, high) == pytest.approx(student.interval(0.9, 3, middle, error), rel=0.01)
    three = [0.5, 0.6, 0.8]
    assert suite._interval_of_pairs(three, 3)[2] - np.mean(three) == pytest.approx(
        2 * (suite._interval(three)[2] - np.mean(three))
    )
    assert suite._interval_of_pairs([0.5], 2) == (0.5, None, None)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_fitted(method: str, small: dw.Corpus, tmp_path: Path) -> None:
    learning = {"threads": 1, "engine": "auto", "device": None}
    fit_method(
        method, small, spec=dw.Spec(dim=5, context=4), passes=2, learning=learning, out=tmp_path / "m", seed=1,
        show_progress=False,
    )  # fmt: skip
    model = dw.Model.open(tmp_path / "m")
    assert (model.method, model.spec.dim, model.predicts) == (method, 5, method in OWN)


def test_the_table_can_be_trusted_and_made_again(
    text: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planting, "GROUPS", 3)  # in so small a text, more would leave hardly any word alone
    asked: dict[str, Any] = {"models": ["dynamic"], "spec": SPEC, "passes": 3, "seeds": [0, 1], "threads": 1}
    table = dw.benchmark(text, **asked, out=tmp_path / "b")
    assert table.select("power", "false_calls", "spearman", "AUC").null_count().row(0) == (table.height,) * 4
    rows = {row["model"]: row for row in table.iter_rows(named=True)}
    assert list(rows) == ["dynamic", *suite.RULES]
    dynamic, blind = rows["dynamic"], rows["frequency change"]
    assert dynamic["exchange_AP"] > 0.5 > 2 * blind["exchange_AP"]
    assert blind["thinned"] > 0.2 > dynamic["thinned"]
    assert (dynamic["seeds"], blind["L"], blind["stability"]) == (2, None, None)
    assert dynamic["stability_low"] is None  # a single pair of seeds
    assert dynamic["L_low"] < dynamic["L"] < dynamic["L_high"] < 0
    assert dynamic["seconds"] > 0 < dynamic["memory_GB"]
    fitted = dw.Model.open(tmp_path / "b" / "text-dynamic-1.model")
    assert dw.evaluate(fitted)["L"][0] == pytest.approx(2 * dynamic["L"] - dw.evaluate(
        dw.Model.open(tmp_path / "b" / "text-dynamic-0.model"))["L"][0])  # fmt: skip
    page = (tmp_path / "b" / "benchmark.md").read_text()
    assert suite.benchmark_table(table) in page
    assert "a rule that knows nothing of meaning" in page
    stored = json.loads((tmp_path / "b" / "benchmark.json").read_text())
    assert stored["table"] == table.to_dicts()
    assert stored["spec"]["dim"] == 16

    def not_again(*_: object) -> None:
        raise AssertionError("this was fitted before")

    monkeypatch.setattr(suite, "_in_another_process", not_again)
    assert dw.benchmark(text, **asked, out=tmp_path / "b").equals(table)
    moved = measures.movement(fitted)
    judged = {"word": text.words, "change": moved, "changed": moved > np.median(moved)}
    more = dw.benchmark(text, **asked, tested=True, gold=pl.DataFrame(judged), out=tmp_path / "b")
    assert more.drop("power", "false_calls", "spearman", "AUC", pl.selectors.matches("_(low|high)$")).equals(
        table.drop("power", "false_calls", "spearman", "AUC", pl.selectors.matches("_(low|high)$"))
    )
    found = more.row(0, named=True)
    shares = []
    for seed in (0, 1):
        _, words = plant(text, join=1, subsample=text.subsample, seed=seed)
        q = dw.Model.open(tmp_path / "b" / f"planted-{seed}-dynamic-{seed}.model").significance.q
        shares.append(np.mean([q[v] <= 0.05 for v in words.changed]))
    assert found["power"] == pytest.approx(np.mean(shares))
    assert found["power"] > 0
    assert 0.5 < found["spearman"] < found["spearman_high"]  # of two seeds, one agrees with itself
    assert more["spearman"][1] < found["spearman"]
    assert found["AUC"] > 0.7
    done = run_here(
        "benchmark", text.path, "--models", "dynamic", "--dim", 16, "--context", 4, "--passes", 3, "--seeds", "0,1",
        "--out", tmp_path / "b",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for shown in ("exchange AP", f"{dynamic['exchange_AP']:.2f}±", "stability", "Written to", "benchmark.md"):
        assert shown in done.stdout
    with pytest.raises(dw.OptionError, match="holds a benchmark with other options"):
        dw.benchmark(text, **{**asked, "passes": 4}, out=tmp_path / "b")
    (tmp_path / "b" / "text-dynamic-0.json").write_text('{"seco')  # as a kill may leave it
    with pytest.raises(AssertionError, match="was fitted before"):
        dw.benchmark(text, **asked, out=tmp_path / "b")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(dw.OptionError, match="holds something else"):
        dw.benchmark(text, **asked, out=tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["letter.txt"]


def test_wrong_requests_end_in_a_sentence(text: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, message in (
        ({"models": ["word2vec"]}, "word2vec"), ({"models": []}, "`models` is empty"), ({"models": 3}, "models"),
        ({"seeds": []}, "`seeds` is empty"), ({"seeds": "0"}, "seeds"), ({"seeds": [True]}, "seeds"),
        ({"passes": 1}, "passes"), ({"max_slices": 1}, "max_slices"), ({"spec": "dynamic"}, "spec"),
        ({"gold": pl.DataFrame({"word": ["a"]})}, "`gold` lacks one of the columns"), ({"gold": "nowhere"}, "nowhere"),
        ({"gold": pl.DataFrame({"word": ["ufo"], "change": [0.1], "changed": [None]})}, "None of the 1 judged words"),
        ({"threads": 0}, "threads"), ({"out": 3}, "out"), ({"show_progress": "no"}, "show_progress"),
    ):  # fmt: skip
        with pytest.raises(dw.DriftwordError, match=message):
            dw.benchmark(text, **wrong)
    single = join_slices(text, len(text.slices))
    with pytest.raises(dw.OptionError, match="a single slice"):
        dw.benchmark(single)
    (tmp_path / "file").write_text("mine")
    done = run_here("benchmark", text.path, "--out", tmp_path / "file")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(dw.OptionError, match="engine"):
        dw.benchmark(text, engine="abacus")
    monkeypatch.setattr(suite, "find_spec", lambda name: None if name == "gensim" else name)
    with pytest.raises(
        dw.OptionError, match=r"Baselines need gensim and SciPy; run: pip install 'driftword\[baselines"
    ):
        dw.benchmark(text)


def test_a_text_in_which_chance_finds_most_says_so(text: dw.Corpus, tmp_path: Path) -> None:
    run = suite._Run(text, tmp_path, 1, {}, Progress(), tested=False, gold=None)
    with pytest.warns(dw.DriftwordWarning, match="use a larger corpus, or chance alone finds most of them"):
        run._plant(0)


def test_an_interrupted_fit_ends_the_benchmark(text: dw.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> CompletedProcess[str]:
        return CompletedProcess([], 130, "")

    monkeypatch.setattr("subprocess.run", run)
    with pytest.raises(KeyboardInterrupt):
        suite._in_another_process({"method": "ppmi"})


def test_a_fit_that_fails_is_said(text: dw.Corpus) -> None:
    learning = {"threads": 1, "engine": "auto", "device": None}
    asked = {"method": "ppmi", "seed": 0, "corpus": str(text.path), "out": "nowhere", "passes": 2, "learning": learning,
             "spec": dw.Spec(dim=5000).to_dict()}  # fmt: skip
    with pytest.raises(dw.OptionError, match="400 words are too few for 5000 factors"):
        suite._in_another_process(asked)
