"""What changed in a word, in a sentence whose every part can be checked.

The sentence names words of the company that the word had before its change and has had since (`collocates`): each is at
least twice as usual on its side, and at least twice as often there as chance would have it; those whose own share is
proven to differ come first, then those that are typical of most of the time rather than of one event. The dates are
those of `significance`; the company's are those of its first and last occurrence.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.corpus import Corpus
from driftword.models.model import Model
from driftword.models.significance_table import LEVEL
from driftword.models.usage import Usage, as_source, corpus_of_source
from driftword.uses.collocates import company, typical
from driftword.uses.sides import AFTER, BEFORE, Sides, find_sides
from driftword.uses.word_frequency import FrequencyRatio, frequency_p, frequency_ratio

_NOTABLY: Final = 1.25  # times as frequent
_UNCLEAR: Final = "not clearly more or less frequent"
_SURE: Final = 1e-3
_YEARS, _MONTHS = 3 * 366, 3 * 31  # days that a time is longer than, if it is told in years or months
_SCHEMA: Final[dict[str, Any]] = {
    "word": pl.String, "sentence": pl.String, "verdict": pl.String,
    "before": pl.List(pl.String), "before_first": pl.Date, "before_last": pl.Date,
    "after": pl.List(pl.String), "after_first": pl.Date, "after_last": pl.Date,
    "change": pl.Date, "change_low": pl.Date, "change_high": pl.Date, "q": pl.Float64,
    "times_as_frequent": pl.Float64, "times_low": pl.Float64, "times_high": pl.Float64, "frequency_p": pl.Float64,
}  # fmt: skip


def describe(
    model: Model | Usage | str | os.PathLike[str],
    words: str | Sequence[str] | None = None,
    *,
    n: int = 20,
    corpus: Corpus | str | os.PathLike[str] | None = None,
) -> pl.DataFrame:
    """Say in a sentence what changed in words, with the facts in it.

    Parameters
    ----------
    model
        A model of any kind, or its path; or vectors of occurrences (see `usage`).
    words
        A word, or several; by default the n words that changed most, as `significance` ranks them.
    n
        Number of words, where none are named.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.

    Returns
    -------
    One row per word: word; sentence; verdict, the kind of change: of company, of frequency, of both or of neither;
    before, up to three words of the company that it had before its change, with the dates of their first and last
    occurrence near it, before_first and before_last; after, the same since then; change with its 90% interval, and q,
    as in `significance` (null where it was not tested, or no change was found); times_as_frequent it is since then as
    before, with its 90% interval, times_low and times_high; and frequency_p, of the claim that how often it occurs does
    not depend on time (documents exchange their dates 1,000 times).
    """
    model = as_source(model)
    n = checks.whole("n", n, least=1)
    text = corpus_of_source(model, corpus)
    found = model.significance
    if words is None:
        if found is None:
            raise OptionError("No words are named, and the model has not been tested; run `significance` first")
        names = found.listed[:n]
    else:
        names = [model.words[model.word_id(word)] for word in checks.words("words", words)]
    return pl.DataFrame([_describe(model, text, name) for name in names], schema=_SCHEMA)


def _describe(model: Model | Usage, corpus: Corpus, word: str) -> dict[str, Any]:
    """Return the row of a word."""
    try:
        facts = describe_sides(model, find_sides(model, corpus, word))
        return facts | {"frequency_p": frequency_p(corpus, corpus.word_id(word))}
    except OptionError:
        sentence = f"{word}: it occurs in too few documents to say what changed"
        return {"word": word, "sentence": sentence, "verdict": "too few documents", **_tested(model, word)}


def describe_sides(model: Model | Usage, sides: Sides, near: pl.DataFrame | None = None) -> dict[str, Any]:
    """Return what changed in a word, whose occurrences, and company, are given, as a row of `describe`."""
    word, found = sides.word, model.significance
    row = {} if found is None else found.table.row(model.word_id(word), named=True)
    facts, ratio = _tested(model, word), frequency_ratio(sides)
    collocates = company(sides) if near is None else near
    for side in (BEFORE, AFTER):
        named = typical(collocates.filter(pl.col("side") == side))
        facts[side] = named["word"].to_list()
        facts[f"{side}_first"], facts[f"{side}_last"] = named["first"].min(), named["last"].max()
    facts["times_as_frequent"], facts["times_low"], facts["times_high"] = ratio
    changed = None if row.get("q") is None else bool(row["q"] <= LEVEL)
    facts["verdict"] = _verdict(ratio, changed=changed)
    return {"word": word, "sentence": _sentence(word, facts, row, sides.change, changed=changed), **facts}


def _tested(model: Model | Usage, word: str) -> dict[str, Any]:
    """Return what a test found about a word."""
    row = {} if model.significance is None else model.significance.table.row(model.word_id(word), named=True)
    return {name: row.get(name) for name in ("change", "change_low", "change_high", "q")}


def _verdict(ratio: FrequencyRatio, *, changed: bool | None) -> str:
    """Say what kind of change it is, each part as far as it was tested."""
    use = {True: "in other company", False: "no change of company found", None: "company not tested"}[changed]
    return f"{_frequency(ratio)}, {use}"


def _frequency(found: FrequencyRatio) -> str:
    """Say whether a word became more, or less, frequent by a notable part, as far as documents show it."""
    clear = not found.low <= 1 <= found.high
    if clear and not 1 / _NOTABLY < found.ratio < _NOTABLY:
        return "more frequent" if found.ratio > 1 else "less frequent"
    narrow = found.low >= 1 / _NOTABLY and found.high <= _NOTABLY
    return "about as frequent" if clear or narrow else _UNCLEAR


def _sentence(word: str, facts: dict[str, Any], row: dict[str, Any], at: date | None, *, changed: bool | None) -> str:
    """Say all of it in a sentence."""
    told = [(facts[side], written(facts[f"{side}_first"], facts[f"{side}_last"])) for side in (BEFORE, AFTER)]
    company_of = [f"{', '.join(words)} ({when})" for words, when in told if words]
    way = f"{'from' if facts[BEFORE] else 'to'} {' to '.join(company_of)}" if company_of else ""
    if changed:
        sure = "very unlikely to be chance" if row["q"] <= _SURE else "unlikely to be chance (q up to 0.05)"
        parts = [*([way] if way else []), _when(row), sure]
    else:
        unproven = _unproven(row) if changed is False else "not tested, so nothing is proven"
        parts = [unproven, f"its uses differ most before and since {at}" + (f", {way}" if way else "")]
    ratio = FrequencyRatio(*(facts[name] for name in ("times_as_frequent", "times_low", "times_high")))
    if np.isfinite(ratio.ratio):
        parts.append(_times(ratio))
    return f"{word}: {'; '.join(parts)}"


def _unproven(row: dict[str, Any]) -> str:
    """Say that no change was found, and how large one can be at most."""
    most = max(row["high"], 0.0)
    return f"not distinguishable from chance: time explains at most {most:.1%} of how its documents differ"


def _times(found: FrequencyRatio) -> str:
    """Say how many times as frequent a word is, as far as documents show that it is more, or less, frequent."""
    times, about = found.ratio, "about as frequent as before"
    if found.low <= 1 <= found.high:
        return _UNCLEAR if _frequency(found) == _UNCLEAR else about
    plain = {"1": about, "2": "twice as frequent as before", "0.5": "half as frequent as before"}
    if (rounded := f"{times:.2g}") in plain:
        return plain[rounded]
    if times < 0.4:
        return f"{_number(1 / times)} times rarer than before"
    if times < 1:
        return f"{1 - times:.0%} less frequent than before"
    return f"{_number(times)} times as frequent as before"


def _number(times: float) -> str:
    return f"{times:.2g}" if times < 10 else f"{times:.0f}"


def _when(row: dict[str, Any]) -> str:
    """Say when a word changed, as exactly as it is known."""
    low, high = row["change_low"], row["change_high"]
    interval = written(low, high)
    if row["change_begin"] is not None:
        return f"gradually, most of it {written(row['change_begin'], row['change_end'])}"
    at = _as_known(row["change"], (high - low).days)
    return f"about {at} (90% interval {interval})" if at != interval else f"about {at}"


def written(first: date | None, last: date | None) -> str:
    """Write a time as exactly as it is known: in years, months or days."""
    if first is None or last is None:
        return ""
    length = (last - first).days
    begin, end = _as_known(first, length), _as_known(last, length)
    return begin if begin == end else f"{begin}-{end}" if length > _YEARS else f"{begin} to {end}"


def _as_known(day: date, length: int) -> str:
    first_of_year = day.month == day.day == 1
    return f"{day:%Y}" if length > _YEARS or first_of_year else f"{day:%Y-%m}" if length > _MONTHS else day.isoformat()
