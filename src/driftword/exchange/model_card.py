"""A model card: how a model was made and from what, how well it predicts, how certain it is, and how to cite it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from pathlib import PurePath
from typing import Final

import numpy as np

from driftword.basics import checks
from driftword.basics.tables import escape_markdown, lines_of
from driftword.corpus import Corpus
from driftword.models.model import Model, as_model
from driftword.models.spec import Spec
from driftword.uses.describing import describe

_SENTENCES: Final = 10  # about the words that changed most
_LIMITS: Final = (
    "Neighbours show in which company a word is used. Whether that is a change of meaning, only its passages can tell.",
    "Where a word does not occur in the training text of a slice, its vector is interpolated; answers say so.",
    "Embeddings of rare words are mostly prior: they stay where they were.",
    "A changed use may be a change of who speaks, or of what is spoken about: the test compares documents, and "
    "`within` keeps it inside the values of a column.",
)


def card(
    model: Model | str | os.PathLike[str], *, corpus: Corpus | str | os.PathLike[str] | None = None, score: bool = True
) -> str:
    """Describe a model for those who did not make it, in Markdown.

    Parameters
    ----------
    model
        A model, or its path.
    corpus
        The corpus it was fitted to, or its path; by default where it was then. Without it, the card has no description
        of the text, no score of test text, and no sentences about the words that changed most.
    score
        Whether to score the test text, which takes some seconds.
    """
    model, score = as_model(model), checks.flag("score", score)
    if corpus is None or isinstance(corpus, str | os.PathLike):
        text = model.open_corpus(corpus)
    else:
        text = model.check_corpus(corpus)
    labels = model.slices.labels
    lines = [
        f"# {escape_markdown(model.title)}",
        "",
        f"{model.method.capitalize()} embeddings of {len(model.words):,} words in {len(labels)} "
        f"slice{'s' if len(labels) > 1 else ''}, {escape_markdown(labels[0])} to {escape_markdown(labels[-1])}.",
    ]
    if text is not None:
        facts = {name: value for name, value in text.summary().items() if name != "please cite"}
        lines += ["", "## Text", "", _facts(facts)]
    lines += ["", "## Fit", "", fit_facts(model)]
    if score and text is not None and model.predicts:
        from driftword.fitting.evaluation import evaluate  # Numba loads only where it is used

        if text.has_split("test"):
            row = evaluate(model, corpus=text).row(0, named=True)
            lines += [
                "", "## How well it predicts", "",
                f"Test text: L {row['L']:.4f} ± {row['L_se']:.4f} (standard error over {row['documents']:,} "
                f"documents), L_pos {row['L_pos']:.4f}. L is the mean log-probability of the words that occur, "
                "plus that of random words that do not; higher is better.",
            ]  # fmt: skip
    tested = "Its words have not been tested, so nothing is known about which changes are more than chance."
    if (found := model.significance) is not None:
        tested = (
            f"{found.describe()} {found.permutations:,} permutations of the dates of documents, seed {found.seed}. "
            "How well such tests keep what they promise is measured in driftword's documentation, on other corpora."
        )
    lines += ["", "## How sure it is", "", tested]
    if found is not None and text is not None and np.isfinite(found.strength).any():
        sentences = describe(model, n=_SENTENCES, corpus=text)["sentence"]
        lines += ["", "## What changed most", "", *(f"- {escape_markdown(sentence)}" for sentence in sentences)]
    lines += ["", "## What it cannot tell", ""]
    lines += [f"- {limit}" for limit in _LIMITS]
    lines += ["", "## Cite", "", citation(model), ""]
    return "\n".join(lines)


def fit_facts(model: Model) -> str:
    """Return how a model was fitted, as a table in Markdown."""
    made = {name: value for name, value in model.summary().items() if name not in ("words", "slices", "tested")}
    if (path := model.provenance.corpus_path) is not None:  # its name alone: a card is published
        made["corpus"] = f"{PurePath(path).name} ({model.provenance.corpus})"
    versions = ", ".join(f"{name} {number}" for name, number in model.provenance.versions.items())
    return _facts(made | _chosen(model) | {"versions": versions or "unknown"})


def citation(model: Model) -> str:
    """Return the corpus, options, seed and version behind an answer, as one line to cite."""
    made, spec = model.provenance, model.spec
    texts = f"{model.title}, {model.slices.labels[0]} to {model.slices.labels[-1]}."
    texts += f" {made.citation}." if made.citation else ""
    if made.imported:
        return f"{texts} Imported embeddings, driftword {version('driftword')}."
    if made.method is not None:
        return (
            f"{texts} Embeddings of '{made.method}' (K = {spec.dim}, context {spec.context}, seed {made.seed}), "
            f"driftword {version('driftword')}."
        )
    seed = "" if made.seed is None else f", seed {made.seed}"
    seed += "" if made.shuffled_dates is None else f", dates shuffled with seed {made.shuffled_dates}"
    return (
        f"{texts} {spec.model.capitalize()} Bernoulli embeddings (K = {spec.dim}, context {spec.context}, "
        f"drift precision {spec.drift_precision:g}{seed}), driftword {version('driftword')}."
    )


def bibtex(title: str, cited: str) -> str:
    """Return a citation, as of `citation`, as an entry for BibTeX."""
    name = "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "answer"
    escaped = (re.sub(r"([&%$#_{}])", r"\\\1", text) for text in (title, cited.strip()))
    return "@misc{{driftword-{},\n  title = {{{}}},\n  note = {{{}}}\n}}".format(name, *escaped)


def _facts(facts: Mapping[str, str]) -> str:
    rows = [[name, escape_markdown(value).replace("\n", "; ")] for name, value in facts.items()]
    return lines_of(["", ""], rows, form="markdown")


def _chosen(model: Model) -> dict[str, str]:
    """Return the options that are not the usual ones."""
    usual = Spec()
    changed = {
        one.name: getattr(model.spec, one.name)
        for one in fields(Spec)
        if one.name != "model" and getattr(model.spec, one.name) != getattr(usual, one.name)
    }
    if not model.predicts or not changed:
        return {}
    return {"options that are not the defaults": ", ".join(f"{name} {value}" for name, value in changed.items())}
