"""Changes of meaning planted in real text: the only ones of which everything is known.

The dates of a corpus's documents are permuted, so that nothing changes over time. Then words of four bands of frequency
are *exchanged* in pairs: two equally frequent words take each other's places, gradually, abruptly or temporarily. Both
change their meaning, and neither its frequency. As many words are *thinned*: by the same schedules they lose most of
their occurrences. Their frequency changes, and their meaning does not.

A word that occurs beside many exchanged words, or often beside one of them, sees its contexts change. It is neither
wanted nor a false call, and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.corpus import Corpus, Slices

Array = npt.NDArray[Any]
KINDS: Final = ("gradual", "abrupt", "temporary")
TEMPORARY: Final = KINDS.index("temporary")
BANDS: Final = ((100, 300), (300, 1_000), (1_000, 3_000), (3_000, 10_000))  # occurrences in the whole corpus
GROUPS: Final = 30  # in each band: two exchanged words and a thinned one
THINNING: Final = 0.7  # largest share of its occurrences that a thinned word loses
CROWDED: Final = 3  # times the mean share of exchanged words in contexts, from which on a word is left out
BESIDE: Final = 0.1  # of its occurrences beside the same exchanged word, from which on a word is left out
OFTEN: Final = 5  # such occurrences are needed for that, at least
WINDOW: Final = 4  # words on either side that count as context for that


@dataclass(frozen=True)
class Planted:
    """Words by what was done to them."""

    changed: Array  # exchanged words; partners stand side by side
    kind: Array  # of each
    band: Array  # of each
    thinned: Array
    thinned_band: Array
    crowded: Array  # (V,) whether a word stands beside many exchanged ones

    @property
    def partner(self) -> Array:
        """The other word of each pair."""
        return self.changed.reshape(-1, 2)[:, ::-1].ravel()

    @property
    def lasts(self) -> Array:
        """Which exchanges last until the end."""
        return np.asarray(self.kind != TEMPORARY)


def share_moved(kind: int, n_slices: int, abrupt: float = 0.5) -> Array:
    """Return the share of occurrences that are exchanged, or at risk of being thinned, in each slice."""
    time = np.arange(n_slices) / max(n_slices - 1, 1)
    if KINDS[kind] == "gradual":
        return time
    if KINDS[kind] == "abrupt":
        return (time > abrupt).astype(float)
    return ((time > 1 / 3) & (time < 2 / 3)).astype(float)


def choose_words(counts: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Choose words in every band of frequency, as many as the vocabulary has room for."""
    columns: dict[str, list[int]] = {name: [] for name in ("changed", "kind", "band", "thinned", "thinned_band")}
    for b, (low, high) in enumerate(BANDS):
        in_band = np.flatnonzero((counts >= low) & (counts < high))
        groups = len(in_band) // 4
        # Groups of four neighbours in frequency: a pair, one to thin, one to leave alone.
        ranked = in_band[np.argsort(counts[in_band], kind="stable")][: groups * 4].reshape(groups, 4)
        ranked = rng.permuted(ranked, axis=1)[rng.permutation(groups)[:GROUPS]]
        kind = np.arange(len(ranked)) % len(KINDS)
        columns["changed"] += ranked[:, :2].ravel().tolist()
        columns["kind"] += np.repeat(kind, 2).tolist()
        columns["band"] += [b] * (2 * len(ranked))
        columns["thinned"] += ranked[:, 2].tolist()
        columns["thinned_band"] += [b] * len(ranked)
    return {name: np.array(values, dtype=np.int64) for name, values in columns.items()}


def joined(slices: Slices, join: int) -> Slices:
    """Return slices that each join several consecutive ones."""
    begin = range(0, len(slices), join)
    end = [min(t + join, len(slices)) - 1 for t in begin]
    labels = [
        slices.labels[a] if a == b else f"{slices.labels[a]} to {slices.labels[b]}"
        for a, b in zip(begin, end, strict=True)
    ]
    return Slices(tuple(labels), tuple(slices.first[a] for a in begin), tuple(slices.last[b] for b in end))


