"""New slices for a fitted model: what was there stays as it was, byte for byte."""

from __future__ import annotations

import functools
import os
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.process import versions
from driftword.basics.progress import Progress, progress
from driftword.corpus import Corpus
from driftword.corpus.from_ids import KIND as CORPUS
from driftword.engines import choose_engine, make_engine
from driftword.engines.parameters import INTERCEPT_UNIT, by_slice, join_intercepts, split_intercepts
from driftword.engines.prior import Chain, Prior
from driftword.fitting.continuation import continue_fit
from driftword.fitting.held_out import initial_intercepts
from driftword.fitting.job import StartEngine
from driftword.fitting.schedule import Schedule
from driftword.models.model import KIND, Model, as_model, corpus_of
from driftword.preparing.extension import extend_corpus
from driftword.storage import store
from driftword.storage.atomic_writes import reserved

Array = npt.NDArray[Any]
RATE: Final = 0.25  # of the learning rate: slices start from the last one before
NEW_WORD_PASSES: Final = 2  # over all of the new text as one slice, in which new words find their places


def extend(
    model: Model | str | os.PathLike[str],
    source: Any,
    *,
    out: str | os.PathLike[str],
    corpus_out: str | os.PathLike[str] | None = None,
    text: str | None = None,
    time: str | None = None,
    refit_from: str | int | date | None = None,
    passes: int = 4,
    seed: int = 0,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> Model:
    """Add new documents to a model, in slices after those it has; what was there stays as it was.

    The new text is prepared as the old was, with the same words, phrases and options. Words that are new and frequent
    enough join at the end of the vocabulary. Embeddings and context vectors of all old slices stay, so that what was
    published stays true. Those of new slices go on from the last old one; the new slices share context vectors.

    Parameters
    ----------
    model
        A dynamic model, or its path; its corpus must still be there.
    source
        The new documents, as in `prepare`; all must be later than the last slice of the model, or than those that
        stay with `refit_from`.
    out
        Directory to write the longer model to.
    corpus_out
        Directory to write the longer corpus to; by default beside the model, with the ending ``.corpus``.
    text, time
        Names of the columns; by default those of the old documents.
    refit_from
        A slice (label, year or date) from which on the slices are fitted again, with new documents among them; only
        those before it stay as they are.
    passes
        Maximum number of passes over the text of the slices that are fitted.
    seed, threads, engine, device, show_progress
        As in `fit`.
    overwrite
        Replace a model and a corpus that are already there.
    """
    model, source = as_model(model), checks.plain(source)
    if isinstance(source, str | os.PathLike):
        checks.location("source", source)
    out, overwrite = checks.path("out", out), checks.flag("overwrite", overwrite)
    text, time = (checks.optional(checks.text, n, v, lines=True) for n, v in (("text", text), ("time", time)))
    passes, seed, threads = checks.whole("passes", passes, least=1), checks.seed(seed), checks.threads(threads)
    show_progress = checks.show_progress(show_progress)
    target = out.with_suffix(".corpus") if corpus_out is None else checks.path("corpus_out", corpus_out)
    if out.resolve() == target.resolve():
        raise OptionError(f"`out` and the corpus would both be '{out}'; name another directory with `corpus_out`")
    if model.groups or model.provenance.group is not None:
        raise OptionError("A model with groups cannot be extended; prepare and fit all of its documents again")
    if model.spec.model != "dynamic" or not model.moves:
        raise OptionError("Only a dynamic model can be extended; fit the others again")
    name = choose_engine(engine, device)
    old = corpus_of(model)
    if model.path is not None and out.resolve() == Path(model.path).resolve():
        raise OptionError("`out` is the model itself, which stays as it is; name another directory")
    if old.path is not None and target.resolve() == Path(old.path).resolve():
        raise OptionError(
            f"The longer corpus would take the place of '{target}', which stays as it is; name another directory with "
            "`corpus_out`"
        )
    store.check_free(out, kind=KIND, overwrite=overwrite)
    kept = len(model.slices) if refit_from is None else model.slices.index(refit_from)  # slices that stay
    if not kept:
        raise OptionError("No slice would stay as it is; prepare and fit all documents again")
    options = old.options
    with reserved(out), progress(show=show_progress) as bar:
        store.check_free(out, kind=KIND, overwrite=overwrite)
        store.check_free(target, kind=CORPUS, overwrite=overwrite)
        fresh = not target.exists()
        longer = extend_corpus(
            old, source, out=target, text=text or options.text, time=time or options.time, first=kept, threads=threads,
            overwrite=overwrite, bar=bar,
        )  # fmt: skip
        added = longer.report.documents - old.report.documents
        try:
            extension = _Extension(model, longer, kept, passes=passes, seed=seed)
            start_engine = functools.partial(make_engine, name, threads=threads, device=device)
            found = extension.fit(start_engine, bar)
            return extension.join(*found, name, documents=added).save(out, overwrite=overwrite)
        except BaseException:
            if fresh:  # a corpus without its model would be in the way of another try
                shutil.rmtree(target, ignore_errors=True)
            raise


class _Extension:
    """Fits the slices of a corpus after the first `kept` ones, which stay as they are in a model."""

    def __init__(self, model: Model, corpus: Corpus, kept: int, *, passes: int, seed: int) -> None:
        self.model, self.corpus = model, corpus
        self.n_slices, self.n_words = kept, len(model.words)
        self.new = corpus.from_slice(kept)
        distances = corpus.slices.distances
        # The unit of time is that of the model, or its walk would change.
        unit = {"span": model.slices.distances.sum(), "year": 1.0, "slice": distances}[model.spec.drift_unit]
        self.steps = unit / distances
        self.schedule = Schedule(model.spec, passes + 1, self.new.slices.distances, seed, None)

    def fit(self, start_engine: StartEngine, bar: Progress) -> tuple[Array, Array]:
        """Return embeddings, as engines keep them, and context vectors of the slices that are fitted."""
        spec, frozen = self.model.spec, self.n_words
        go_on = functools.partial(continue_fit, self.new, start_engine=start_engine, bar=bar)
        rho, alpha = self._start()
        if len(alpha) > frozen:  # new words get embeddings and context vectors that hold for all of the new text
            own = Chain.independent(spec.prior)
            prior = Prior(own, own, Chain.independent(0.0))
            passes = min(self.schedule.passes, NEW_WORD_PASSES + 1)
            one = Schedule(spec, passes, np.zeros(0), self.schedule.seed, None)
            found, contexts, _ = go_on(one, (rho[None], alpha), prior, frozen=frozen, rate=1.0, title="new words")
            rho[frozen:], alpha[frozen:] = found[0, frozen:], contexts[frozen:]
        n_new = len(self.new.slices)
        center = np.repeat(rho[None], n_new, axis=0)
        begin = center.copy()
        begin[: len(self.model.slices) - self.n_slices, :frozen] = self._embeddings()[1:]
        contexts = np.repeat(alpha[None], n_new, axis=0) if spec.contexts_drift else alpha
        prior = self._prior(center, alpha)
        return go_on(self.schedule, (begin, contexts), prior, frozen=0, rate=RATE, title="new slices")[:2]

    def _embeddings(self) -> Array:
        """Return the embeddings of the last slice that stays, and of later ones, as engines keep them."""
        model, last = self.model, slice(self.n_slices - 1, None)
        intercepts = None if model.intercepts is None else model.intercepts[last]
        return join_intercepts(np.asarray(model.rho[last], dtype=np.float32), intercepts)

    def _start(self) -> tuple[Array, Array]:
        """Return the embeddings of the last slice that stays, and its context vectors, with those of new words."""
        alpha, n_new = self.model.alpha_at(self.n_slices - 1), len(self.corpus.words) - self.n_words
        intercepts = initial_intercepts(self.new, self.model.spec)
        fresh = self.schedule.initial_parameters(n_new, None if intercepts is None else intercepts[self.n_words :])
        rows = ([self._embeddings()[0], fresh.rho[0]], [alpha, fresh.alpha])
        rho, alpha = (np.concatenate(parts).astype(np.float32) for parts in rows)
        return rho, alpha

    def _prior(self, center: Array, alpha: Array) -> Prior:
        """Return the walk on from the last slice.

        The new slices share context vectors of their own, near the old ones: with those, embeddings alone would have
        to make up for all that is new. Where context vectors drift, they go on drifting.
        """
        spec, n = self.model.spec, self.n_slices
        walk, intercept_walk = spec.drift_precision * self.steps, spec.intercept_walk * INTERCEPT_UNIT**2 * self.steps
        first = np.arange(len(center)) == 0
        chain = Chain(np.where(first, walk[n - 1], 0) + spec.prior / n, walk[n:])
        return Prior(
            alpha=chain if spec.contexts_drift else Chain.independent(spec.prior),
            rho=chain,
            intercept=Chain(np.where(first, intercept_walk[n - 1], 0), intercept_walk[n:]),
            center=center,
            alpha_center=alpha,
        )

    def join(self, rho: Array, alpha: Array, engine: str, *, documents: int) -> Model:
        """Return the longer model: the slices that stay, and then those that were fitted."""
        model, corpus, kind = self.model, self.corpus, np.asarray(self.model.rho).dtype
        rho, intercepts = split_intercepts(rho.astype(kind), alpha.shape[-1])
        if intercepts is not None and model.intercepts is not None:
            intercepts = _one_after_the_other(model.intercepts[: self.n_slices], intercepts)
        context_of = model.context_of[: self.n_slices]
        contexts = by_slice(model.alpha)[: context_of.max() + 1]
        own = np.arange(len(rho)) if model.spec.contexts_drift else np.zeros(len(rho), dtype=np.int64)
        labels = self.new.slices.labels
        added = f"{labels[0]} to {labels[-1]}" if len(labels) > 1 else labels[0]
        added += f" ({documents:,} documents, driftword {versions()['driftword']})"
        provenance = replace(
            model.provenance, corpus=corpus.fingerprint, corpus_path=corpus.location, engine=engine,
            extended=(*model.provenance.extended, added),
        )  # fmt: skip
        return Model(
            _one_after_the_other(model.rho[: self.n_slices], rho),
            _one_after_the_other(contexts, by_slice(alpha.astype(kind))), intercepts,
            vocabulary=corpus.vocabulary, spec=model.spec, provenance=provenance, history=model.history,
            best_pass=model.best_pass, context_of=np.r_[context_of, len(contexts) + own].tolist(),
        )  # fmt: skip


def _one_after_the_other(old: Array, new: Array) -> Array:
    """Put old slices before new ones; in them, a new word has the values of the first new slice."""
    longer = np.repeat(new[:1], len(old), axis=0)
    longer[:, : old.shape[1]] = old
    return np.concatenate([longer, new])
