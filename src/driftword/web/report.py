"""The report: the explorer's pages of some words in one file that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import polars as pl
from markupsafe import Markup

from driftword import explore, store
from driftword.corpus import Corpus
from driftword.corpus.passages import find_in_every_slice
from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.model import Model
from driftword.progress import progress
from driftword.web import pages
from driftword.web.draw import STATIC
from driftword.web.rendering import templates

MOST_WORDS: Final = 1000
_NEAR: Final = 8  # neighbours that show in every slice
_LINES: Final = 16_000  # lines of the texts in the whole report, some 5 MB
_FEWEST, _EACH = 40, 5  # lines of a word in any case, and from any one slice


def write_report(
    model: Model,
    out: str | os.PathLike[str],
    *,
    corpus: Corpus | None = None,
    words: Sequence[str] = (),
    n: int = 50,
    between: tuple[At, At] | None = None,
    metric: str = "absolute",
    min_count: int = 5,
    skip: int = 0,
    title: str | None = None,
    passages: bool = True,
    show_progress: bool | None = None,
) -> Path:
    """Write one HTML file with the start page and the pages of the words that changed most.

    Parameters
    ----------
    model
        A dynamic or binned model; of a static one, name the words.
    out
        File to write.
    corpus
        Its corpus, for the texts behind each word.
    words
        Words that must be in it.
    n
        How many of the most changed words, beside them.
    between
        Two slices between which they changed; by default the first and the last with enough text (`explore.ends`).
    metric, min_count, skip
        As in `explore.drift`.
    title
        What to call the texts; by default the name of the corpus.
    passages
        Whether to hold lines of the texts, which may be under copyright.
    show_progress
        Show a progress bar; by default where standard error is a terminal.
    """
    if not 0 <= n <= MOST_WORDS:
        raise OptionError(f"n is {n}; a report holds 0 to {MOST_WORDS} words")
    chosen = [model.words[model.word_id(word)] for word in words]
    options: dict[str, Any] = {"metric": metric, "min_count": min_count, "skip": skip}
    begin = end = None
    if len(model.rho) > 1:
        begin, end = (model.slices.labels[model.slices.index(at)] for at in between or explore.ends(model))
        if n:
            chosen += explore.drift(model, n=n, between=(begin, end), **options)["word"].to_list()
    chosen = list(dict.fromkeys(chosen))
    if not chosen:
        raise OptionError("the report would hold no word; name some with --words, or ask for more with -n")
    held: list[dict[str, Any]] = []
    most = max(_LINES // len(chosen), _FEWEST)
    with progress(show=show_progress) as bar:
        lines: dict[str, pl.DataFrame] = {}
        if passages and corpus is not None:
            each = min(max(1, most // len(model.slices)), _EACH)
            lines = find_in_every_slice(corpus, chosen, each=each, width=pages.WIDTH, bar=bar)
        bar.stage("writing the pages", total=len(chosen))
        for done, word in enumerate(chosen, 1):
            page = pages.word(model, word)
            held.append(page | {"passages": _lines(lines.get(word), page["chosen"], most)})
            bar.update(done=done, facts=word)
    text = _render(model, title, held, pages.start(model, begin, end, n=min(max(n, 1), pages.MOST_ROWS), **options))
    path = Path(out)
    with store.replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def _lines(found: pl.DataFrame | None, chosen: Sequence[str], most: int) -> list[dict[str, Any]]:
    """Return lines of the texts: those from slices that are shown at first, and as many others as there is room for."""
    if found is None:
        return []
    if found.height > most:
        places = pl.int_range(pl.len())
        evenly = (places * most // found.height).diff().fill_null(1) > 0
        found = found.filter(evenly | pl.col("slice").is_in(chosen))
    return pages.lines_of(found)


def _render(model: Model, title: str | None, held: list[dict[str, Any]], start: dict[str, Any]) -> str:
    included = {page["word"] for page in held}
    style, script = (
        "".join((STATIC / name).read_text(encoding="utf-8") for name in names)
        for names in (("figure.css", "style.css", "report.css"), ("figures.js", "report.js"))
    )

    def link(word: str) -> Markup | str:
        return Markup('<a href="#{}">{}</a>').format(quote(_name(word)), word) if word in included else word

    shell = templates(model, title=title, live=False, link=link, anchor=_name, has_corpus=True, slice_href=None)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; base-uri 'none'"
    )
    page = shell.get_template("_word.html")
    shown = [
        (one["word"], Markup(page.render(**one, text="", keep=lambda _, word=one["word"]: "#" + quote(_name(word)))))
        for one in held
    ]
    return str(
        shell.get_template("report.html").render(
            **start, pages=shown, data=Markup(_data(model, held)), style=Markup(style), script=Markup(script),
            policy=policy,
        )
    )  # fmt: skip


def _data(model: Model, held: list[dict[str, Any]]) -> str:
    """Return as JSON what is near to every word in every slice, for readers who point at one."""
    words = [page["word"] for page in held]
    near: dict[str, list[list[int] | None]] = {word: [None] * len(model.slices) for word in words}
    place = {label: t for t, label in enumerate(model.slices.labels)}
    number: dict[str, int] = {}
    for label, word, others in explore.neighborhoods(model, words, n=_NEAR).iter_rows():
        near[word][place[label]] = [number.setdefault(other, len(number)) for other in others]
    data = {
        "labels": model.slices.labels,
        "words": list(number),
        "pages": {page["word"]: {"counts": page["counts"], "near": near[page["word"]]} for page in held},
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _name(word: str) -> str:
    """Return the name of a word's page within the file."""
    return "word-" + quote(word, safe="")
