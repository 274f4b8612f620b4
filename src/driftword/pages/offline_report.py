"""The report: the explorer's pages of some words in one HTML file, or a folder of them, that needs no server."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup

from driftword import explore
from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.progress import Progress, progress
from driftword.basics.tables import printable
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.corpus.options import MIN_COUNT
from driftword.corpus.passages import find_in_slices
from driftword.corpus.slices import At
from driftword.explore.drift_metrics import METRICS
from driftword.explore.drift_ranking import check_between
from driftword.explore.nearest_neighbors import near_words
from driftword.models.model import Model, as_model
from driftword.models.usage import Usage, usage_of
from driftword.pages import content, finding_content, overview_content, passage_content
from driftword.pages.content import Content
from driftword.pages.figures import STATIC
from driftword.pages.rendering import templates
from driftword.pages.static_site import check_folder, write_site
from driftword.pages.svg import compact_json
from driftword.storage.atomic_writes import already_exists, replacing

MAX_REPORTED: Final = 1000
_WORDS: Final = 50
_AT_ONCE: Final = 25  # pages in memory, where each is a file
_NEIGHBORS: Final = 10  # in every slice
_FIRST: Final = 10  # words of the timeline that come before those that moved by chance
_MAX_PASSAGES: Final = 16_000  # in the whole report, about 5 MB
_MIN_PASSAGES, _MAX_PER_SLICE = 40, 5  # a word may have this many in any case; at most this many from one slice
_PER_SELECTED_SLICE: Final = 3  # from each slice that is selected at first


def report(
    model: Model | str | os.PathLike[str],
    words: str | Sequence[str] = (),
    *,
    out: str | os.PathLike[str],
    corpus: Corpus | str | os.PathLike[str] | None = None,
    n: int | None = None,
    between: Sequence[At | None] | None = None,
    metric: str | None = None,
    min_count: int | None = None,
    skip: int | None = None,
    interpolated: bool = False,
    title: str | None = None,
    passages: bool = True,
    usage: Usage | str | os.PathLike[str] | None = None,
    site: bool = False,
    overwrite: bool = False,
    show_progress: bool | None = None,
) -> Path:
    """Write a report: one HTML file with an overview and a page for each of the words that changed most.

    The file needs no server and no network: it can be opened from disk, sent by e-mail, or put on a web site. For more
    words than fit into a file, `site` writes a folder with a file for each, which any web host serves.
    It needs Jinja: ``pip install 'driftword[report]'``.

    Parameters
    ----------
    model
        A dynamic or binned model, or its path. For a static model, name the words: it cannot rank them by change.
    words
        Words to include in any case.
    out, overwrite
        The file to write, whose name ends in ``.html`` or ``.htm``, or the folder of a site; and whether to replace it
        if it exists. Missing folders are created.
    corpus
        The corpus that the model was fitted to, or its path; by default where it was then. If it is no longer there,
        the report has no passages.
    n
        How many of the words that changed most to include besides: 0 to 1000; by default 50, and for a site all that
        are ranked by `significance`.
    between
        The two slices to compare, as labels, years or dates. By default the widest range with enough text.
    metric, min_count, skip, interpolated
        Which words changed most, as in `driftword.drift`.
    title
        The name of the texts, as in "How words changed in the State of the Union". By default the name of the corpus.
    passages
        Include passages from the texts. Pass False where they must not be copied.
    usage
        Vectors of occurrences of the same texts (see `encode`), or their path: passages that show a change, and senses,
        of the words that have any are then found by these.
    site
        Write a folder of files, a page for each word, instead of one file.
    show_progress
        Show a progress bar. By default only where standard error is a terminal.

    Returns
    -------
    The path of the file, or of the folder.

    Raises
    ------
    OptionError
        If an option has an impossible value, or no word meets the conditions.
    ExistsError
        If the file exists and `overwrite` is False.
    UnknownWordError, UnknownSliceError
        If a word or slice is not in the model.

    Examples
    --------
    >>> dw.report(model, ["energy"], out="sotu.html", n=100)  # doctest: +SKIP
    """
    model = as_model(model)
    passages, interpolated = checks.flag("passages", passages), checks.flag("interpolated", interpolated)
    metric = checks.optional(checks.one_of, "metric", metric, known=METRICS)
    show_progress = checks.show_progress(show_progress)
    title = checks.optional(checks.text, "title", title)
    everything = None if corpus is None else model.check_corpus(as_corpus(corpus))
    if not passages:
        everything = None
    elif everything is None:
        everything = model.open_corpus()
    vectors = None if usage is None else usage_of(usage, everything)
    site, overwrite = checks.flag("site", site), checks.flag("overwrite", overwrite)
    check = check_folder if site else _checked_path
    path = check(checks.path("out", out), overwrite=overwrite)
    n = checks.optional(checks.whole, "n", n, most=MAX_REPORTED)
    options: dict[str, Any] = {
        "metric": metric,
        "min_count": checks.optional(checks.whole, "min_count", min_count),
        "skip": checks.optional(checks.whole, "skip", skip),
        "interpolated": interpolated,
    }
    if n is None:
        listed = len(model.significance.listed) if site and model.significance is not None else 0
        n = min(max(listed, _WORDS), MAX_REPORTED)
    included = _included(model, words, n, between, options)
    begin, end = check_between(between)
    texts = None if everything is None else model.documents_of(everything)

    def overview() -> Content:
        rows = min(n or 30, content.MAX_ROWS)
        return overview_content.start(model, begin, end, n=rows, corpus=texts, **options)

    with progress(show=show_progress) as bar:
        bar.stage("writing pages", total=len(included))
        pages = _pages(model, included, everything, vectors, bar)
        if site:
            return write_site(
                path, model, words=included, pages=pages, overview=overview, data=partial(_data, model),
                render=_page, title=title,
            )  # fmt: skip
        html = _render(model, title, list(pages), overview())
    with replacing(path.resolve()) as unfinished:  # the file that a link leads to, not the link
        unfinished.write_text(printable(html), encoding="utf-8")
    return path


def _included(
    model: Model, words: str | Sequence[str], n: int, between: Sequence[At | None] | None, options: dict[str, Any]
) -> list[str]:
    """Return the words that have a page: those that are named, and n of those that changed most."""
    named = [words] if isinstance(words, str) else checks.word_list("words", words)
    included = [model.words[model.word_id(word)] for word in named]
    begin, end = check_between(between)
    if model.moves and n:
        if options["metric"] is None and (begin, end) == (None, None):
            changed = explore.timeline(model)["word"].to_list()
            included += [*changed[:_FIRST], *explore.by_chance(model), *changed[_FIRST:]][: n // 2]
        included += explore.rank_drift(model, n=n, between=(begin, end), **options).table["word"].to_list()
    included = list(dict.fromkeys(included))[: len(dict.fromkeys(named)) + n]
    if not included:
        why = "No word meets these conditions" if model.moves and n else "No word was named, and none is ranked"
        raise OptionError(f"{why}, so the report would be empty; name words with `words`")
    return included


def _pages(
    model: Model, words: list[str], everything: Corpus | None, vectors: Usage | None, bar: Progress
) -> Iterator[Content]:
    """Yield the pages of words, some of which are made at a time."""
    texts = None if everything is None else model.documents_of(everything)
    for first in range(0, len(words), _AT_ONCE):
        some = [
            finding_content.add_finding(
                content.word(model, word) | {"passages": []}, finding_content.finding(model, texts, word, vectors)
            )
            for word in words[first : first + _AT_ONCE]
        ]
        if everything is not None and texts is not None:
            _add_passages(texts, some, of=len(words))
            if model.moves and model.predicts:
                _add_intervals(model, everything, some)
        for page in some:
            yield page
            bar.update(more=1, facts=page["word"])


def _checked_path(path: Path, *, overwrite: bool) -> Path:
    name = checks.quoted(str(path))
    if not path.name:
        raise OptionError(f"{name} is not the name of a file; give another `out`, such as report.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{name} does not end in .html, and a report is a web page; give another `out`")
    if path.exists() and not overwrite:
        raise already_exists(path)
    return path


def _add_passages(corpus: Corpus, pages: list[Content], *, of: int) -> None:
    """Add passages to pages of a report that has so many: several from the slices selected at first, and others."""
    most = max(_MAX_PASSAGES // of, _MIN_PASSAGES)
    each = min(max(1, most // len(pages[0]["slices"])), _MAX_PER_SLICE)
    wanted = {
        page["word"]: {
            label: max(each, _PER_SELECTED_SLICE) if label in page["selected"] else each
            for label in _passage_slices(page, most)
        }
        for page in pages
    }
    tables = find_in_slices(corpus, wanted, width=passage_content.WIDTH)
    for page in pages:
        page["passages"] = passage_content.passage_rows(tables[page["word"]])


def _passage_slices(page: Content, most: int) -> list[str]:
    """Return the slices in which a word occurs, evenly thinned if there are more of them than passages to show."""
    occurs = [label for label, count in zip(page["slices"], page["counts"], strict=True) if count != 0]
    step = max(1, -(-len(occurs) // most))
    return [label for t, label in enumerate(occurs) if t % step == 0 or label in page["selected"]]


def _add_intervals(model: Model, corpus: Corpus, pages: list[Content]) -> None:
    """Add intervals to the figures."""
    for page in pages:
        lines = [(None, page["figures"]["trajectory"]["series"][0])]
        if "groups" in page["figures"]:
            lines += [(one["name"], one) for one in page["figures"]["groups"]["series"]]
        for group, one in lines:
            found = content.band(model, page["word"], corpus, group)
            one["interval"] = found["low"], found["high"]
        page["interval"] = True


def _render(model: Model, title: str | None, pages: list[Content], overview: Content) -> str:
    included = {page["word"] for page in pages}
    style, script = (
        "".join((STATIC / name).read_text(encoding="utf-8") for name in names)
        for names in (("figure.css", "style.css", "report.css"), ("figures.js", "report.js"))
    )

    def href(word: str) -> str | None:
        return "#" + quote(_anchor(word)) if word in included else None

    environment = templates(
        model, href=href, title=title, live=False, anchor=_anchor, period=lambda _: "#changed", has_bands=False,
        home="#", description=None,
    )  # fmt: skip
    rendered = [(page["word"], Markup(_page(environment, page, href(page["word"])))) for page in pages]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        f"script-src 'sha256-{digest}'"
    )
    return environment.get_template("report.html").render(
        **overview, pages=rendered, data=Markup(_data(model, pages, overview)), style=Markup(style),
        script=Markup(script), policy=policy,
    )  # fmt: skip


def _page(environment: Any, page: Content, here: str | None) -> str:
    """Return the content of a word's page, whose address is `here`; on it, a script shows the slice of a link."""
    return str(
        environment.get_template("_word.html").render(
            **page, passages_at="", passages_id=_anchor(page["word"], "passages"), passages_href=None,
            toggle_pin=lambda _: here,
        )
    )  # fmt: skip


