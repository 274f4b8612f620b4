"""Do the passages and the lists convince? Measured where the answer is known.

    python benchmarks/findings.py passages un.corpus slices=5y seed=0,1,2
    python benchmarks/findings.py passages un.corpus pieces=150 limit=60000 slices=5y seed=0,1,2
    python benchmarks/findings.py sizes un.corpus slices=5y seed=0,1,2
    python benchmarks/findings.py known un.model list=un
    python benchmarks/findings.py sentences un.model n=500
    python benchmarks/findings.py stable sotu.corpus

passages    Half of the occurrences of words exchange their places with another word from a day on,
            in the text itself (planted_text.py). Of the ten passages, and of the first three, that
            `evidence` shows as new, how many are exchanged ones; beside the share of exchanged ones
            among all since the change, which chance would show. Documents exchange their dates
            before, so that nothing else changes; with dates=keep they do not, and passages may
            rightly show another change of the word.
sizes       Pairs of words exchange different shares of their places: rank correlation of the
            planted share with the strength of a change, its effect, the effect's lower end, drift,
            and frequency, among the planted words that are ranked.
known       Words whose changes are known from dictionaries and history (known_changes.py): how many
            of them are among the first 20, 50, 100 and 200 words that can be ranked, by strength
            and by other rules, and how many chance would put there.
sentences   Every word and year that sentences about the n words that changed most name, looked up in
            the text by a plain loop: how many are there as told, and how many are not.
stable      Models of three seeds, and of two halves of the documents: the share of the first 20 and
            50 words that two lists have in common.

`pieces` cuts documents into pieces of so many words with days of their own, `limit` takes so many
documents. Passages are judged of words in at least 300 documents, or `least`. `seed`, `passes` and
`engine` can be given, too.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import driftword as dw
import planted_text
from driftword.basics.errors import OptionError
from driftword.corpus.word_kinds import WORD
from driftword.models.significance_table import LEVEL
from driftword.uses.driving_passages import plainest, plainness
from driftword.uses.sides import AFTER, find_sides
from known_changes import STATE_OF_THE_UNION, UNITED_NATIONS

Array = npt.NDArray[Any]
SHARES = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


def fitted(table: pl.DataFrame, folder: Path, given: dict[str, Any]) -> tuple[dw.Corpus, dw.Model]:
    """Prepare and fit planted documents, and test all words."""
    rows = table.with_columns(source=pl.int_range(pl.len()))
    corpus = dw.prepare(
        rows.select("text", "day", "source"), text="text", time="day", slices=given.get("slices", "5y"),
        phrases=False, copies="keep", out=folder / "planted.corpus", overwrite=True,
    )  # fmt: skip
    engine = str(given.get("engine", "auto"))
    model = dw.fit(
        corpus, passes=int(given.get("passes", 3)), engine=engine, out=folder / "planted.model", overwrite=True
    )
    dw.significance(model, corpus=corpus, engine=engine)
    return corpus, model


def judge_passages(
    corpus: dw.Corpus, model: dw.Model, table: pl.DataFrame, planted: pl.DataFrame, *, least: int, known: bool
) -> Array:
    """Return for each word how many of its first three and ten passages are exchanged ones, and of all.

    The day of the change is the one that the test found, or the planted one, if it is to be known.
    """
    found = []
    tested = model.significance.table if model.significance is not None else pl.DataFrame()
    for word, first in planted.select("word", "first").iter_rows():
        if word not in model.words:
            continue
        row = tested.row(model.word_id(word), named=True)
        if row["change"] is None or row["documents"] < least:
            continue
        try:
            sides = find_sides(model, corpus, word, at=first if known else None)
        except OptionError:  # it does not occur before that day, or since
            continue
        chosen = plainest(sides, np.flatnonzero(sides.since), plainness(sides, AFTER), 10)
        some = np.random.default_rng(0).choice(np.flatnonzero(sides.since), 30)
        shown, others = (
            exchanged_occurrences(corpus, sides.positions, which, word=word, table=table) for which in (chosen, some)
        )
        if len(shown) >= 5 and len(others) >= 5:
            found.append((shown.mean(), shown[:3].mean(), others.mean()))
    return np.array(found)


def exchanged_occurrences(
    corpus: dw.Corpus, positions: Array, which: Array, *, word: str, table: pl.DataFrame
) -> Array:
    """Tell which of some occurrences were exchanged, of those of which the text tells it."""
    chunk = np.searchsorted(corpus.offsets, positions, side="right") - 1
    document = corpus.chunk_document[chunk]
    sources = corpus.documents.select("source").collect()["source"].to_numpy()
    truth = []
    for i in which:
        own = np.flatnonzero(document == document[i])
        text, exchanged = table.select("text", "exchanged").row(int(sources[document[i]]))
        here = [match.start() for match in planted_text.WORD.finditer(text) if match[0].lower() == word]
        if len(here) == len(own):  # else it is also a part of other words
            truth.append(here[int(np.flatnonzero(own == i)[0])] in exchanged)
    return np.array(truth, dtype=np.float64)


def measures(model: dw.Model) -> dict[str, Array]:
    """Return by what words can be ranked."""
    assert model.significance is not None
    table = model.significance.table
    drift = dw.drift(model, n=None, metric="relative", min_count=0, skip=0).select("word", "drift")
    drifts = table.select("word").join(drift, on="word", how="left", maintain_order="left")["drift"]
    columns = {name: table[name].fill_null(-np.inf).to_numpy() for name in ("strength", "effect", "low")}
    return {**columns, "drift": drifts.fill_null(-np.inf).to_numpy(), "frequency": model.vocabulary.totals * 1.0}


def report_sizes(model: dw.Model, planted: pl.DataFrame) -> dict[str, float]:
    """Return the rank correlation of planted shares with each measure, among planted words that are ranked."""
    by = measures(model)
    words = [
        word for word in planted["word"] if word in model.words and np.isfinite(by["strength"][model.word_id(word)])
    ]
    ids = [model.word_id(word) for word in words]
    share = dict(planted.select("word", "share").iter_rows())
    target = np.array([share[word] for word in words])
    print(f"  {len(words)} of {planted.height} planted words are ranked")
    return {name: correlation(values[ids], target) for name, values in by.items()}


def correlation(one: Array, other: Array) -> float:
    """Return the rank correlation; ties have the mean of their ranks."""
    ranks = [pl.Series(values).rank().to_numpy() for values in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


def report_known(model: dw.Model, known: dict[str, Any]) -> None:
    """Print how many known words are among the first of each list."""
    assert model.significance is not None
    table = model.significance.table
    can = ((table["kind"] == WORD) & (table["documents"] >= 40)).to_numpy()
    is_known = np.array([word in known for word in model.words])
    print(
        f"{(is_known & can).sum()} of {len(known)} known words are among {can.sum():,} that could be listed;"
        f" {int((table['q'] <= LEVEL).sum()):,} words are significant"
    )
    print(f"{'':12}" + "".join(f"{n:>8}" for n in (20, 50, 100, 200)))
    by = {**measures(model), "chance": np.random.default_rng(0).random(len(model.words))}
    for name, values in by.items():
        order = [v for v in np.argsort(-values, kind="stable") if can[v]]
        shown = (int(is_known[order[:n]].sum()) for n in (20, 50, 100, 200))
        print(f"{name:12}" + "".join(f"{n:>8}" for n in shown))
    share = (is_known & can).sum() / can.sum()
    print(f"{'expected':12}" + "".join(f"{share * n:8.1f}" for n in (20, 50, 100, 200)))


def report_sentences(model: dw.Model, n: int) -> None:
    """Print how many words that sentences name are in the text as told."""
    corpus = model.open_corpus()
    assert corpus is not None
    tokens, offsets = np.asarray(corpus.tokens), np.asarray(corpus.offsets)
    right = wrong = 0
    for row in dw.describe(model, n=n, corpus=corpus).iter_rows(named=True):
        v, change = model.word_id(row["word"]), row["change"]
        where = np.flatnonzero(tokens == v)
        for side in ("before", "after"):
            for name in row[side] or []:
                seen: list[tuple[int, date]] = []
                for position in where.tolist():
                    chunk = int(np.searchsorted(offsets, position, side="right")) - 1
                    day = date.fromordinal(date(1970, 1, 1).toordinal() + int(corpus.chunk_day[chunk]))
                    low, high = max(offsets[chunk], position - 5), min(offsets[chunk + 1], position + 6)
                    if (day >= change) == (side == "after") and model.word_id(name) in tokens[low:high]:
                        seen.append((int(corpus.chunk_document[chunk]), day))
                days = [day for _, day in seen]
                good = len(seen) >= 5 and len({document for document, _ in seen}) >= 3 and name in row["sentence"]
                good = good and row[f"{side}_first"] <= min(days) and max(days) <= row[f"{side}_last"]
                right, wrong = right + good, wrong + (not good)
    print(f"{right:,} words that sentences name are in the text as told, {wrong} are not")


def report_stable(path: str, given: dict[str, Any], folder: Path) -> None:
    """Print how much lists of different seeds, and of two halves of the documents, have in common."""
    corpus = dw.Corpus.open(path)
    lists: dict[str, list[list[str]]] = {"seeds": [], "halves": []}
    for seed in range(3):
        model = dw.fit(corpus, passes=int(given.get("passes", 6)), seed=seed, engine=str(given.get("engine", "auto")))
        lists["seeds"].append(dw.significance(model, corpus=corpus, seed=seed)["word"].head(50).to_list())
    documents = corpus.documents.collect()
    half = np.random.default_rng(0).permutation(len(documents)) % 2
    for number in (0, 1):
        part = documents.filter(pl.Series(half == number)).drop("slice")
        own = dw.prepare(part, text="text", time="date", slices=corpus.options.slices, out=folder / f"{number}.corpus")
        model = dw.fit(own, passes=int(given.get("passes", 6)), engine=str(given.get("engine", "auto")))
        lists["halves"].append(dw.significance(model, corpus=own)["word"].head(50).to_list())
    for name, found in lists.items():
        for n in (20, 50):
            shared = [len(set(a[:n]) & set(b[:n])) / n for a, b in itertools.combinations(found, 2)]
            print(f"{name}: of the first {n} words two lists share {np.mean(shared):.2f}")


def main() -> None:
    """Run one of the measurements."""
    mode, path = sys.argv[1:3]
    given: dict[str, Any] = dict(argument.split("=", 1) for argument in sys.argv[3:])
    if mode == "known":
        report_known(dw.Model.open(path), UNITED_NATIONS if given.get("list") == "un" else STATE_OF_THE_UNION)
        return
    if mode == "sentences":
        report_sentences(dw.Model.open(path), int(given.get("n", 100)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if mode == "stable":
            report_stable(path, given, folder)
            return
        for seed in map(int, str(given.get("seed", 0)).split(",")):
            limit = int(given["limit"]) if "limit" in given else None
            source = planted_text.read(path, limit=None if "pieces" in given else limit, seed=seed)
            if "pieces" in given:
                first, last = source["day"].min(), source["day"].max()
                assert isinstance(first, date)
                assert isinstance(last, date)
                source = planted_text.pieces(source, int(given["pieces"]))
                source = source[np.sort(np.random.default_rng(seed).permutation(len(source))[:limit])]
            share = 0.5 if mode == "passages" else SHARES
            table, planted = planted_text.plant(
                source, pairs=30, share=share, seed=seed, shuffled=mode == "sizes" or given.get("dates") != "keep"
            )
            corpus, model = fitted(table, folder, given)
            if mode == "passages":
                least = int(given.get("least", 300))
                for known in (False, True):
                    found = judge_passages(corpus, model, table, planted, least=least, known=known)
                    ten, three, every = found.mean(axis=0)
                    dated = "planted" if known else "found"
                    shown = f"exchanged of ten {ten:.3f}, of three {three:.3f}; of all {every:.3f}"
                    print(f"seed {seed}, date as {dated}: {len(found)} words; {shown}", flush=True)
            else:
                sizes = report_sizes(model, planted)
                print(f"seed {seed}: " + ", ".join(f"{name} {value:.2f}" for name, value in sizes.items()), flush=True)


if __name__ == "__main__":
    main()
