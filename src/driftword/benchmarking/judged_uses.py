"""Uses whose senses people have judged (word usage graphs): how well changes and senses are found in them.

Such a data set has, for each word, sentences of two periods (``data/WORD/uses.csv``), clusters of senses
(``clusters/opt/WORD.csv``) and how far the word changed (``stats/opt/stats_groupings.csv``): DWUG and its relatives in
many languages. Nothing of them is part of driftword; a user has them on disk.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError, SourceError
from driftword.basics.polars_faults import POLARS_ERRORS
from driftword.basics.process import available_cores
from driftword.basics.progress import Progress, progress
from driftword.benchmarking.gold_sets import agreement, judged_words, read_gold
from driftword.benchmarking.planting import Array
from driftword.corpus import Corpus
from driftword.encoding.encoder import POOLS, Encoder
from driftword.explore.usage_distances import METRICS, usage_drift
from driftword.fitting.fitting import fit
from driftword.inference.significance import significance
from driftword.models.usage import Usage
from driftword.preparing import prepare
from driftword.uses.brought_vectors import usage
from driftword.uses.judgements import rand_index
from driftword.uses.sense_clusters import find_senses
from driftword.uses.sense_space import sense_space
from driftword.uses.word_uses import find_uses

_COLUMNS: Final = ("lemma", "date", "grouping", "identifier", "context", "indexes_target_token")
_PLACES: Final = ("clusters/opt", "clusters/semeval", "clusters")
_AT_ONCE: Final = 512
_SCHEMA: Final[dict[str, Any]] = {
    "vectors": pl.String, "score": pl.String, "words": pl.Int64, "spearman": pl.Float64, "spearman_low": pl.Float64,
    "spearman_high": pl.Float64, "AUC": pl.Float64, "rand_index": pl.Float64,
}  # fmt: skip


def gold_uses(
    folder: str | os.PathLike[str],
    *,
    encoder: str | os.PathLike[str] | None = None,
    layers: int = 4,
    pool: str = "word",
    passes: int = 10,
    seed: int = 0,
    threads: int | None = None,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Compare what driftword finds in uses that people have judged with their judgements.

    Parameters
    ----------
    folder
        The folder of a data set of word usage graphs, such as DWUG, with ``data/WORD/uses.csv`` in it.
    encoder, layers, pool
        Also with vectors of this encoder, as in `encode`.
    passes
        Passes over the text of the uses, to which a model is fitted.
    seed
        Seed of the fit, of exchanges of documents, and of chance.
    threads
        Number of threads; all cores by default.
    show_progress
        Show a progress bar; by default in a terminal only.

    Returns
    -------
    One row per way to say how far words changed: vectors, those of a model of the uses' own text, of the encoder, or
    none; score, what of them is taken: effect, as in `significance`, distances as in `drift`, or how much the shares of
    two senses moved (senses); words that were compared; Spearman's correlation with the graded change that people
    judged, with its 90% interval over words; AUC, the chance that a word which changed has a larger score than one
    which did not; and for senses rand_index, the adjusted Rand index of two senses and the clusters of people, the mean
    over words. Rows of chance and of frequency (how differently often a word is used in both periods) show what a score
    without any knowledge of meaning has.
    """
    place = checks.path("folder", folder)
    passes, seed = checks.whole("passes", passes, least=1), checks.seed(seed)
    threads = checks.threads(threads) or available_cores()
    show_progress = checks.show_progress(show_progress)
    layers, pool = checks.whole("layers", layers, least=1), checks.one_of("pool", pool, POOLS)
    uses, judged = read_uses(place), read_gold(place)
    made = None if encoder is None else Encoder(encoder, layers=layers, pool=pool, threads=threads)
    gold = judged_words(judged, set(uses["word"]))
    uses = uses.filter(pl.col("word").is_in(gold["word"].implode()))
    rows: list[dict[str, Any]] = []

    def add(vectors: str, score: str, found: dict[str, float], rand: float | None = None) -> None:
        scores = np.array([found.get(word, np.nan) for word in gold["word"]])
        rows.append({"vectors": vectors, "score": score, **agreement(scores, gold), "rand_index": rand})

    with progress(show=show_progress) as bar:
        random = np.random.default_rng(seed)
        add("none", "chance", dict(zip(gold["word"], random.random(gold.height).tolist(), strict=True)), 0.0)
        add("none", "frequency", _frequency(uses))
        _score_text(uses, add, passes=passes, seed=seed, threads=threads, bar=bar)
        if made is not None:
            _score_vectors(_encode(uses, made, bar), uses, made.name, add, seed=seed)
    return pl.DataFrame(rows, schema=_SCHEMA)


