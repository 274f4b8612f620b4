"""Words whose change people have judged: read from the files of public data sets, and compared with what a model finds.

Nothing of these data sets is part of driftword; a user has them on disk. They come in few shapes: a table with a
column of words and one of how far each changed (SemEval-2020 task 1, LiverpoolFC, the ratings of Gulordava and
Baroni), or of how related the uses of two periods are, which is the opposite (DURel, RuSemShift, RuShiftEval), or the
statistics of word usage graphs (DWUG, NorDiaChange).
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Container, Iterator, Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError, SourceError
from driftword.benchmarking.measures import frequency_change
from driftword.benchmarking.planting import Array
from driftword.corpus import Corpus
from driftword.corpus.slices import At, Slices
from driftword.explore.drift_metrics import METRICS
from driftword.explore.drift_ranking import rank_drift
from driftword.models.model import Model, as_model
from driftword.preparing import prepare as prepare_corpus
from driftword.sources.compression import DAMAGED
from driftword.sources.text_streams import ReadingState, open_text

_WORD: Final = ("word", "lemma", "target")
_CHANGE: Final = ("change_graded", "graded", "shift_index", "mean", "average")
_RELATED: Final = ("compare",)  # how related uses of the two periods are: the less, the more it changed
_CHANGED: Final = ("change_binary", "binary", "ground_truth")
#: Where the judgements are in the folders that the data sets come in.
_PLACES: Final = (
    "truth/graded.txt", "stats/semeval/stats_groupings.csv", "stats/opt/stats_groupings.csv",
    "stats/opt/stats_groupings.tsv", "stats/stats_groupings.csv", "stats/stats_groupings.tsv", "annotated_all.tsv",
    "Dataset/annotated_words.csv", "annotated_words.csv", "testset.tsv", "testset.csv",
)  # fmt: skip
#: The periods of SemEval-2020 task 1, by the end of the folder's name (Schlechtweg et al. 2020).
_PERIODS: Final = {
    "eng": ("1810-1860", "1960-2010"), "ger": ("1800-1899", "1946-1990"), "swe": ("1790-1830", "1895-1903"),
}  # fmt: skip
_TAG: Final = re.compile(r"_[a-z]{1,5}$")  # SemEval writes attack_nn
_DRAWS: Final = 2_000
_FEW: Final = 3  # words, of which fewer have no correlation


def read_gold(path: str | os.PathLike[str], *, column: str | None = None) -> pl.DataFrame:
    """Read what people have judged about words: how far each changed, and whether it did.

    Parameters
    ----------
    path
        The folder of a data set (SemEval-2020 task 1, DWUG, NorDiaChange, RuShiftEval, RuSemShift, LiverpoolFC), or a
        file: tab- or comma-separated, with a column of words (``word`` or ``lemma``) and one of changes
        (``change_graded``, ``shift_index``, ``mean``) or of relatedness (``COMPARE``), or without a head.
    column
        Which column to read, where there are several; in RuShiftEval ``"1"``, ``"2"`` or ``"3"`` for its pairs of
        periods. Relatedness is turned around.

    Returns
    -------
    One row per word: `change`, larger for words that changed more, and `changed`, null where nobody said.
    """
    file = _find(checks.path("path", path))
    column = checks.optional(checks.text, "column", column)
    rows = _rows(file)
    head = [name.lower() for name in rows[0]]
    word = next((head.index(name) for name in _WORD if name in head), None)
    if word is None:
        number = _numbered_column(file, len(head), column)
        table = _table(rows, change=number, related=len(head) > 2)  # several are RuShiftEval's, of pairs of periods
    else:
        name = _named_column(file, head, column)
        changed = next((head.index(name) for name in _CHANGED if name in head), None)
        table = _table(rows[1:], word=word, change=head.index(name), changed=changed, related=name in _RELATED)
    if table["changed"].is_null().all():
        table = table.drop("changed").join(_judged_beside(file), on="word", how="left", maintain_order="left")
    table = table.filter(pl.col("change").is_not_null(), pl.col("word") != "")
    if not table.height:
        raise SourceError(f"{_shown(file)} has no word with a number beside it")
    return table.unique("word", keep="first", maintain_order=True)


def prepare_gold(
    folder: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    periods: Sequence[str] | None = None,
    **options: Any,
) -> Corpus:
    """Make a corpus with two slices of the texts that come with a data set.

    Parameters
    ----------
    folder
        A folder with ``corpus1`` and ``corpus2`` in it, as in SemEval-2020 task 1; of each, the part ``lemma`` is read
        if there is one. Every line is a text, of words separated by spaces.
    out
        Directory to write.
    periods
        The two periods, such as ``("1810-1860", "1960-2010")``; those of SemEval's English, German and Swedish texts
        are known.
    **options
        Options of `prepare`. By default words are taken as they are, none are joined into phrases, and all judged words
        are kept.
    """
    place = checks.path("folder", folder)
    if not place.is_dir():
        raise SourceError(f"{_shown(place)} is not a folder; give the one that the data set was unpacked into")
    pair = [_files(place / name) for name in ("corpus1", "corpus2")]
    known = _PERIODS.get(place.name.rpartition("_")[2])
    if periods is None and known is None:
        raise OptionError('The periods of these texts are unknown; give `periods`, such as ("1810-1860", "1960-2010")')
    names = checks.word_list("periods", known if periods is None else periods)
    if len(names) != 2:
        raise OptionError(f"`periods` has {len(names)} names; give two, such as ('1810-1860', '1960-2010')")
    judged = read_gold(place)["word"].to_list() if any((place / name).is_file() for name in _PLACES) else []
    chosen = {"slices": names, "tokens": "whitespace", "phrases": False, "keep": judged, **options}
    begin = Slices.from_labels(names).first
    texts = (_lines(file, day) for files, day in zip(pair, begin, strict=True) for file in files)
    return prepare_corpus(chain.from_iterable(texts), out=out, **chosen)


def score_gold(
    model: Model | str | os.PathLike[str],
    gold: pl.DataFrame | str | os.PathLike[str],
    *,
    metric: str | Sequence[str] = "cosine",
    between: Sequence[At | None] | None = None,
) -> pl.DataFrame:
    """Compare how far words moved in a model with what people have judged.

    Parameters
    ----------
    model
        A `Model`, or its path.
    gold
        What `read_gold` returned, or the path of a data set.
    metric
        How movement is measured, as in `drift`; or several of them. Choose one before you look: the best of nine by
        chance is better than it should be.
    between
        The two slices that the judgements are about; by default the first and the last one with enough text.

    Returns
    -------
    One row per metric and, where counts are known, one for each of two rules that know nothing of meaning: how many
    judged words the model has and lacks; Spearman's correlation with `change`, with its 90% interval over words (by the
    bootstrap); and of `changed` the area under the curve, the chance that a changed word moved farther than an
    unchanged one (0.5 for no relation). Null where nobody judged that, or where fewer than three words are left.
    """
    model, gold = as_model(model), as_gold(gold)
    metrics = checks.some_of("metric", [metric] if isinstance(metric, str) else metric, tuple(METRICS))
    if not metrics:
        raise OptionError(f"`metric` is empty; name some of {', '.join(METRICS)}")
    known = judged_words(gold, model.word_index)
    words = known["word"].to_list()
    scores: dict[str, Array] = {}
    ends: list[int] = []
    for name in metrics:
        ranking = rank_drift(model, words, metric=name, between=between, n=None)
        ends = [model.slices.index(label) for label in ranking.between]
        moved = dict(ranking.table.select("word", "drift").iter_rows())
        scores[name] = np.array([moved.get(word) for word in words], dtype=np.float64)  # not a number where unknown
    if model.vocabulary.counted:
        counts, numbers = np.asarray(model.counts)[ends], [model.word_id(word) for word in words]
        scores["frequency change"] = frequency_change(counts)[numbers]
        scores["frequency"] = counts.sum(axis=0)[numbers].astype(np.float64)
    missing = gold.height - len(words)
    rows = [{"metric": name, **agreement(values, known), "missing": missing} for name, values in scores.items()]
    order = ["metric", "words", "missing", "spearman", "spearman_low", "spearman_high", "AUC"]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(order[3:], pl.Float64)).select(order)


def as_gold(gold: pl.DataFrame | str | os.PathLike[str]) -> pl.DataFrame:
    """Return judgements as `read_gold` does, whether they were read before or are named by a path."""
    if not isinstance(gold, pl.DataFrame):
        return read_gold(gold)
    if not {"word", "change", "changed"} <= set(gold.columns):
        raise OptionError("`gold` lacks one of the columns word, change and changed; give what `read_gold` returned")
    return gold


def judged_words(gold: pl.DataFrame, known: Container[str]) -> pl.DataFrame:
    """Return the judgements of known words, as these are spelled there; refuse those of which none is known."""
    spelled = pl.Series([_spelled(word, known) for word in gold["word"]], dtype=pl.String)
    found = gold.with_columns(word=spelled).drop_nulls("word").unique("word", keep="first", maintain_order=True)
    if not found.height:
        raise OptionError(f"None of the {gold.height} judged words is known here; was the text prepared as theirs was?")
    return found


def agreement(score: Array, gold: pl.DataFrame) -> dict[str, Any]:
    """Return how well numbers agree with judgements of the same words, in the same order."""
    change, changed = gold["change"].to_numpy(), gold["changed"]
    used = np.isfinite(score) & np.isfinite(change)
    found: dict[str, Any] = {"words": int(used.sum()), "spearman": None, "spearman_low": None, "spearman_high": None}
    if used.sum() >= _FEW:
        one, other = score[used], change[used]
        found["spearman"] = None if math.isnan(agreed := spearman(one, other)) else agreed
        draws = np.random.default_rng(0).integers(0, len(one), size=(_DRAWS, len(one)))
        drawn = drawn_spearman(one, other, draws)
        if np.isfinite(drawn).any():
            found["spearman_low"], found["spearman_high"] = np.nanquantile(drawn, [0.05, 0.95]).tolist()
    said = used & changed.is_not_null().to_numpy()
    labels = changed.fill_null(value=False).to_numpy()[said]
    return {**found, "AUC": area_under_curve(score[said], labels)}


def spearman(one: Array, other: Array) -> float:
    """Return Spearman's correlation; not a number where all values are the same."""
    first, second = (ranks - ranks.mean() for ranks in map(_ranks, (one, other)))
    size = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / size if size else math.nan


