"""What changed in a word: passages, company and the sentence, on text in which it is known."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient

import driftword as dw
from conftest import run_here
from driftword.basics.errors import OptionError
from driftword.pages import content, finding_content, overview_content
from driftword.pages.figures import draw
from driftword.pages.glance_figures import draw_stream
from driftword.uses.collocates import LEAST_COUNT, LEAST_DOCUMENTS, benjamini_hochberg, binomial_tails, company, fold
from driftword.uses.describing import _frequency, _times, typical
from driftword.uses.driving_passages import plainness
from driftword.uses.sides import AFTER, Sides, find_sides
from driftword.uses.usage_vectors import FAR, NEAR, usage_vectors, windows
from driftword.uses.word_frequency import FrequencyRatio, frequency_p, frequency_ratio
from driftword.web.app import make_app

NUCLEI = {
    "prison": ("warden", "guard", "inmate", "sentence", "lock", "iron", "bars", "convict"),
    "biology": ("membrane", "nucleus", "tissue", "organism", "protein", "enzyme", "bacteria", "molecule"),
    "market": ("price", "trade", "cotton", "merchant", "profit", "harvest", "silver", "freight"),
    "weather": ("storm", "cloud", "rain", "frost", "thunder", "breeze", "drought", "sunshine"),
    "filler": ("usual", "large", "small", "recent", "early", "common", "useful", "general"),
}
WORDS = {topic: [word + end for word in words for end in ("", "ful", "ward")] for topic, words in NUCLEI.items()}
FILLER = WORDS.pop("filler")
TOPICS = WORDS
CHANGE = 1940


def sentence(random: np.random.Generator, topic: str, word: str | None) -> str:
    words = [*random.choice(TOPICS[topic], 6), *random.choice(FILLER, 4)]
    random.shuffle(words)
    if word is not None:
        words.insert(5, word)
    return " ".join(words).capitalize() + "."


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    """Texts in which a cell is one of a prison until 1940, and mostly one of an organism since."""
    random = np.random.default_rng(0)
    rows = []
    for d in range(400):
        year = 1900 + d // 5
        lines = []
        for _ in range(6):
            topic = str(random.choice(list(TOPICS)))
            lines.append(sentence(random, topic, "market" if topic == "market" and random.random() < 0.5 else None))
        for _ in range(2):
            new = year >= CHANGE and random.random() < 0.7
            lines.insert(int(random.integers(len(lines))), sentence(random, "biology" if new else "prison", "cell"))
        lines += ["Unicorn unicorn."] * (d in (3, 390))
        rows.append({"text": " ".join(lines), "date": f"{year}-06-01", "author": "AB"[d % 2]})
    out = tmp_path_factory.mktemp("uses") / "cells.corpus"
    return dw.prepare(pl.DataFrame(rows), out=out, slices="5y", phrases=False, min_count=2)


@pytest.fixture(scope="module")
def model(corpus: dw.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dw.Model:
    out = tmp_path_factory.mktemp("uses") / "cells.model"
    fitted = dw.fit(corpus, dw.Spec(dim=16, context=6), passes=4, out=out)
    dw.significance(fitted, corpus=corpus)
    return fitted


def is_new(text: str) -> bool:
    """Tell whether the sentence of a cell in a passage is about organisms."""
    words = re.findall(r"\w+", text.casefold())
    at = len(words) // 2 if "cell" not in words else words.index("cell")
    near = set(words[max(at - 6, 0) : at + 7])
    return len(near & set(TOPICS["biology"])) > len(near & set(TOPICS["prison"]))


def test_the_change_is_found_and_leads_the_list(model: dw.Model) -> None:
    table = dw.significance(model)
    assert table["word"][0] == "cell"
    row = table.row(0, named=True)
    assert row["kind"] == "word"
    assert row["strength"] is not None
    assert row["documents_before"] + row["documents_since"] == row["documents"]
    assert abs(row["change"].year - CHANGE) <= 2
    assert dw.drift(model)["word"][0] == "cell"


def test_passages_show_the_old_use_and_the_new_one(model: dw.Model, corpus: dw.Corpus) -> None:
    table = dw.evidence(model, "cell", n=10, width=60)
    assert table.columns[:8] == ["word", "side", "date", "score", "text", "left", "keyword", "right"]
    assert {"slice", "document", "author"} <= set(table.columns)
    for side in ("before", "after"):
        rows = table.filter(pl.col("side") == side)
        assert rows.height == 10
        assert rows["document"].n_unique() == 10
        assert rows["score"].is_sorted(descending=True)
        assert [is_new(text) for text in rows["text"]] == [side == "after"] * 10
        change = dw.significance(model, "cell")["change"][0]
        assert all((day >= change) == (side == "after") for day in rows["date"])
    assert (table["text"] == table["left"] + table["keyword"] + table["right"]).all()
    texts = corpus.documents.collect()["text"]
    for document, keyword, right in table.select("document", "keyword", "right").iter_rows():
        assert keyword.casefold() == "cell"
        assert keyword + right in " ".join(texts[document].split())


def test_documents_that_carry_the_change(model: dw.Model) -> None:
    table = dw.evidence(model, "cell", n=5, by="documents")
    assert table["occurrences"].is_between(1, 2).all()
    assert table.filter(pl.col("side") == "after")["score"].is_sorted(descending=True)
    assert table["document"].n_unique() == 10


def test_company_is_counted_as_a_plain_loop_counts_it(model: dw.Model, corpus: dw.Corpus) -> None:
    window = 4
    sides = find_sides(model, corpus, "cell")
    table = company(sides, window=window, function=True)
    tokens, ids = np.asarray(corpus.tokens), corpus.word_index
    counts: dict[tuple[str, str], list[int]] = {}
    for position, since in zip(sides.positions.tolist(), sides.since.tolist(), strict=True):
        chunk = int(np.searchsorted(corpus.offsets, position, side="right")) - 1
        begin, end = int(corpus.offsets[chunk]), int(corpus.offsets[chunk + 1])
        near = {
            *tokens[max(begin, position - window) : position],
            *tokens[position + 1 : min(end, position + window + 1)],
        }
        for v in near:
            key = (corpus.words[v], "after" if since else "before")
            counts.setdefault(key, []).append(int(corpus.chunk_document[chunk]))
    other = {"after": "before", "before": "after"}
    for row in table.iter_rows(named=True):
        own = counts[row["word"], row["side"]]
        rest = counts.get((row["word"], other[row["side"]]), [])
        assert (row["count"], row["count_other"]) == (len(own), len(rest))
        assert (row["documents"], row["documents_other"]) == (len(set(own)), len(set(rest)))
        assert row["first"] <= row["last"]
        assert row["count"] >= LEAST_COUNT
        assert row["documents"] >= LEAST_DOCUMENTS
    assert ids["cell"] not in [ids[word] for word in table["word"]]
    often = {word for word, _ in counts if word != "cell"}
    assert set(table["word"]) <= often


def test_the_company_that_was_gained_and_lost_is_the_planted_one(model: dw.Model) -> None:
    table = dw.collocates(model, "cell")
    sure = table.filter(pl.col("q") <= 0.05)
    assert set(sure.filter(pl.col("side") == "after")["word"]) >= set(TOPICS["biology"])
    assert set(sure.filter(pl.col("side") == "before")["word"]) <= set(TOPICS["prison"])
    assert len(sure.filter(pl.col("side") == "before")) >= 5
    assert (sure["log_ratio"] > 0.5).all()
    assert dw.collocates(model, "cell", n=2).height == 4


def test_no_company_is_gained_where_nothing_changed(model: dw.Model, corpus: dw.Corpus) -> None:
    found = [dw.collocates(model, word, between=((1900, 1935), (1940, 1979))) for word in ("market", "storm", "price")]
    every = pl.concat(found)
    assert every.height > 20
    assert (every["q"] <= 0.05).sum() <= 1
    assert (every["p"] <= 0.05).mean() <= 0.1


def test_p_is_that_of_a_binomial_distribution() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(3)
    n = random.integers(1, 300, size=60)
    k, share = random.integers(0, n + 1), np.r_[random.uniform(0.01, 0.99, size=50), np.repeat([0.0, 1.0], 5)]
    np.testing.assert_allclose(
        binomial_tails(k, n, share), scipy_stats.binom.sf(k - 1, n, share), rtol=1e-8, atol=1e-300
    )
    assert not len(binomial_tails(*np.zeros((3, 0), dtype=np.int64)))
    p = random.uniform(size=40)
    np.testing.assert_allclose(benjamini_hochberg(p), scipy_stats.false_discovery_control(p))


def test_p_holds_under_no_change() -> None:
    """Documents of different lengths have a collocate at the same rate on both sides."""
    random = np.random.default_rng(5)
    from driftword.uses.collocates import _share_since, _tails

    values = []
    for _ in range(2000):
        sizes = random.integers(1, 30, size=120).astype(float)
        later = np.arange(120) >= 70
        sizes[later] *= 3
        has = random.random(120) < 1 - np.exp(-0.02 * sizes)
        total = np.array([has[~later].sum(), has[later].sum()])
        if total.sum() < 3:
            continue
        share = _share_since(int(random.poisson(0.02 * sizes.sum())) + 1, sizes, later)
        values += _tails(total[:, None], np.array([share]), random.integers(2, size=1)).tolist()
    assert np.mean(np.array(values) <= 0.05) <= 0.06


def check_sentence(row: dict[str, object], corpus: dw.Corpus, model: dw.Model) -> None:
    """Check every word and date that a sentence names against the text."""
    sides = find_sides(model, corpus, str(row["word"]))
    near = sides.around[:, FAR - 5 : FAR + 6]
    for side in ("before", "after"):
        for word in row[side] or []:  # type: ignore[attr-defined]
            has = (near == corpus.word_index[word]).any(axis=1) & sides.of_side(side)
            assert has.sum() >= 5
            assert len(set(sides.document[has].tolist())) >= 3
            days = sides.day[has].astype("datetime64[D]").astype(object)
            assert row[f"{side}_first"] <= min(days)  # type: ignore[operator]
            assert max(days) <= row[f"{side}_last"]  # type: ignore[operator]
            assert str(word) in str(row["sentence"])


def test_the_sentence_says_what_changed(model: dw.Model, corpus: dw.Corpus) -> None:
    row = dw.describe(model, "cell").row(0, named=True)
    assert set(row["before"]) <= set(TOPICS["prison"])
    assert set(row["after"]) <= set(TOPICS["biology"])
    assert len(row["before"]) == len(row["after"]) == 3
    check_sentence(row, corpus, model)
    assert row["q"] <= 0.01
    assert "unlikely to be chance" in row["sentence"]
    assert row["verdict"] == "about as frequent, in other company"
    assert row["times_low"] < row["times_as_frequent"] < row["times_high"]
    assert dw.describe(model)["word"][0] == "cell"


@pytest.mark.slow
@pytest.mark.usefixtures("small_background")
def test_every_word_of_every_sentence_is_in_the_speeches(tmp_path: Path) -> None:
    sotu = dw.prepare("sotu", slices="10y", vocabulary=1_200, out=tmp_path / "sotu.corpus")
    model = dw.fit(sotu, dw.Spec(dim=20), passes=2)
    dw.significance(model, corpus=sotu, permutations=199)
    table = dw.describe(model, n=60, corpus=sotu)
    assert table.height == 60
    assert table["after"].list.len().sum() > 100
    for row in table.iter_rows(named=True):
        check_sentence(row, sotu, model)
        if row["before"] and row["after"]:
            assert row["before_last"] <= row["after_last"]


def test_what_is_not_proven_says_so(model: dw.Model, corpus: dw.Corpus) -> None:
    row = dw.describe(model, "market").row(0, named=True)
    assert row["change"] is None
    high = dw.significance(model, "market")["high"][0]
    assert f"not distinguishable from chance: time explains at most {high:.1%} of how its documents" in row["sentence"]
    assert row["verdict"].endswith("no change of company found")
    untested = dw.Model(
        model.rho, model.alpha, model.intercepts, vocabulary=model.vocabulary, spec=model.spec,
        provenance=model.provenance,
    )  # fmt: skip
    row = dw.describe(untested, "cell", corpus=corpus).row(0, named=True)
    assert "not tested, so nothing is proven" in row["sentence"]
    assert row["verdict"].endswith("company not tested")
    with pytest.raises(OptionError, match="has not been tested"):
        dw.describe(untested, corpus=corpus)
    assert dw.evidence(untested, "cell", corpus=corpus).height == 6  # where its uses differ most
    at = find_sides(untested, corpus, "cell").change
    assert at is not None
    assert abs(at.year - CHANGE) <= 2


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (1.02, "about as frequent as before"), (0.996, "about as frequent as before"),
        (1.96, "twice as frequent as before"),
        (0.5, "half as frequent as before"), (8.71, "8.7 times as frequent as before"),
        (41.4, "41 times as frequent as before"), (0.84, "16% less frequent than before"),
        (0.41, "59% less frequent than before"), (0.27, "3.7 times rarer than before"),
        (0.05, "20 times rarer than before"),
    ],
)  # fmt: skip
def test_a_sentence_says_how_frequent_in_plain_numbers(times: float, told: str) -> None:
    assert _times(FrequencyRatio(times, times * 0.99, times * 1.003)) == told


def test_a_sentence_says_no_frequency_that_documents_do_not_show() -> None:
    assert _times(FrequencyRatio(0.84, 0.5, 1.4)) == "not clearly more or less frequent"
    assert _times(FrequencyRatio(2.0, 0.9, 4.4)) == "not clearly more or less frequent"
    assert _times(FrequencyRatio(1.1, 0.98, 1.23)) == "about as frequent as before"


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        ((2.0, 1.2, 3.1), "more frequent"), ((0.5, 0.3, 0.9), "less frequent"),
        ((1.15, 1.05, 1.26), "about as frequent"), ((0.9, 0.82, 0.98), "about as frequent"),
        ((1.1, 0.98, 1.23), "about as frequent"), ((0.84, 0.5, 1.4), "not clearly more or less frequent"),
        ((float("nan"), 0.0, float("inf")), "not clearly more or less frequent"),
    ],
)  # fmt: skip
def test_the_verdict_says_no_more_of_frequency_than_the_sentence(ratio: tuple[float, ...], told: str) -> None:
    assert _frequency(FrequencyRatio(*ratio)) == told


def test_how_many_times_as_frequent(model: dw.Model, corpus: dw.Corpus) -> None:
    sides = find_sides(model, corpus, "cell")
    assert sides.change is not None
    first = (sides.change - date(1970, 1, 1)).days
    since = corpus.chunk_day >= first
    sizes = np.diff(corpus.offsets)
    rates = [sides.of_side(side).sum() / sizes[chosen].sum() for side, chosen in (("before", ~since), ("after", since))]
    found = frequency_ratio(sides)
    assert found.ratio == pytest.approx(rates[1] / rates[0])
    assert found.low < 1 < found.high


def test_intervals_of_frequency_hold_ratios_of_bursty_words() -> None:
    random = np.random.default_rng(1)
    inside = 0
    for _ in range(60):
        rows, texts = random.gamma(0.5, 6, size=160), []
        for d, rate in enumerate(rows):
            n = int(random.poisson(rate * (2 if d >= 80 else 1)))
            texts.append(["word"] * n + ["other"] * 150)
        ids = np.concatenate([[0 if word == "word" else 1 for word in text] for text in texts])
        offsets = np.r_[0, np.cumsum([len(text) for text in texts])]
        chunk_slice = (np.arange(160) >= 80).astype(int)
        made = dw.Corpus.from_ids(
            ["word", "other"], ids, offsets, chunk_slice=chunk_slice, chunk_split=["train"] * 160, slices=[1900, 1950]
        )
        sides = Sides(
            corpus=made, word="word", positions=np.flatnonzero(ids == 0), side_of_document=chunk_slice, vectors_of=None,  # type: ignore[arg-type]
            change=date(1950, 1, 1), significant=True,
        )  # fmt: skip
        found = frequency_ratio(sides)
        # What the rates are on average, in text whose length grows with the word's own occurrences.
        expected = (6 / 156) / (3 / 153)
        inside += found.low <= expected <= found.high
    assert 0.78 <= inside / 60 < 1


def test_vectors_of_occurrences_are_whitened_sums_of_context_vectors(model: dw.Model, corpus: dw.Corpus) -> None:
    made = usage_vectors(model, corpus)
    positions = np.flatnonzero(np.asarray(corpus.tokens) == corpus.word_index["cell"])[:5]
    around = windows(corpus, positions, FAR)
    found = made.of(positions, around)
    share = corpus.counts.sum(axis=0) / corpus.counts.sum()
    alpha = np.asarray(model.mean_alpha, dtype=np.float64)
    weighted = (alpha - share @ alpha) * (1e-3 / (1e-3 + share))[:, None]
    dim = alpha.shape[1]
    for row, words in zip(found, around, strict=True):
        for number, (reach, length) in enumerate(((NEAR, 1.0), (FAR, 0.5))):
            inside = [v for v in words[FAR - reach : FAR + reach + 1] if v >= 0]
            mean, turn = made._whitening[number]
            plain = (weighted[inside].sum(axis=0) - mean) @ turn
            part = row[number * dim : (number + 1) * dim]
            np.testing.assert_allclose(part, length * plain / np.linalg.norm(plain), atol=2e-3)
    for position, words in zip(positions.tolist(), around, strict=True):
        chunk = int(np.searchsorted(corpus.offsets, position, side="right")) - 1
        begin, end = int(corpus.offsets[chunk]), int(corpus.offsets[chunk + 1])
        for step, v in zip(range(-FAR, FAR + 1), words, strict=True):
            expected = -1 if step == 0 or not begin <= position + step < end else corpus.tokens[position + step]
            assert v == expected


def test_scores_leave_out_what_a_document_contributes(model: dw.Model, corpus: dw.Corpus) -> None:
    sides = find_sides(model, corpus, "cell")
    new = np.array([is_new(text) for text in texts_of(sides)])
    score = plainness(sides, AFTER)
    assert score[new].mean() - score[~new].mean() > 1
    assert abs(score.mean()) < 1e-9
    assert score.std() == pytest.approx(1)


def texts_of(sides: Sides) -> list[str]:
    """Return the words around occurrences as text."""
    words = sides.corpus.words

    def part(row: np.ndarray) -> list[str]:
        return [words[v] for v in row if v >= 0]

    return [" ".join([*part(row[FAR - 6 : FAR]), "cell", *part(row[FAR + 1 : FAR + 7])]) for row in sides.around]


@pytest.mark.parametrize(
    ("one", "other"), [("change", "changes"), ("bomber", "bombings"), ("island", "island's"), ("islam", "islamic")]
)
def test_forms_of_a_word_are_told(one: str, other: str) -> None:
    assert fold(fold(one)) == fold(fold(other))


def test_no_two_named_words_are_forms_of_one() -> None:
    rates = {"ships": 0.2, "ship": 0.01, "large ship": 0.01, "crew": 0.9, "sea": 0.01, "air": 0.9}
    rows = [{"word": word, "log_ratio": 3.0, "association": 3.0, "slices": 5, "q": q} for word, q in rates.items()]
    assert typical(pl.DataFrame(rows))["word"].to_list() == ["ship", "sea", "crew"]


def test_a_word_in_too_few_documents_gets_a_sentence(model: dw.Model) -> None:
    for question in (dw.evidence, dw.collocates):
        with pytest.raises(OptionError, match="'unicorn' occurs in too few documents to compare a change and since"):
            question(model, "unicorn")
    row = dw.describe(model, "unicorn").row(0, named=True)
    assert row["sentence"] == "unicorn: it occurs in too few documents to say what changed"


def test_commands_answer_for_people_and_programs(model: dw.Model, tmp_path: Path) -> None:
    path = str(model.path)
    told = run_here("describe", path, "cell")
    assert told.returncode == 0
    assert "cell: from " in told.stdout
    shown = run_here("evidence", path, "cell", "-n", "2")
    assert shown.returncode == 0
    assert shown.stdout.index("before") < shown.stdout.index("after")
    rows = json.loads(run_here("evidence", path, "cell", "--json", "--by", "documents").stdout)
    assert {row["side"] for row in rows} == {"before", "after"}
    near = run_here("collocates", path, "cell", "--between", "1900:1935,1945:1979", "--csv")
    assert near.stdout.startswith("word,side,count")
    wrong = run_here("evidence", path, "sell")
    assert wrong.returncode == 2
    assert "did you mean 'cell'" in wrong.stderr


@pytest.mark.slow
def test_frequencies_that_do_not_change_seem_to_in_one_case_of_twenty(tmp_path: Path) -> None:
    """Words come in bursts, so that occurrences are no evidence of their own; every second one changes."""
    random, p = np.random.default_rng(0), []
    n, words = 120, [f"w{i}" for i in range(60)]
    late = np.arange(n) * 6 // n >= 3
    ids = []
    for d in range(n):
        rate = random.gamma(0.7, 1 / 0.7, 60) * np.where((np.arange(60) % 2 == 1) & late[d], 3.0, 1.0)
        ids.append(np.r_[np.repeat(np.arange(60), random.poisson(3 * rate)), np.full(400, 60)])
    corpus = dw.Corpus.from_ids(
        [*words, "filler"], np.concatenate(ids), np.r_[0, np.cumsum([len(part) for part in ids])],
        chunk_slice=np.arange(n) * 6 // n, chunk_split=["train"] * n, slices=range(1900, 1906),
    )  # fmt: skip
    p = np.array([frequency_p(corpus, v) for v in range(60)], dtype=float)
    assert (p[::2] <= 0.05).mean() < 0.2
    assert 0.3 < p[::2].mean() < 0.7
    assert (p[1::2] <= 0.05).mean() > 0.8


def test_pages_show_the_answer_first(model: dw.Model, corpus: dw.Corpus) -> None:
    overview = overview_content.start(model, corpus=corpus)
    assert overview["answers"][0]["word"] == "cell"
    glimpse = overview["glimpses"]["cell"]
    expected = dw.evidence(model, "cell", n=1, width=finding_content.GLIMPSE, corpus=corpus)
    for side in ("before", "after"):
        rows = expected.filter(pl.col("side") == side)
        assert [row["left"] for row in glimpse["passages"][side]] == rows["left"].to_list()
    assert glimpse["told"] in dw.describe(model, "cell", corpus=corpus)["sentence"][0]
    assert {row["kind"] for row in overview["kinds"]} <= {"word", "sense", "name", "phrase"}
    with pytest.raises(OptionError, match="choose one of word, sense, name, phrase"):
        overview_content.start(model, kind="verb", corpus=corpus)

    found = finding_content.finding(model, corpus, "cell")
    assert found is not None
    table = dw.collocates(model, "cell", corpus=corpus).filter(pl.col("q") <= 0.05)
    for side, topic in (("before", "prison"), ("after", "biology")):
        shown = found["company"][side]
        there = table.filter(pl.col("side") == side).head(8)
        assert [row["word"] for row in shown] == there["word"].to_list()
        assert {row["word"] for row in shown} <= set(TOPICS[topic]) | set(FILLER)
        mine, other = ("before", "since") if side == "before" else ("since", "before")
        assert [(row[mine], row[other]) for row in shown] == there.select("count", "count_other").rows()
    page = finding_content.add_finding(content.word(model, "cell"), found)
    axes = {
        re.search(r'data-x="([^"]*)"', str(draw(model.slices, drawn)))[1]  # type: ignore[index]
        for drawn in page["figures"].values()
    }
    assert len(axes) == 1  # one axis of time
    stream = draw_stream(model.slices, page["stream"], [1.0] * len(model.slices), title="", changes=[])
    assert f'data-x="{axes.pop()}"' in str(stream)


def test_senses_come_after_the_rest_of_a_page(model: dw.Model, corpus: dw.Corpus) -> None:
    with TestClient(make_app(model, corpus), base_url="http://localhost") as reader:
        first, later = reader.get("/word/cell").text, reader.get("/word/cell/senses").text
        assert 'data-later="/word/cell/senses"' in first
        assert 'class="senses"' not in first
        assert 'class="senses"' in later
        assert reader.get("/word/cell.json").json()["finding"]["senses"] is None
        told = reader.get("/word/cell/senses.json").json()
        found = dw.senses(model, "cell", corpus=corpus)
        assert [row["occurrences"] for row in told["finding"]["senses"]["senses"]] == found["occurrences"].to_list()
        assert reader.get("/word/cell/senses.csv").text.startswith("sense,name,share")
        assert reader.get("/word/cell/senses/figure/senses.svg").status_code == 200
        assert "It occurs too rarely to tell" in reader.get("/word/unicorn/senses").text
    with TestClient(make_app(model, None), base_url="http://localhost") as alone:
        assert "corpus was not found" in alone.get("/word/cell/senses").text
