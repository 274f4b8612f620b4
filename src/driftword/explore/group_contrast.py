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
from driftword.corpus.groups import group_number
from driftword.explore import vectors
from driftword.explore.intervals import CorpusLike, uncertainty, with_interval
from driftword.explore.nearest_neighbors import neighbors_by_slice
from driftword.explore.usage_distances import usage_contrast
from driftword.explore.vectors import MIN_COUNT, Array
from driftword.models.model import Model, corpus_of, two_groups
from driftword.models.significance_table import LEVEL
from driftword.models.usage import Usage, as_source

_PERIOD = "give a slice, such as 1990, or the first and the last of a period, such as (1970, 1989)"


def contrast(
    model: Model | Usage | str | os.PathLike[str],
    words: str | Sequence[str] | None = None,
    *,
    word: str | None = None,
    groups: Sequence[str] | None = None,
    at: Any = None,
    over_time: bool = False,
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
        A model with groups (see `prepare`), or its path; or vectors of occurrences in a corpus with groups.
    words
        Rank only these words; by default all.
    word
        A word to follow through time; None ranks words.
    groups
        Two groups; by default the two that the model has, if it has no others.
    at
        A slice, or a period given by its first and its last slice, to which a ranking is limited; by default all.
    over_time
        Test instead whether the difference between the groups changed over time: what both groups have in common in
        each slice does not count, and neither does a difference that stays as it is.
    n
        Number of words, or of neighbours of the word in each group.
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
    Without a word: one row per word, significant ones first, by the lower end of their effect: word; difference,
    the cosine distance between its mean vectors in the two groups; effect, low, high, p and q as in `significance`, of
    the groups instead of time; count_first and count_second, how often each group uses it, and documents. With
    `over_time`, these are of the change of the difference, and difference_early and difference_late, those of the first
    and of the second half of the slices, take the place of difference.

    With a word: one row per slice: slice; similarity, the cosine between its vectors in the two groups (null where one
    of them does not use it in training text); count_first and count_second; and first and second, its neighbours in
    each group. With intervals also similarity_low and similarity_high, for which all text is taken as it is.
    """
    model = as_source(model)
    over_time = checks.flag("over_time", over_time)
    if isinstance(model, Usage):
        if word is not None or intervals or device is not None:
            raise OptionError("Of vectors of occurrences, words are ranked; leave out `word`, `intervals` and `device`")
        return usage_contrast(
            model, words, groups=groups, at=at, over_time=over_time, n=n, min_count=min_count,
            permutations=permutations, seed=seed, threads=threads, corpus=corpus,
        )  # fmt: skip
    names = two_groups(model, groups)
    n, min_count = checks.whole("n", n, least=1), checks.whole("min_count", min_count)
    intervals = checks.flag("intervals", intervals)
    if word is not None:
        if at is not None or words is not None or over_time:
            raise OptionError(
                "A single word is followed through all slices; leave out `at`, `words` and `over_time`, or `word`"
            )
        v = model.word_id(word)
        table = _through_time(model, names, v, n, min_count)
        if not intervals:
            return table
        text, means = corpus_of(model, corpus), vectors.means(model)
        drawn = (vectors.unit(uncertainty(model.group(name), text).vectors(v) - means) for name in names)
        return with_interval(table, "similarity", np.einsum("dtk,dtk->dt", *drawn), most=1)
    named = None if words is None else [model.word_id(one) for one in checks.words("words", words)]
    permutations = checks.whole("permutations", permutations, least=19, most=1_000_000)
    seed, threads = checks.seed(seed), checks.threads(threads) or available_cores()
    from driftword.inference import word_tests  # Numba loads only where it is used
    from driftword.inference.designs import slices_of_period, units_of_evidence

    n_slices = len(model.slices)
    chosen = np.arange(n_slices) if at is None else slices_of_period(model, at, option="at", remedy=_PERIOD)
    if over_time and len(chosen) < 2:
        raise OptionError(
            "A difference changes over several slices; leave out `over_time`, or give a longer period as `at`"
        )
    text = corpus_of(model, corpus)
    counts = [np.asarray(model.group(name).counts)[chosen].sum(axis=0, dtype=np.int64) for name in names]
    enough = np.minimum(*counts) >= max(min_count, 1)
    tested = np.flatnonzero(enough) if named is None else np.unique(named)
    if not len(tested):
        raise OptionError(
            f"No word occurs {max(min_count, 1)} times in both groups; lower `min_count`, or compare a longer period"
        )
    # The slices of the first group, and after them those of the second: documents of a slice exchange their groups.
    group_of, slice_of = np.asarray(text.chunk_group), np.asarray(text.chunk_slice)
    first, second = (group_number(model.groups, name) for name in names)
    cell = np.where(group_of == second, slice_of + n_slices, slice_of)
    cell = np.where(np.isin(slice_of, chosen) & np.isin(group_of, (first, second)), cell, -1)
    design = word_tests.TestDesign(
        np.repeat([0, 1], n_slices), permutations, seed, cells=cell,
        strata_of_slice=np.tile(np.arange(n_slices) - chosen[0], 2), clusters=units_of_evidence(text),
        parting=over_time,
    )  # fmt: skip
    place = word_tests.torch_device(engine, device)
    with progress(show=checks.show_progress(show_progress)) as bar:
        scores = word_tests.score_documents(model, text, design, threads=threads, bar=bar, device=place)
        found = word_tests.run_tests(scores, tested, design, threads=threads, bar=bar)
    half = (len(chosen) + 1) // 2
    compared = {"difference": chosen}
    if over_time:
        compared = {"difference_early": chosen[:half], "difference_late": chosen[half:]}
    table = word_tests.results_table(model, found, of_all=named is None).with_columns(
        *(_differences(model, names, slices, tested).alias(name) for name, slices in compared.items()),
        count_first=pl.Series(counts[0][tested]),
        count_second=pl.Series(counts[1][tested]),
    )
    significant = (pl.coalesce("q", "p") <= LEVEL).fill_null(value=False)
    size = pl.when(significant).then("low").otherwise("effect" if over_time else "difference")
    table = table.sort(significant, size, descending=True, nulls_last=True, maintain_order=True)
    columns = ("word", *compared, "effect", "low", "high", "p", "q", "count_first", "count_second", "documents")
    return table.select(*columns).head(n)


def _differences(model: Model, names: Sequence[str], chosen: Array, words: Array) -> pl.Series:
    """Return the cosine distance between the mean vectors of words in two groups; null where one has none."""
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
    distance = np.where(observed, 1 - (means[0] * means[1]).sum(axis=1).astype(np.float64), np.nan)
    return pl.Series(distance[words]).fill_nan(None)


def _through_time(model: Model, names: Sequence[str], v: int, n: int, min_count: int) -> pl.DataFrame:
    """Compare one word in every slice."""
    views = [model.group(name) for name in names]
    seen = [view.vocabulary.observed[:, v] for view in views]
    means = vectors.means(model)
    pair = (vectors.unit(np.asarray(view.rho_of(v), dtype=np.float64) - means) for view in views)
    similarity = np.where(seen[0] & seen[1], np.einsum("tk,tk->t", *pair), np.nan)
    columns: dict[str, Any] = {
        "slice": model.slices.labels,
        "similarity": pl.Series(similarity).fill_nan(None),
        "count_first": vectors.counts(views[0], slice(None), v),
        "count_second": vectors.counts(views[1], slice(None), v),
    }
    for name, view, here in zip(("first", "second"), views, seen, strict=True):
        columns[name] = neighbors_by_slice(view, v, np.flatnonzero(here).tolist(), n, min_count=min_count)
    return pl.DataFrame(columns)