def join_slices(corpus: Corpus, join: int, *, out: Path | None = None) -> Corpus:
    """Return a corpus in which several consecutive slices are one, without its documents."""
    chunk_slice = np.asarray(corpus.chunk_slice) // join
    options = {"subsample": corpus.subsample, "seed": corpus.seed, "out": out}
    return _remade(corpus, np.asarray(corpus.tokens), np.asarray(corpus.offsets), chunk_slice, join, **options)


def _remade(corpus: Corpus, tokens: Array, offsets: Array, chunk_slice: Array, join: int, **options: Any) -> Corpus:
    """Return a corpus with the words, splits and documents of another, and slices that each join several of its."""
    return Corpus.from_ids(
        corpus.words,
        tokens,
        offsets,
        chunk_slice=chunk_slice,
        chunk_split=corpus.chunk_split,
        slices=joined(corpus.slices, join),
        chunk_document=corpus.chunk_document,
        **options,
    )


def plant(
    corpus: Corpus, *, join: int, subsample: float | str | None, seed: int, changes: bool = True, abrupt: float = 0.5,
    share: float = 1, out: Path | None = None,
) -> tuple[Corpus, Planted]:  # fmt: skip
    """Return the corpus with permuted dates and, if wanted, planted changes of a share of the occurrences."""
    rng = np.random.default_rng(seed)
    n_slices = -(-len(corpus.slices) // join)
    documents, first = np.unique(corpus.chunk_document, return_index=True)
    document_slice = rng.permutation(np.asarray(corpus.chunk_slice)[first] // join)
    chunk_slice = document_slice[np.searchsorted(documents, corpus.chunk_document)]
    tokens, offsets = np.array(corpus.tokens, dtype=np.int64), np.asarray(corpus.offsets)
    chosen = choose_words(np.bincount(tokens, minlength=len(corpus.words)), rng)
    planted = Planted(**chosen, crowded=crowded(tokens, offsets, len(corpus.words), chosen["changed"]))
    if changes:
        shares = np.stack([share_moved(kind, n_slices, abrupt) for kind in range(len(KINDS))])
        token_slice = np.repeat(chunk_slice, np.diff(offsets))

        def drawn(words: Array, kinds: Array, factor: float) -> Array:
            """Return the occurrences of words that are chosen by their schedules."""
            kind_of = np.full(len(corpus.words), -1)
            kind_of[words] = kinds
            positions = np.flatnonzero(kind_of[tokens] >= 0)
            risk = factor * shares[kind_of[tokens[positions]], token_slice[positions]]
            return np.asarray(positions[rng.random(len(positions)) < risk])

        partner = np.arange(len(corpus.words))
        partner[planted.changed] = planted.partner
        exchanged = drawn(planted.changed, planted.kind, share)
        tokens[exchanged] = partner[tokens[exchanged]]
        lost = drawn(planted.thinned, planted.kind[::2], THINNING)
        kept = np.ones(len(tokens), dtype=bool)
        kept[lost] = False
        tokens, offsets = tokens[kept], np.r_[0, np.cumsum(kept)][offsets]
    return _remade(corpus, tokens, offsets, chunk_slice, join, subsample=subsample, seed=seed, out=out), planted


def crowded(tokens: Array, offsets: Array, n_words: int, changed: Array) -> Array:
    """Tell which words have many of the `changed` ones in their contexts, or often one of them: these change, too."""
    number = np.full(n_words, -1)
    number[changed] = np.arange(len(changed))
    chunk = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    here = np.flatnonzero(number[tokens] >= 0)  # where exchanged words occur
    beside = np.zeros((n_words, len(changed)), dtype=np.int64)
    for distance in (d for k in range(1, WINDOW + 1) for d in (-k, k)):
        near = here + distance
        inside = (near >= 0) & (near < len(tokens))
        near, at = near[inside], here[inside]
        same = chunk[near] == chunk[at]
        pairs = tokens[near[same]] * len(changed) + number[tokens[at[same]]]
        beside += np.bincount(pairs, minlength=beside.size).reshape(beside.shape)
    occurrences = np.maximum(np.bincount(tokens, minlength=n_words), 1)
    share = beside.sum(axis=1) / occurrences
    many = share > CROWDED * (share * occurrences).sum() / len(tokens)
    return np.asarray(many | (beside.max(axis=1, initial=0) > np.maximum(BESIDE * occurrences, OFTEN)))
