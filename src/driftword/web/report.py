"""The report: the explorer's pages of some words in one file that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import vl_convert
from markupsafe import Markup

from driftword import explore, plot, store
from driftword.corpus import Corpus
from driftword.errors import OptionError
from driftword.model import Model
from driftword.progress import progress
from driftword.web import pages

STATIC: Final = Path(__file__).parent / "static"
MOST_WORDS: Final = 1000
_LONG: Final = re.compile(r"(\.\d\d)\d+")
_SPOKEN: Final = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')  # the picture as a whole has a text


def write_report(
    model: Model,
    out: str | os.PathLike[str],
    *,
    corpus: Corpus | None = None,
    words: Sequence[str] = (),
    n: int = 50,
    metric: str = "absolute",
    min_count: int = 5,
    skip: int = 0,
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
    metric, min_count, skip
        As in `explore.drift`.
    passages
        Whether to hold lines of the texts, which may be under copyright.
    show_progress
        Show a progress bar; by default where standard error is a terminal.
    """
    if not 0 <= n <= MOST_WORDS:
        raise OptionError(f"n is {n}; a report holds 0 to {MOST_WORDS} words")
    chosen = [model.words[model.word_id(word)] for word in words]
    shown = {"metric": metric, "min_count": min_count, "skip": skip}
    if n and len(model.rho) > 1:
        chosen += explore.drift(model, n=n, metric=metric, min_count=min_count, skip=skip)["word"].to_list()
    chosen = list(dict.fromkeys(chosen))
    if not chosen:
        raise OptionError("the report would hold no word; name some with --words, or ask for more with -n")
    with progress(show=show_progress) as bar:
        bar.stage("writing the report", total=len(chosen))
        held: list[dict[str, Any]] = []
        pictures: dict[tuple[str, str], str] = {}
        for done, word in enumerate(chosen, 1):
            page = pages.word(model, corpus if passages else None, word, at=[], n=10)
            page["passages"] = _texts(corpus, page) if passages else []
            held.append(page)
            if page["moving"]:
                pictures |= {(word, kind): _picture(model, word, kind) for kind in ("trajectory", "frequency")}
            bar.update(done=done, facts=word)
        text = _render(model, corpus, held, pictures, shown)
    path = Path(out)
    with store.replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def _texts(corpus: Corpus | None, page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a few lines from each of the slices whose neighbours are shown."""
    return [row for label in page["chosen"] for row in pages.passages(corpus, page["word"], label, n=3)]


def _picture(model: Model, word: str, kind: str) -> str:
    """Return a figure as an address that holds it."""
    svg = vl_convert.vegalite_to_svg(getattr(plot, kind)(model, word).to_dict())
    svg = _SPOKEN.sub("", _LONG.sub(r"\1", svg))
    return "data:image/svg+xml," + quote(svg, safe=" /:=;,.()-+'!*@$&?<>")


def _render(
    model: Model,
    corpus: Corpus | None,
    held: list[dict[str, Any]],
    pictures: dict[tuple[str, str], str],
    shown: dict[str, Any],
) -> str:
    included = {page["word"] for page in held}
    style = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("style.css", "report.css"))
    script = (STATIC / "report.js").read_text(encoding="utf-8")

    def link(word: str) -> Markup | str:
        return Markup('<a href="#{}">{}</a>').format(quote(_name(word)), word) if word in included else word

    def picture(word: str, kind: str, text: str) -> Markup:
        return Markup('<img src="{}" alt="{}">').format(pictures[word, kind], text)

    shell = pages.templates(model_title=model.title, live=False, link=link, picture=picture, anchor=_name)
    content = pages.start(model, corpus, n=min(len(held), pages.MOST_ROWS), **shown)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; base-uri 'none'"
    )
    return shell.get_template("report.html").render(
        **content, words_shown=held, style=Markup(style), script=Markup(script), policy=policy
    )  # fmt: skip


def _name(word: str) -> str:
    """Return the name of a word's page within the file."""
    return "word-" + quote(word, safe="")
