"""Would a change have been found? Changes are simulated in the documents that there are, and tested.

In every simulation, some of a word's occurrences since a slice are replaced by those of another word, one that is drawn
from those of similar frequency: a share of them, whatever document they are in. Occurrences that are replaced in the
same document come from the same place of the other word's documents as far as possible, as they depend on each other.
So that nothing else changes, what each document says otherwise gets a random sign, after what all have in common has
been taken away: its noise, its date, its weight and its company in a unit of evidence stay as they are.

The vectors of the model are not fitted again. Beside planted changes of the text, after which they are, this is
measured in docs/how-sure.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from driftword.basics import checks, randomness
from driftword.basics.errors import OptionError
from driftword.basics.jit import compiling_shown
from driftword.basics.process import available_cores
from driftword.basics.progress import progress
from driftword.corpus import Corpus
from driftword.inference import permutation_test, word_tests
from driftword.inference.designs import strata_of, units_of_evidence
from driftword.inference.document_scores import FREQUENT, DocumentScores, Expected, Scores
from driftword.inference.occurrences import Array
from driftword.inference.permutation_test import LEAST_DOCUMENTS, LEAST_WEIGHT, WordDocuments
from driftword.inference.word_tests import TestDesign
from driftword.models.model import Model, as_model, corpus_of

PARTNERS: Final = 20  # words whose use a word takes over, in turn
SIMILAR: Final = 100  # words nearest in frequency that partners are drawn from
_SHARE: Final = "give a share of the occurrences, such as 0.3, or a list of them"
SCHEMA: Final = {
    "word": pl.String, "since": pl.String, "share": pl.Float64, "power": pl.Float64, "effect": pl.Float64,
    "documents_before": pl.Int64, "documents_since": pl.Int64,
}  # fmt: skip


class Occurrences(NamedTuple):
    """What each occurrence of a word says, beyond what is expected."""

    scores: Array  # (n, K) surprising contexts
    surprise: Array  # (n,)


def power(
    model: Model | str | os.PathLike[str],
    words: str | Sequence[str],
    *,
    share: float | Sequence[float] = 1 / 3,
    since: Any = None,
    corpus: Corpus | str | os.PathLike[str] | None = None,
    within: str | None = None,
    clusters: str | None = None,
    level: float = 0.05,
    simulations: int = 200,
    permutations: int = 199,
    seed: int = 0,
    threads: int | None = None,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Say how often a change of some words would have been found, if there had been one.

    A share of a word's occurrences since a slice are replaced by those of other words of similar frequency, many times,
    and each time the word is tested as in `significance`.

    Parameters
    ----------
    model
        A model of any kind, or its path.
    words
        A word, or several.
    share
        The share of its occurrences that the change concerns, or several shares.
    since
        The slice with which the change begins; by default the one that has half of the word's documents before it.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then.
    within, clusters
        As in `significance`.
    level
        A change counts as found if its p is at most this. Among all words a smaller one is needed than of a word that
        is named: as large as the largest p of the words that are significant.
    simulations
        Number of simulated changes; with 200, a power of 0.8 is known to about 0.06 (standard error 0.03).
    permutations
        Number of times that dates are exchanged in each.
    seed
        Seed of the simulations.
    threads
        Number of threads; all cores by default.
    show_progress
        Show a progress bar; by default in a terminal only.

    Returns
    -------
    One row per word and share: word; since; share; power, the share of simulated changes that were found (null where
    the word cannot be tested, or has no documents on one side); effect, the mean of their effects, as `significance`
    gives them; and the number of documents, or of units of evidence, on either side.
    """
    model = as_model(model)
    names = checks.words("words", words)
    ids = [model.word_id(word) for word in names]
    given = [share] if isinstance(checks.plain(share), int | float) else checks.several("share", share, remedy=_SHARE)
    shares = [checks.real("share", one, low=0, high=1) for one in given]
    if not shares:
        raise OptionError(f"`share` is empty; {_SHARE}")
    border = None if since is None else model.slices.index(since)
    permutations = checks.whole("permutations", permutations, least=19, most=1_000_000)
    simulations = checks.whole("simulations", simulations, least=1, most=1_000_000)
    level = checks.real("level", level, low=0, high=1)
    if level < 1 / (1 + permutations):
        raise OptionError(
            f"`level` is {level:g}, but no p is below {1 / (1 + permutations):.3g} with {permutations} permutations; "
            "give more `permutations`"
        )
    seed, threads = checks.seed(seed), checks.threads(threads) or available_cores()
    within = checks.optional(checks.text, "within", within)
    clusters = checks.optional(checks.text, "clusters", clusters)
    text = corpus_of(model, corpus)
    strata = None if within is None else strata_of(text, within)
    design = TestDesign(
        np.arange(len(model.slices)), permutations, seed, strata=strata, clusters=units_of_evidence(text, clusters)
    )
    with progress(show=checks.show_progress(show_progress)) as bar, compiling_shown(bar):
        scores = word_tests.score_documents(model, text, design, threads=threads, bar=bar)
        _ = scores.text.by_word
        counts = np.diff(scores.text.by_word[1])
        bar.stage("simulating changes", total=len(ids))
        rows: list[tuple[Any, ...]] = []

        def simulate(v: int) -> list[tuple[Any, ...]]:
            made = Simulation.of(scores, design, v, counts, border)
            label = model.slices.labels[made.border]
            return [
                (model.words[v], label, one, *made.power(one, simulations, level), *made.documents_per_side)
                for one in shares
            ]

        with word_tests.pool_of(min(threads, word_tests.THREADS)) as pool:
            for done, found in enumerate(pool.map(simulate, ids), 1):
                rows += found
                bar.update(done=done)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


