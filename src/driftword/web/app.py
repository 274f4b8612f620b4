"""The explorer: every view as a page, and beside it as JSON, CSV, SVG and PNG.

Nothing from an address reaches the file system; what is not a word, a slice or a number
of the model ends in a page that says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import polars as pl
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException

from driftword.corpus import Corpus
from driftword.errors import DriftwordError, OptionError, UnknownSliceError, UnknownWordError
from driftword.explore.vectors import choose
from driftword.model import Model
from driftword.pages import content as pages
from driftword.pages.figures import STATIC, draw, standalone
from driftword.pages.rendering import templates
from driftword.tables import csv, printable
from driftword.web.access import LOCAL, guard
from driftword.web.cache import KeptAnswers
from driftword.web.routes import Labels, Text, Views, address, listed, word_address

#: Figures for print, which `driftword.plot` draws.
PRINTED: Final = {
    "trajectory": "its way",
    "neighbors": "neighbours",
    "frequency": "frequency and movement",
    "map": "map",
    "changes": "changes",
}
FORMS: Final = {"svg": "image/svg+xml", "png": "image/png"}
TYPES: Final = {".css": "text/css", ".js": "text/javascript"}

Page = Callable[..., HTMLResponse]


def make_app(
    model: Model, corpus: Corpus | None = None, *, title: str | None = None, hosts: Sequence[str] | None = LOCAL,
    token: str | None = None,
) -> FastAPI:  # fmt: skip
    """Return the explorer of a model; with its corpus it shows the texts too.

    Parameters
    ----------
    model, corpus
        What it shows.
    title
        What to call the texts; by default the name of the corpus.
    hosts
        Names by which readers may reach it; None allows any.
    token
        A word that readers must bring in the address of their first visit.
    """
    app = FastAPI(title="driftword", docs_url=None, redoc_url=None)
    app.add_middleware(KeptAnswers)
    guard(app, hosts=hosts, token=token)  # the last one added is the first one asked
    views = Views(model, corpus)
    page = _pages(app, model, corpus, title)

    def show(path: str, view: Callable[..., Any], template: str) -> None:
        """Give a view its addresses; what it shows depends on the parameters of `view`."""

        def as_json(content: Any = Depends(view)) -> Any:
            return {name: value for name, value in content.items() if not name.startswith("_")}

        def as_csv(request: Request, content: Any = Depends(view)) -> Response:
            return _csv(content["table"], request, content.get("columns", ()))

        def as_figure(request: Request, figure: str, form: str, content: Any = Depends(view)) -> Response:
            choose("figure", figure, content["figures"])
            choose("format", form, FORMS)
            held = content["figures"][figure]
            svg = standalone(draw(model.slices, held), held["title"], content["cite"])
            return _picture(svg if form == "svg" else _png(svg), form, request)

        def as_page(content: Any = Depends(view)) -> HTMLResponse:
            return page(template, **{name.lstrip("_"): value for name, value in content.items()})

        named = "/index" if path == "/" else path
        app.get(f"{named}.json", name=f"{view.__name__} as JSON")(as_json)
        app.get(f"{named}.csv", name=f"{view.__name__} as CSV")(as_csv)
        app.get(f"{path.rstrip('/')}/figure/{{figure}}.{{form}}", name=f"figure of {view.__name__}")(as_figure)
        app.get(path, response_class=HTMLResponse, name=view.__name__)(as_page)

    @app.get("/search")
    def search(q: Text = "") -> Response:
        return RedirectResponse(word_address(model.words[model.word_id(q)]), status_code=303)

    @app.get("/word/{word}/passages.csv")
    def passages_csv(request: Request, rows: Any = Depends(views.passages)) -> Response:
        columns = ("slice", "left", "keyword", "right", "document", "date", "occurrence")
        return _csv([{name: row[name] for name in columns} | row["about"] for row in rows], request, columns)

    @app.get("/word/{word}/time.csv")
    def time_csv(request: Request, content: Any = Depends(views.word)) -> Response:
        return _csv(pages.through_time(content), request)

    app.get("/text/{document}.json")(views.text)

    @app.get("/text/{document}", response_class=HTMLResponse)
    def text(content: Any = Depends(views.text)) -> HTMLResponse:
        return page("text.html", **content)

    @app.get("/word/{word}/print/{kind}.{form}")
    def word_printed(request: Request, word: str, kind: str, form: str, *, at: Labels = None) -> Response:
        choose("figure", kind, PRINTED)
        options = {"at": at} if at and kind in ("trajectory", "neighbors") else {}
        return _printed(model, kind, form, request, word=views.known(word), **options)

    @app.get("/print/drift.{form}")
    def drift_printed(request: Request, form: str, content: Any = Depends(views.between)) -> Response:
        shown = {name: content[name] for name in ("metric", "n", "min_count", "skip")}
        return _printed(model, "drift", form, request, between=(content["begin"], content["end"]), **shown)

    @app.get("/questions", response_class=HTMLResponse)
    def questions(content: Any = Depends(views.questions)) -> HTMLResponse:
        return page("questions.html", **content)

    app.get("/suggest.json")(views.suggest)
    app.get("/word/{word}/near.json")(views.near)
    app.get("/word/{word}/passages.json")(views.passages)
    show("/", views.start, "start.html")
    show("/word/{word}", views.word, "word.html")
    show("/compare", views.compare, "compare.html")
    show("/axis", views.axis, "axis.html")
    show("/between", views.between, "between.html")
    show("/slice/{label}", views.one_slice, "between.html")
    _answer_mistakes(app, page)
    return app


def _pages(app: FastAPI, model: Model, corpus: Corpus | None, title: str | None) -> Page:
    """Serve styles and scripts under names that change when they do; return the function that renders a page."""
    assets = {f"{hashlib.sha256(file.read_bytes()).hexdigest()[:12]}-{file.name}": file for file in STATIC.iterdir()}
    forever = {"Cache-Control": "public, max-age=31536000, immutable"}

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        if name not in assets:
            raise HTTPException(404)
        file = assets[name]
        return Response(file.read_bytes(), media_type=TYPES.get(file.suffix, "text/plain"), headers=forever)

    def slice_address(label: str) -> str:
        return f"/slice/{quote(label, safe='')}" if label != model.slices.labels[0] else ""

    shell = templates(
        model, title=title, live=True, asset={file.name: f"/static/{name}" for name, file in assets.items()},
        link=_link, address=address, word_address=word_address, slice_href=slice_address, printed=PRINTED,
        texts_id="texts", figure_of=address, has_corpus=corpus is not None,
        has_documents=corpus is not None and corpus.has_documents,
        corpus_path=model.meta["provenance"].get("corpus_path"),
    )  # fmt: skip

    def page(name: str, status: int = 200, **content: Any) -> HTMLResponse:
        return HTMLResponse(printable(shell.get_template(name).render(**content)), status_code=status)

    return page


def _answer_mistakes(app: FastAPI, page: Page) -> None:
    """Answer what cannot be shown with a sentence, never with a trace of our own code."""

    def wrong(request: Request, status: int, sentence: str, instead: Sequence[str] = (), asked: str = "") -> Response:
        path, query = str(request.scope["path"]), request.url.query
        if path.endswith(".json"):
            return JSONResponse({"error": sentence, "instead": list(instead)}, status_code=status)
        again = None
        if path in ("/compare", "/axis"):
            again = f"/questions?{query}"
        elif query and (path == "/" or path.startswith(("/between", "/word/", "/slice/"))):
            wrong_itself = asked != "" and path.endswith(f"/{asked}")
            again = None if wrong_itself else quote(path)  # the same page, without what was asked of it
        links = {word: _instead(request, asked, word) for word in instead}
        title = "Not found" if status == 404 else "Not possible"
        return page("wrong.html", status, title=title, sentence=sentence, instead=links, again=again)

    @app.exception_handler(DriftwordError)
    def mistaken(request: Request, error: DriftwordError) -> Response:
        if isinstance(error, UnknownWordError):
            return wrong(request, 404, str(error), error.suggestions, error.asked)
        return wrong(request, 404 if isinstance(error, UnknownSliceError) else 422, str(error))

    @app.exception_handler(RequestValidationError)
    def misread(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        name = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "the address")
        known = first.get("ctx", {})
        told = {
            "missing": f"The address does not say '{name}'; add ?{name}=... or use the form.",
            "int_parsing": f"'{name}' must be a whole number.",
            "greater_than_equal": f"'{name}' must be at least {known.get('ge')}.",
            "less_than_equal": f"'{name}' must be at most {known.get('le'):,}." if "le" in known else "",
            "too_long": f"Choose at most {known.get('max_length')} {'slices' if name == 'at' else name} at once.",
            "string_too_long": f"'{name}' is longer than {known.get('max_length')} letters.",
        }
        return wrong(
            request, 422, told.get(first["type"], "") or f"'{name}' is not understood: {first['msg'].lower()}."
        )

    @app.exception_handler(HTTPException)
    def missing(request: Request, error: HTTPException) -> Response:
        told = "Pages are read here, and nothing else." if error.status_code == 405 else "There is no such page."
        answer = wrong(request, error.status_code, told)
        answer.headers.update(error.headers or {})
        return answer


def _instead(request: Request, asked: str, word: str) -> str:
    """Return where a suggestion leads: to the same question about that word, or else to its page."""

    def corrected(name: str, value: str) -> str:
        lists = name in ("words", "low", "high", "others", "word")
        return ",".join(word if one == asked else one for one in listed(value)) if lists else value

    before = request.query_params.multi_items()
    after = [(name, corrected(name, value)) for name, value in before]
    return word_address(word) if after == before else f"{quote(request.scope['path'])}?{urlencode(after)}"


def open_corpus(model: Model, given: str | Path | None) -> Corpus | None:
    """Open the corpus of a model: the one that was named, or the one it remembers, where that still is."""
    path = given or model.meta["provenance"].get("corpus_path")
    if path is None:
        return None
    try:
        corpus = Corpus.open(path)
    except DriftwordError:
        if given is not None:
            raise
        return None
    if corpus.fingerprint != model.meta["provenance"].get("corpus"):
        if given is not None:
            raise OptionError(f"'{given}' is not the corpus that the model was fitted to; name that one")
        return None
    return corpus


def _link(word: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(word_address(word), word)


def _file(request: Request) -> dict[str, str]:
    """Return the header that names what is saved from an address: iraq-passages.csv."""
    parts = [part for part in request.url.path.split("/") if part not in ("", "word", "figure", "print")]
    return {"Content-Disposition": f"inline; filename*=UTF-8''{quote('-'.join(parts), safe='')}"}


def _picture(made: str | bytes, form: str, request: Request) -> Response:
    """Answer with a figure; an SVG brings its own style, and may do nothing else."""
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"} if form == "svg" else {}
    return Response(made, media_type=FORMS[form], headers={**_file(request), **policy})


def _csv(rows: list[dict[str, Any]], request: Request, columns: Sequence[str] = ()) -> Response:
    """Write a table for other programs; an empty one has its columns all the same."""
    table = pl.DataFrame(rows or {name: [] for name in columns}, infer_schema_length=None)
    return Response(csv(table), media_type="text/csv", headers=_file(request))


def _printed(model: Model, kind: str, form: str, request: Request, **options: Any) -> Response:
    """Draw a figure of `driftword.plot`, which takes a while to load and which few readers ask for."""
    choose("format", form, FORMS)
    import vl_convert

    from driftword import plot

    chart = plot.drawable(getattr(plot, kind)(model, **options)).to_dict()
    made = vl_convert.vegalite_to_svg(chart) if form == "svg" else vl_convert.vegalite_to_png(chart, scale=2)
    return _picture(made, form, request)


def _png(svg: str) -> bytes:
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg, scale=2))
