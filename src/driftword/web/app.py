"""The routes: one function for each page, its JSON twin beside it.

Nothing from an address reaches the file system; what is not a word, a slice or a number
of the model ends in a page that says so.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import polars as pl
import vl_convert
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException

from driftword import plot
from driftword.corpus import Corpus
from driftword.errors import DriftwordError, OptionError, UnknownSliceError, UnknownWordError
from driftword.explore.space import MIN_COUNT, choose
from driftword.model import Model
from driftword.web import pages

STATIC: Final = Path(__file__).parent / "static"
FIGURES: Final = ("trajectory", "neighbors", "frequency", "map", "changes")
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
TYPES: Final = {".css": "text/css", ".js": "text/javascript"}
MOST_SUGGESTED: Final = 12
Number = Annotated[int, Query(ge=0, le=10_000_000)]
Rows = Annotated[int, Query(ge=1, le=pages.MOST_ROWS)]
Labels = Annotated[list[str] | None, Query(max_length=pages.MOST_SLICES)]


def make_app(model: Model, corpus: Corpus | None = None) -> FastAPI:
    """Return the explorer of a model; with its corpus it shows the texts too."""
    app = FastAPI(title="driftword", docs_url=None, redoc_url=None)
    assets = {f"{_hash(file)}-{file.name}": file for file in sorted(STATIC.iterdir())}
    named = {file.name: f"/static/{name}" for name, file in assets.items()}
    shell = pages.templates(asset=named, model_title=model.title, live=True, link=_link, picture=_picture)

    def page(name: str, status: int = 200, **content: Any) -> HTMLResponse:
        return HTMLResponse(shell.get_template(name).render(**content), status_code=status)

    @lru_cache(maxsize=256)
    def figure(kind: str, word: str, form: str) -> bytes:
        chart = getattr(plot, kind)(model, word).to_dict()
        if form == "json":
            return json.dumps(chart).encode()
        return (
            vl_convert.vegalite_to_svg(chart).encode() if form == "svg" else vl_convert.vegalite_to_png(chart, scale=2)
        )

    @app.middleware("http")
    async def secured(request: Request, call_next: Any) -> Any:
        response = await call_next(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in assets:
            raise HTTPException(404)
        file = assets[name]
        forever = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(file.read_bytes(), media_type=TYPES.get(file.suffix, "text/plain"), headers=forever)

    def start_page(metric: str, n: int, min_count: int, skip: int) -> dict[str, Any]:
        return pages.start(model, corpus, metric=metric, n=n, min_count=min_count, skip=skip)

    @app.get("/index.json")
    def start_json(metric: str = "absolute", n: Rows = 30, min_count: Number = MIN_COUNT, skip: Number = 0) -> Any:
        return start_page(metric, n, min_count, skip)

    @app.get("/drift.csv")
    def drift_csv(metric: str = "absolute", n: Rows = 30, min_count: Number = MIN_COUNT, skip: Number = 0) -> Response:
        return _csv(start_page(metric, n, min_count, skip)["drift"])

    @app.get("/", response_class=HTMLResponse)
    def start(metric: str = "absolute", n: Rows = 30, min_count: Number = MIN_COUNT, skip: Number = 0) -> HTMLResponse:
        return page("start.html", **start_page(metric, n, min_count, skip))

    @app.get("/search")
    def search(q: Annotated[str, Query(max_length=200)] = "") -> Response:
        return RedirectResponse(f"/word/{_quoted(model.words[model.word_id(q)])}", status_code=303)

    @app.get("/suggest.json")
    def suggest(q: Annotated[str, Query(max_length=200)] = "") -> list[str]:
        folded = q.strip().casefold()
        found = [word for word in model.words if word.startswith(folded)] if folded else []
        return found[:MOST_SUGGESTED]

    @app.get("/word/{word}/passages.json")
    def passages_json(word: str, at: str | None = None, n: Rows = pages.PASSAGES) -> Any:
        return pages.passages(corpus, word, at, n=n)

    @app.get("/word/{word}/{kind}.{form}")
    def word_figure(word: str, kind: str, form: str) -> Response:
        choose("figure", kind, FIGURES)
        choose("format", form, ("svg", "png", "json"))
        types = {"svg": "image/svg+xml", "png": "image/png", "json": "application/json"}
        return Response(figure(kind, model.words[model.word_id(word)], form), media_type=types[form])

    @app.get("/word/{word}.csv")
    def word_csv(word: str, at: Labels = None, n: Rows = 10) -> Response:
        columns = pages.word(model, corpus, word, at=at or [], n=n)["neighbors"]
        return _csv([row for column in columns for row in column["words"]])

    @app.get("/word/{word}.json")
    def word_json(word: str, at: Labels = None, n: Rows = 10) -> Any:
        return pages.word(model, corpus, word, at=at or [], n=n)

    @app.get("/word/{word}", response_class=HTMLResponse)
    def word_page(word: str, at: Labels = None, n: Rows = 10, text: str | None = None) -> HTMLResponse:
        content = pages.word(model, corpus, word, at=at or [], n=n)
        return page("word.html", **content, passages=pages.passages(corpus, word, text), text=text, figures=FIGURES)

    def wrong(request: Request, status: int, sentence: str) -> Response:
        if request.url.path.endswith(".json"):
            return JSONResponse({"error": sentence}, status_code=status)
        return page("wrong.html", status, title="Not found" if status == 404 else "Not possible", sentence=sentence)

    @app.exception_handler(DriftwordError)
    def mistaken(request: Request, error: DriftwordError) -> Response:
        return wrong(request, 404 if isinstance(error, UnknownWordError | UnknownSliceError) else 422, str(error))

    @app.exception_handler(RequestValidationError)
    def misread(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return wrong(request, 422, f"'{first['loc'][-1]}' is not understood: {first['msg'].lower()}")

    @app.exception_handler(HTTPException)
    def missing(request: Request, error: HTTPException) -> Response:
        return wrong(request, error.status_code, "There is no such page.")

    return app


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
    return Markup('<a href="/word/{}">{}</a>').format(_quoted(word), word)


def _picture(word: str, kind: str, text: str) -> Markup:
    return Markup('<img src="/word/{}/{}.svg" alt="{}" width="760">').format(_quoted(word), kind, text)


def _csv(rows: list[dict[str, Any]]) -> Response:
    return Response(pl.DataFrame(rows).write_csv(), media_type="text/csv")


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def _quoted(word: str) -> str:
    return quote(word, safe="")
