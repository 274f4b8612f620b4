"""The report: the explorer's pages of some words in one file that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup

from driftword import explore, store
from driftword.corpus import Corpus
from driftword.corpus.passages import find_in_slices
from driftword.corpus.slices import At
from driftword.errors import OptionError
from driftword.model import Model
from driftword.pages import content as pages
from driftword.pages import passage_content
from driftword.pages.figures import STATIC
from driftword.pages.rendering import templates
from driftword.progress import Progress, progress
from driftword.tables import printable

MOST_WORDS: Final = 1000
_NEAR: Final = 10  # neighbours that show in every slice
_LINES: Final = 16_000  # lines of the texts in the whole report, some 5 MB
_FEWEST, _EACH = 40, 5  # lines of a word in any case, and at most from one slice
_FIRST: Final = 3  # lines from each slice that is shown at first


def report(
    model: Model,
    out: str | os.PathLike[str],
    *,
    corpus: Corpus | None = None,
    words: Sequence[str] = (),
    n: int = 50,
    between: tuple[At, At] | None = None,
    metric: str = "absolute",
    min_count: int = 5,
    skip: int | None = None,
    title: str | None = None,
    passages: bool = True,
    overwrite: bool = False,
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
        As in `explore.drift`; by default one in fifty words is skipped, at most 200.
    title
        What to call the texts; by default the name of the corpus.
    passages
        Whether to hold lines of the texts, which may be under copyright.
    overwrite
        Replace the file that is there.
    show_progress
        Show a progress bar; by default where standard error is a terminal.
    """
    path = Path(out)
    if not path.name:
        raise OptionError(f"'{out}' is no file to write; name one, such as report.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"a report is a web page, so '{path}' must end in .html")
    if path.exists() and not overwrite:
        raise OptionError(f"'{path}' exists; choose another name or replace it with --overwrite")
    if not 0 <= n <= MOST_WORDS:
        raise OptionError(f"n is {n}; a report holds 0 to {MOST_WORDS} words")
    chosen = [model.words[model.word_id(word)] for word in words]
    skip = pages.usual_skip(model) if skip is None else skip
    options: dict[str, Any] = {"metric": metric, "min_count": min_count, "skip": skip}
    begin = end = None
    if len(model.rho) > 1:
        begin, end = (model.slices.labels[model.slices.index(at)] for at in between or explore.ends(model))
        if n:
            chosen += explore.drift(model, n=n, between=(begin, end), **options)["word"].to_list()
    chosen = list(dict.fromkeys(chosen))
    if not chosen:
        why = "no word meets these conditions" if len(model.rho) > 1 and n else "nothing is ranked in it"
        raise OptionError(f"the report would hold no word, as {why}; name some with --words")
    held: list[dict[str, Any]] = []
    with progress(show=show_progress) as bar:
        bar.stage("asking the model", total=len(chosen))
        for done, word in enumerate(chosen, 1):
            held.append(pages.word(model, word) | {"passages": []})
            bar.update(done=done, facts=word)
        if passages and corpus is not None:
            _add_lines(corpus, held, bar)
    text = _render(model, title, held, pages.start(model, begin, end, n=min(n or 30, pages.MOST_ROWS), **options))
    with store.replacing(path.resolve()) as partial:  # what a link leads to, not the link
        partial.write_text(printable(text), encoding="utf-8")
    return path


def _add_lines(corpus: Corpus, held: list[dict[str, Any]], bar: Progress) -> None:
    """Add lines of the texts: several from slices that are shown at first, some from the others as room allows."""
    most = max(_LINES // len(held), _FEWEST)
    each = min(max(1, most // len(held[0]["slices"])), _EACH)
    wanted = {
        page["word"]: {label: max(each, _FIRST) if label in page["chosen"] else each for label in _thinned(page, most)}
        for page in held
    }
    found = find_in_slices(corpus, wanted, width=passage_content.WIDTH, bar=bar)
    for page in held:
        page["passages"] = passage_content.lines_of(found[page["word"]])


def _thinned(page: dict[str, Any], most: int) -> list[str]:
    """Return the slices in which a word occurs, evenly thinned where there are more than lines."""
    seen = [label for label, count in zip(page["slices"], page["counts"], strict=True) if count]
    step = max(1, -(-len(seen) // most))
    return [label for t, label in enumerate(seen) if t % step == 0 or label in page["chosen"]]


def _render(model: Model, title: str | None, held: list[dict[str, Any]], start: dict[str, Any]) -> str:
    included = {page["word"] for page in held}
    style, script = (
        "".join((STATIC / name).read_text(encoding="utf-8") for name in names)
        for names in (("figure.css", "style.css", "report.css"), ("figures.js", "report.js"))
    )

    def link(word: str) -> Markup | str:
        return Markup('<a href="#{}">{}</a>').format(quote(_name(word)), word) if word in included else word

    shell = templates(model, title=title, live=False, link=link, anchor=_name, slice_href=None)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; base-uri 'none'"
    )
    page = shell.get_template("_word.html")
    shown = [
        (
            one["word"],
            Markup(page.render(**one, text="", texts_id=_name(one["word"], "texts"), keep=_strip(one["word"]))),
        )
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


def _name(word: str, kind: str = "word") -> str:
    """Return the name of a word's page within the file, or of its texts."""
    return f"{kind}-{quote(word, safe='')}"


def _strip(word: str) -> Callable[[str], str]:
    """Return where the slices of a word's way lead: a script shows them on its page."""
    return lambda _: "#" + quote(_name(word))