def drawn_spearman(one: Array, other: Array, draws: Array) -> Array:
    """Return Spearman's correlation of many samples; `draws` has the numbers of the words of each, ``(draws, n)``."""
    ranks = []
    for values in (one, other):
        number = np.unique(values, return_inverse=True)[1][draws]
        rows = np.arange(len(draws))[:, None]
        count = np.zeros((len(draws), int(number.max()) + 1))
        np.add.at(count, (rows, number), 1)
        found = (np.cumsum(count, axis=1) - (count - 1) / 2)[rows, number]  # equal values have the mean of their ranks
        ranks.append(found - found.mean(axis=1, keepdims=True))
    size = np.sqrt((ranks[0] ** 2).sum(axis=1) * (ranks[1] ** 2).sum(axis=1))
    return np.asarray(
        np.divide((ranks[0] * ranks[1]).sum(axis=1), size, out=np.full(len(size), np.nan), where=size > 0)
    )


def area_under_curve(score: Array, changed: Array) -> float | None:
    """Return the chance that a changed word scores higher than an unchanged one; ties count half."""
    positive = int(changed.sum())
    pairs = positive * (len(changed) - positive)
    return float((_ranks(score)[changed].sum() - positive * (positive + 1) / 2) / pairs) if pairs else None


def _ranks(values: Array) -> Array:
    """Return ranks from one on; equal values have the mean of theirs."""
    return pl.Series(values).rank("average").to_numpy()