def _data(model: Model, pages: list[Content], overview: Content) -> str:
    """Return as JSON what scripts show of every word and slice: neighbours, distances and passages."""
    slice_number = {label: t for t, label in enumerate(model.slices.labels)}
    word_number: dict[str, int] = {}  # a neighbour's name is written once, however often it is one
    shown: dict[str, dict[str, Any]] = {
        page["word"]: {
            "counts": page["counts"],
            "observed": page["observed"],
            "neighbors": [None] * len(model.slices),
            "similarity": [None] * len(model.slices),
            "distance": _distances(page),
            "passages": [_passage(row, slice_number) for row in page["passages"]],
        }
        for page in pages
    }
    for label, word, others, near in near_words(model, [model.word_id(word) for word in shown], None, _NEIGHBORS):
        t = slice_number[label]
        shown[word]["neighbors"][t] = [word_number.setdefault(other, len(word_number)) for other in others]
        shown[word]["similarity"][t] = [round(100 * value) for value in near]
    data = {
        "labels": model.slices.labels,
        "words": list(word_number),
        "few": MIN_COUNT,
        "pages": shown,
        "timeline": [
            [slice_number[row["slice"]], row["word"], row["before"] or [], row["after"] or []]
            for row in (overview["timeline"] or {"words": []})["words"]
        ],
    }
    return compact_json(data).replace("<", "\\u003c")


def _distances(page: Content) -> list[float | None]:
    """Return how far a word is from its first use, for comparisons."""
    if "trajectory" not in page["figures"]:
        return []
    values = page["figures"]["trajectory"]["series"][0]["values"]
    return [round(value, 3) if seen else None for value, seen in zip(values, page["observed"], strict=True)]


def _passage(row: Mapping[str, Any], slice_number: Mapping[str, int]) -> list[Any]:
    """Return a passage in a short form for scripts: slice, left, keyword, right, date, and what else is known."""
    about = [f"{name} {value}" for name, value in row["about"].items() if value not in (row["slice"], row["date"])]
    return [slice_number[row["slice"]], row["left"], row["keyword"], row["right"], row["when"], " · ".join(about)]


def _anchor(word: str, kind: str = "word") -> str:
    """Return the id of a word's page within the file, or of its passages."""
    return f"{kind}-{quote(word, safe='')}"
