"""How differently two groups use words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.process import available_cores
from driftword.basics.progress import progress
from driftword.corpus.groups import OTHERS, group_number
from driftword.explore import vectors
from driftword.explore.intervals import OTHER_NOISE, CorpusLike, interval, uncertainty
from driftword.explore.nearest_neighbors import neighbors
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model, as_model, corpus_of
from driftword.models.significance_table import LEVEL

_PERIOD = "give a slice, such as 1990, or the first and the last of a period, such as (1970, 1989)"


def contrast(
    model: Model | str | os.PathLike[str],
    groups: Sequence[str] | None = None,
    *,
    word: str | None = None,
    words: str | Sequence[str] | None = None,
    at: Any = None,
    n: int = 16,
    min_count: int = MIN_COUNT,
    intervals: bool = False,
    permutations: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
    corpus: CorpusLike = None,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Compare how two groups use words: which ones most differently, or one word through time.

    Parameters
    ----------
    model
        A model with groups (see `prepare`), or its path.
    groups
        Two groups; by default the two that the model has, if it has no others.
    word
        A word to follow through time; None ranks words.
    words
        Rank only these words; by default all.
    at
        A slice, or a period given by its first and its last slice, to which a ranking is limited; by default all.
    n
        How many words, or how many neighbours of the word in each group.
    min_count
        Only words that occur at least this often in either group; only neighbours that do so in a slice.
    intervals
        With a word: also give the 90% interval of every similarity, as with other documents of the same kind.
    permutations, seed, threads, engine, device
        As in `significance`: the documents of a slice exchange their groups.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    show_progress
        Show a progress bar; by default in a terminal only.

    Returns
    -------
    Without a word: one row per word, significant ones first, by effect: word; difference, the cosine distance between
    its mean vectors in the two groups; effect, low, high, p and q as in `significance`, of the groups instead of time;
    count_first and count_second, how often each group uses it, and documents.

    With a word: one row per slice: slice; similarity, the cosine between its vectors in the two groups (null where one
    of them does not use it in training text); count_first and count_second; and first and second, its neighbours in
    each group. With intervals also similarity_low and similarity_high, for which all text is taken as it is.
    """
    model = as_model(model)
    names = two_groups(model, groups)
    n, min_count = checks.whole("n", n, least=1), checks.whole("min_count", min_count)
    intervals = checks.flag("intervals", intervals)
    if word is not None:
        if at is not None or words is not None:
            raise OptionError(
                "A word is followed through all of the time, alone; leave out `at` and `words`, or `word`"
            )
        table = _through_time(model, names, word, n, min_count)
        return _with_intervals(model, names, word, table, corpus) if intervals else table
    named = None if words is None else [model.word_id(one) for one in checks.words("words", words)]
    permutations = checks.whole("permutations", permutations, least=19, most=1_000_000)
    seed, threads = checks.seed(seed), checks.threads(threads) or available_cores()
    from driftword.evidence.occurrences import Cells  # Numba loads only where it is used
    from driftword.evidence.significance import Question, find_place, run_tests, slices_of_period

    everything = np.arange(len(model.slices))
    chosen = everything if at is None else slices_of_period(model, at, option="at", remedy=_PERIOD)
    text = corpus_of(model, corpus)
    counts = [np.asarray(model.group(name).counts)[chosen].sum(axis=0, dtype=np.int64) for name in names]
    enough = np.minimum(*counts) >= max(min_count, 1)
    tested = np.flatnonzero(enough) if named is None else np.unique(named)
    if not len(tested):
        raise OptionError(
            f"No word occurs {max(min_count, 1)} times in both groups; lower `min_count`, or compare a longer period"
        )
    n_slices = len(model.slices)
    group_of, slice_of = np.asarray(text.chunk_group), np.asarray(text.chunk_slice)
    numbers = [group_number(model.groups, name) for name in names]
    cell = np.where(np.isin(slice_of, chosen) & np.isin(group_of, numbers), slice_of, -1)
    cell = np.where((cell >= 0) & (group_of == numbers[1]), cell + n_slices, cell)
    question = Question(
        np.repeat([0, 1], n_slices), permutations, seed, strata_of_slice=np.tile(np.arange(n_slices), 2)
    )
    with progress(show=checks.show_progress(show_progress)) as bar:
        table = run_tests(
            model, text, tested, question, threads=threads, bar=bar, device=find_place(engine, device),
            cells=Cells(cell, 2 * n_slices),
        )  # fmt: skip
    table = table.drop("change", "change_low", "change_high", "slices").with_columns(
        pl.Series("difference", _differences(model, names, chosen)[tested]).fill_nan(None),
        *(pl.Series(name, c[tested]) for name, c in zip(("count_first", "count_second"), counts, strict=True)),
    )
    significant = (pl.col("q") <= LEVEL).fill_null(value=False)
    table = table.sort(
        significant, pl.when(significant).then("effect").otherwise("difference"), descending=True, nulls_last=True,
        maintain_order=True,
    )  # fmt: skip
    columns = ("word", "difference", "effect", "low", "high", "p", "q", "count_first", "count_second", "documents")
    return table.select(*columns).head(n)