def _find(place: Path) -> Path:
    if place.is_file():
        return place
    found = next((place / name for name in _PLACES if (place / name).is_file()), None)
    if found is None:
        why = f"has no {_PLACES[0]}, {_PLACES[2]} or the like" if place.is_dir() else "does not exist"
        raise SourceError(f"{_shown(place)} {why}; name the file of words and how far they changed")
    return found


def _rows(file: Path) -> list[list[str]]:
    """Return the rows of a small table, separated by what its first line has."""
    try:
        with open_text(file, ReadingState()) as text:
            lines = [line.rstrip("\r\n") for line in text if line.strip()]
    except (*DAMAGED, UnicodeError) as error:
        raise SourceError(f"{_shown(file)} cannot be read: {error}") from error
    if not lines:
        raise SourceError(f"{_shown(file)} is empty")
    separator = next((mark for mark in "\t;," if mark in lines[0]), None)
    if separator is None:
        raise SourceError(f"{_shown(file)} has a single column; it needs words and how far they changed")
    quote = None if separator == "\t" else '"'  # what is separated by tabs has no quotation marks around it
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator, quotechar=quote)]
    except csv.Error as error:
        raise SourceError(f"{_shown(file)} is not a table: {error}") from error
    width = len(rows[0])
    return [(row + [""] * width)[:width] for row in rows]