def read_uses(folder: Path) -> pl.DataFrame:
    """Return all uses: word, identifier, period (0 or 1), date, text with the word from begin to end, and cluster."""
    files = sorted(folder.glob("data/*/uses.csv"))
    if not files:
        raise SourceError(f"'{folder}' has no data/WORD/uses.csv; give the folder of a data set of word usage graphs")
    tables = []
    for file in files:
        uses = _read(file, _COLUMNS)
        clusters = next((folder / at / f"{file.parent.name}.csv" for at in _PLACES if (folder / at).is_dir()), None)
        if clusters is not None and clusters.is_file():
            uses = uses.join(
                _read(clusters, ("identifier", "cluster")).unique("identifier"), on="identifier", how="left"
            )
        else:
            uses = uses.with_columns(cluster=pl.lit(None, dtype=pl.String))
        tables.append(uses.with_columns(word=pl.lit(file.parent.name)))
    every = pl.concat(tables)
    ends = pl.col("indexes_target_token").str.split_exact(":", 1)
    read = every.with_columns(
        ends.struct[0].cast(pl.Int64, strict=False).alias("begin"),
        ends.struct[1].cast(pl.Int64, strict=False).alias("end"),
    )
    periods = sorted(read["grouping"].unique().to_list())
    if len(periods) != 2:
        raise SourceError(f"The uses in '{folder}' are of {len(periods)} groupings; two periods are compared")
    kept = read.filter(pl.col("begin") < pl.col("end"), pl.col("end") <= pl.col("context").str.len_chars())
    return kept.select(
        "word", "identifier", "begin", "end",
        period=(pl.col("grouping") == periods[1]).cast(pl.Int64),
        text="context",
        cluster=pl.col("cluster").cast(pl.Int64, strict=False).fill_null(-1),
        date=pl.when(pl.col("grouping") == periods[1]).then(pl.date(1900, 1, 1)).otherwise(pl.date(1800, 1, 1)),
    )  # fmt: skip