def _with_intervals(
    model: Model, names: Sequence[str], word: str, table: pl.DataFrame, corpus: CorpusLike
) -> pl.DataFrame:
    """Add the interval of each similarity, from draws of the word's vectors in both groups."""
    v = model.word_id(word)
    text = corpus_of(model, corpus)
    centers = np.array([vectors.mean(model, t) for t in range(len(model.slices))])
    drawn = [vectors.unit(uncertainty(model.group(name), text).vectors(v) - centers) for name in names]
    estimate = table["similarity"].fill_null(float("nan")).to_numpy()
    low, high = interval(np.einsum("dtk,dtk->dt", *drawn), estimate, factor=OTHER_NOISE)
    ends = {"similarity_low": np.maximum(low, -1), "similarity_high": np.minimum(high, 1)}
    return table.with_columns(pl.Series(name, values).fill_nan(None) for name, values in ends.items())


def two_groups(model: Model, groups: Any) -> tuple[str, str]:
    """Check which groups are compared."""
    if (group := model.provenance.group) is not None:
        raise OptionError(f"The model is that of a group, {checks.quoted(group)}; ask the one that has all groups")
    if not model.groups:
        raise OptionError(
            "The model has no groups; name the column that says who speaks as `group` of `prepare`, and fit again"
        )
    if groups is None:
        named = [name for name in model.groups if name != OTHERS]
        if len(named) != 2:
            raise OptionError(f"The model has {len(model.groups)} groups; name two of them with `groups`")
        return named[0], named[1]
    given = checks.several("groups", groups, remedy="name two groups, such as ('left', 'right')")
    if len(given) != 2:
        raise OptionError(f"`groups` is {checks.shown(groups)}; name two groups of {', '.join(model.groups)}")
    first, second = (model.groups[group_number(model.groups, name)] for name in given)
    if first == second:
        raise OptionError(f"'{first}' is compared with itself; name two different groups")
    return first, second


def _differences(model: Model, names: Sequence[str], chosen: Array) -> Array:
    """Return the cosine distance between the mean vectors of every word in two groups; NaN where one has none."""
    means, observed = [], np.ones(len(model.words), dtype=bool)
    for name in names:
        group = model.group(name)
        weights = np.asarray(group.vocabulary.train_counts, dtype=np.float32)[chosen]
        observed &= weights.any(axis=0)
        weights = weights / np.maximum(weights.sum(axis=0), 1)
        mean = np.zeros((len(model.words), model.alpha.shape[-1]), dtype=np.float32)
        for t, weight in zip(chosen.tolist(), weights, strict=True):
            mean += weight[:, None] * (vectors.slice_vectors(group, t) - vectors.mean(model, t))
        means.append(vectors.unit(mean))
    return np.where(observed, 1 - (means[0] * means[1]).sum(axis=1).astype(np.float64), np.nan)


def _through_time(model: Model, names: Sequence[str], word: str, n: int, min_count: int) -> pl.DataFrame:
    """Compare one word in every slice."""
    v, labels = model.word_id(word), model.slices.labels
    views = [model.group(name) for name in names]
    centers = np.array([vectors.mean(model, t) for t in range(len(labels))])
    pair = [vectors.unit(np.asarray(view.rho_of(v), dtype=np.float64) - centers) for view in views]
    similarity = np.einsum("tk,tk->t", *pair)
    observed = np.all([view.vocabulary.observed[:, v] for view in views], axis=0)
    columns: dict[str, Any] = {
        "slice": labels,
        "similarity": [float(s) if seen else None for s, seen in zip(similarity, observed, strict=True)],
        "count_first": views[0].vocabulary.count(slice(None), v),
        "count_second": views[1].vocabulary.count(slice(None), v),
    }
    for name, view in zip(("first", "second"), views, strict=True):
        seen = view.vocabulary.observed[:, v]
        at = [label for label, here in zip(labels, seen, strict=True) if here]
        near = neighbors(view, word, at=at, n=n, min_count=min_count) if at else pl.DataFrame()
        by_slice = {} if near.is_empty() else dict(near.group_by("slice").agg("word").iter_rows())
        columns[name] = pl.Series(name, [by_slice.get(label) for label in labels], dtype=pl.List(pl.String))
    types = {"count_first": pl.Int64, "count_second": pl.Int64, "similarity": pl.Float64}
    return pl.DataFrame(columns, schema_overrides=types)