class Simulation(NamedTuple):
    """What changes of one word are made of."""

    v: int
    border: int  # the slice with which they begin
    design: TestDesign
    smoothing: Any
    word: WordDocuments
    expected: Expected
    own: Occurrences
    document: Array  # (n,) that each occurrence is in, numbered as those of the word
    partners: list[Occurrences]

    @classmethod
    def of(cls, scores: DocumentScores, design: TestDesign, v: int, counts: Array, border: int | None) -> Simulation:
        """Collect what is needed: the occurrences of a word, and of others of similar frequency."""
        word = design.documents(scores, v)
        expected = scores.expected(np.array([v]), frequent=word.number >= FREQUENT)[0]
        slice_of = word.scores.slice_of
        if border is None:
            begins = np.unique(slice_of)[1:]
            before = np.searchsorted(np.sort(slice_of), begins)
            border = int(begins[np.argmin(np.abs(before - len(slice_of) / 2))]) if len(begins) else 0
        near = np.argsort(np.abs(np.log1p(counts) - np.log1p(counts[v])), kind="stable")
        near = near[(near != v) & (counts[near] > 0)][:SIMILAR]
        drawn = randomness.bits(randomness.key(design.seed, "power", v), near)
        chosen = near[np.argsort(drawn, kind="stable")[:PARTNERS]]
        own, positions = _occurrences(scores, v, v, expected), scores.text.positions(v)
        mean = own.scores.sum(axis=0) / max(float(own.surprise.sum()), LEAST_WEIGHT)

        def centered(one: Occurrences) -> Occurrences:
            return Occurrences(one.scores - one.surprise[:, None] * mean, one.surprise)

        document = scores.text.chunk_document[scores.text.chunk_of[positions]]
        return cls(
            v, border, design, scores.smoothing, word, expected, centered(own),
            np.searchsorted(word.scores.document, document),
            [centered(_occurrences(scores, int(u), v, expected)) for u in chosen],
        )  # fmt: skip

    @property
    def documents_per_side(self) -> tuple[int, int]:
        """The number of units of evidence before the change, and since; those of both sides count as since."""
        since = self.word.mean_of_units((self.word.scores.slice_of >= self.border).astype(np.float64)) > 0
        return int((~since).sum()), int(since.sum())

    def power(self, share: float, simulations: int, level: float) -> tuple[float | None, float | None]:
        """Return the share of simulated changes that are found, and their mean effect."""
        if self.word.number < LEAST_DOCUMENTS or not min(self.documents_per_side) or not self.partners:
            return None, None
        found, effect = 0, 0.0
        for number in range(simulations):
            word = permutation_test.prepare(
                self.changed(share, number), self.expected, self.smoothing, n_times=self.design.n_times
            )
            if word is None:
                return None, None
            counter = self.v + (number << 32)
            result = permutation_test.run(word, permutations=self.design.permutations, seed=self.design.seed, v=counter)
            found += result.p <= level
            effect += result.effect
        return found / simulations, effect / simulations

    def changed(self, share: float, number: int) -> WordDocuments:
        """Return the word's documents after a change of a share of its occurrences; others say nothing new."""
        word, own, partner = self.word, self.own, self.partners[number % len(self.partners)]
        scores, n = word.scores, len(word.scores.document)
        seed = self.design.seed
        random = randomness.uniform(randomness.key(seed, "power", self.v, number), np.arange(len(self.document)))
        replaced = (scores.slice_of[self.document] >= self.border) & (random < share)
        unit = np.arange(n) if word.units is None else word.units
        signs = 1 - 2.0 * (randomness.bits(randomness.key(seed, "power", self.v, number, 1), unit) & np.uint64(1))
        kept = np.flatnonzero(~replaced)
        contexts, weights = _by_document(own, kept, self.document[kept], n)
        contexts *= signs[:, None]
        # Consecutive ones from any place on: most of them are of the same document.
        at = np.flatnonzero(replaced)
        document = self.document[at]
        order = np.arange(len(at)) - np.searchsorted(document, document)
        begin = randomness.uniform(randomness.key(seed, "power", self.v, number, 2), np.arange(n))
        taken = ((begin * len(partner.surprise)).astype(np.int64)[document] + order) % len(partner.surprise)
        more, weight = _by_document(partner, taken, document, n)
        weights = weights + weight
        contexts += more + weights[:, None] * self.expected.mean[scores.slice_of]
        made = Scores(scores.document, scores.slice_of, contexts, weights)
        return WordDocuments(made, word.time, word.strata, word.units)


def _by_document(one: Occurrences, chosen: Array, document: Array, n: int) -> tuple[Array, Array]:
    """Sum some occurrences by the documents that they are in, or are put into."""
    sums = np.zeros((n, one.scores.shape[1]))
    if len(chosen):
        begin = np.flatnonzero(np.diff(document, prepend=-1))
        sums[document[begin]] = np.add.reduceat(one.scores[chosen], begin, axis=0)
    return sums, np.bincount(document, one.surprise[chosen], minlength=n)


def _occurrences(scores: DocumentScores, u: int, v: int, expected: Expected) -> Occurrences:
    """Return what the occurrences of word u would say if they were of word v."""
    positions = scores.text.positions(u)
    contexts, surprise = scores.of_positions(positions, v)
    document = scores.text.chunk_document[scores.text.chunk_of[positions]]
    contexts -= expected.mean[scores.text.slice_of[document]]
    return Occurrences(contexts * surprise[:, None], surprise)