def _read(file: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    try:
        table = pl.read_csv(file, separator="\t", quote_char=None, infer_schema=False)
    except (OSError, UnicodeDecodeError, *POLARS_ERRORS) as error:
        raise SourceError(f"'{file}' cannot be read as a table with tabs between its columns") from error
    if missing := [name for name in columns if name not in table.columns]:
        raise SourceError(f"'{file}' has no column '{missing[0]}'; give a data set of word usage graphs")
    return table.select(columns)


def _frequency(uses: pl.DataFrame) -> dict[str, float]:
    """Return how differently often words are used in both periods."""
    counts = uses.group_by("word").agg((pl.col("period") == side).sum().alias(str(side)) for side in (0, 1))
    ratio = np.log((counts["1"].to_numpy() + 0.5) / (counts["0"].to_numpy() + 0.5))
    return dict(zip(counts["word"], np.abs(ratio).tolist(), strict=True))


def _score_text(
    uses: pl.DataFrame, add: Callable[..., None], *, passes: int, seed: int, threads: int, bar: Progress
) -> None:
    """Score words by the text of their uses alone, in which all forms of a word are one."""
    names = {word: f"judged{''.join(filter(str.isalnum, word))}" for word in uses["word"].unique()}
    rows = [
        {"text": f"{text[:begin]} {names[word]} {text[end:]}", "date": date, "row": row}
        for row, (text, begin, end, word, date) in enumerate(uses.select("text", "begin", "end", "word", "date").rows())
    ]
    bar.stage("preparing and fitting the uses' text")
    with tempfile.TemporaryDirectory() as folder:
        corpus = prepare(
            pl.DataFrame(rows), slices=("1800", "1900", "2000"), phrases=False, copies="keep", min_count=3,
            keep=sorted(names.values()), out=Path(folder) / "uses.corpus", show_progress=False,
        )  # fmt: skip
        _score_corpus(corpus, names, uses, add, passes=passes, seed=seed, threads=threads, bar=bar)


def _score_corpus(
    corpus: Corpus, names: dict[str, str], uses: pl.DataFrame, add: Callable[..., None], *, passes: int, seed: int,
    threads: int, bar: Progress,
) -> None:  # fmt: skip
    """Score words by a model of a corpus in which they have these names."""
    model = fit(corpus, passes=passes, seed=seed, threads=threads, engine="cpu", show_progress=False)
    known = {word: name for word, name in names.items() if name in corpus.word_index}
    if not known:
        raise OptionError("None of the judged words occurs often enough in the uses")
    bar.stage("testing and dividing words", total=len(known))
    tested = significance(
        model, list(known.values()), corpus=corpus, seed=seed, threads=threads, show_progress=False
    )  # fmt: skip
    effect = dict(zip(known, tested["effect"].to_list(), strict=True))
    add("own text", "effect", {word: value for word, value in effect.items() if value is not None})
    number, space = corpus.documents.select("row").collect()["row"].to_numpy(), sense_space(model, corpus)
    labels: dict[str, tuple[Array, Array]] = {}
    moved = {}
    for word, name in known.items():
        found = find_uses(model, corpus, name)
        row, places = number[found.document], space.of(found.around)
        sides = [places[found.slice_of == side] for side in (0, 1)]
        labels[word] = row, find_senses(places, found.document, found.around, n=2, seed=seed).sense
        bar.update(more=1)
        if not all(map(len, sides)):
            continue
        means = [side.mean(axis=0) for side in sides]
        moved[word] = 1 - float(means[0] @ means[1] / max(np.linalg.norm(means[0]) * np.linalg.norm(means[1]), 1e-12))
    add("own text", "prt", moved)
    add("own text", "senses", *_judge(uses, labels))


def _encode(uses: pl.DataFrame, encoder: Encoder, bar: Progress) -> Usage:
    bar.stage("encoding", total=uses.height)
    parts = []
    for first in range(0, uses.height, _AT_ONCE):
        some = uses[first : first + _AT_ONCE]
        parts.append(encoder.encode(some["text"].to_list(), some["begin"].to_numpy(), some["end"].to_numpy()))
        bar.update(more=some.height)
    table = uses.with_columns(pl.Series("document", range(uses.height)))
    return usage(table, np.concatenate(parts), slices=("1800", "1900", "2000"))


def _score_vectors(made: Usage, uses: pl.DataFrame, name: str, add: Callable[..., None], *, seed: int) -> None:
    """Score words by vectors of their uses."""
    tested = significance(made, seed=seed, show_progress=False).drop_nulls("effect")
    add(name, "effect", dict(zip(tested["word"], tested["effect"], strict=True)))
    for metric in METRICS:
        moved = usage_drift(made, metric=metric, seed=seed).drop_nulls("drift")
        add(name, metric, dict(zip(moved["word"], moved["drift"], strict=True)))
    labels = {}
    for v, word in enumerate(made.words):
        rows = made.rows(v)
        labels[word] = rows, find_senses(made.places[rows], made.document[rows], n=2, seed=seed).sense
    add(name, "senses", *_judge(uses, labels))


def _judge(uses: pl.DataFrame, labels: dict[str, tuple[Array, Array]]) -> tuple[dict[str, float], float]:
    """Return how much the shares of senses moved, by word, and how well they agree with clusters, on average."""
    period, cluster = uses["period"].to_numpy(), uses["cluster"].to_numpy()
    moved, agreed = {}, []
    for word, (rows, sense) in labels.items():
        shares = [np.bincount(sense[period[rows] == side], minlength=int(sense.max()) + 1) for side in (0, 1)]
        moved[word] = 0.5 * float(
            np.abs(shares[0] / max(shares[0].sum(), 1) - shares[1] / max(shares[1].sum(), 1)).sum()
        )
        here = cluster[rows] >= 0
        if here.any():
            own = np.unique(cluster[rows][here], return_inverse=True)[1]
            counts = np.zeros((int(sense.max()) + 1, int(own.max()) + 1))
            np.add.at(counts, (sense[here], own), 1)
            agreed.append(rand_index(counts))
    return moved, float(np.mean(agreed)) if agreed else float("nan")