def _named_column(file: Path, head: list[str], asked: str | None) -> str:
    """Return the name of the column that says how far words changed."""
    names = (asked.lower(),) if asked else (*_CHANGE, *_RELATED)
    found = next((name for name in names if name in head), None)
    if found is None:
        what = f"has no column {checks.quoted(asked)}" if asked else "has no column of changes that is known"
        raise SourceError(f"{_shown(file)} {what}; its columns are {', '.join(head)}; name one as `column`")
    return found


def _numbered_column(file: Path, width: int, asked: str | None) -> int:
    """Return the number of the column that says how far words changed, in a file without a head."""
    if width > 2 and asked is None:
        raise SourceError(f"{_shown(file)} has {width - 1} columns of numbers; name one as `column`, from 1 on")
    if asked is not None and asked not in map(str, range(1, width)):
        raise SourceError(f"{_shown(file)} has no column {checks.quoted(asked)}; they are 1 to {width - 1}")
    return int(asked or 1)


def _judged_beside(file: Path) -> pl.DataFrame:
    """Return which words changed, where a file beside that of the degrees says so, as SemEval's does."""
    beside = file.with_name("binary.txt") if file.name == "graded.txt" else file.parent.parent / "task1" / file.name
    known = file.name == "graded.txt" or file.parent.name == "task2"
    return _table(_rows(beside) if known and beside.is_file() else [], change=1, changed=1).drop("change")


def _table(
    rows: list[list[str]], *, word: int = 0, change: int, changed: int | None = None, related: bool = False
) -> pl.DataFrame:
    """Return words, how far they changed, and whether they did, from columns; relatedness is turned around."""
    degrees = [_number(row[change]) for row in rows]
    said = [None if changed is None else _number(row[changed]) for row in rows]
    table = {
        "word": [row[word] for row in rows],
        "change": [-degree if related and degree is not None else degree for degree in degrees],
        "changed": [None if number is None else number > 0 for number in said],
    }
    return pl.DataFrame(table, schema={"word": pl.String, "change": pl.Float64, "changed": pl.Boolean})


def _number(text: str) -> float | None:
    """Return a number as people write it, with a point or a comma; None where it is none."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _spelled(word: str, known: Container[str]) -> str | None:
    """Return a judged word as it is spelled among known ones; None where it is not."""
    forms = (word, word.lower(), _TAG.sub("", word), _TAG.sub("", word).lower())
    return next((form for form in forms if form in known), None)


def _files(folder: Path) -> list[Path]:
    """Return the texts of a period."""
    place = folder / "lemma" if (folder / "lemma").is_dir() else folder
    files = sorted(file for file in place.rglob("*") if file.is_file() and ".txt" in file.suffixes)
    if not files:
        raise SourceError(f"{_shown(place)} has no .txt files; give the folder that the data set was unpacked into")
    return files


def _lines(file: Path, day: date) -> Iterator[tuple[str, date]]:
    """Yield the texts of a file, one on each line, dated by the first day of their period."""
    try:
        with open_text(file, ReadingState()) as text:
            for line in text:
                if line.strip():
                    yield line, day
    except DAMAGED as error:
        raise SourceError(f"{_shown(file)} cannot be read: {error}") from error


def _shown(file: Path) -> str:
    return checks.quoted(str(file))
