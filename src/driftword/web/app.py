"""The explorer: every page, and the same content as JSON, CSV, SVG and PNG.

Nothing from an address reaches the file system. Whatever names no word or slice of the model, or no
possible number, leads to a page that says so.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from driftword.basics.checks import comma_separated, one_of
from driftword.basics.errors import DriftwordError, StoreError, UnknownSliceError, UnknownWordError
from driftword.basics.process import available_cores
from driftword.basics.tables import printable
from driftword.corpus import Corpus
from driftword.models.model import Model
from driftword.pages.content import suggest, word_over_time
from driftword.pages.figures import STATIC, size_of
from driftword.pages.glance_figures import saved_figure
from driftword.pages.rendering import templates, without_backticks
from driftword.web import files
from driftword.web.access import LOCAL, AccessControl, embedding_sites, figure_key
from driftword.web.cache import ResponseCache
from driftword.web.limits import ComputationLimits
from driftword.web.routes import Endpoints, Labels, Name, Text, Word, address, word_address
from driftword.web.worker import Worker

#: Figures of a word for print, which `driftword.plot` draws.
PRINT_FIGURES: Final = {
    "trajectory": "trajectory",
    "neighbors": "neighbours",
    "frequency": "frequency and movement",
    "map": "map",
    "changes": "change points",
}
ASSET_TYPES: Final = {".css": "text/css", ".js": "text/javascript"}
MAX_HELPERS: Final = 3  # processes for pages besides this one; each has caches of its own
STORE_ERROR: Final = "The files of this explorer have been replaced or damaged; whoever runs it should start it again."

Page = Callable[..., HTMLResponse]


def make_app(
    model: Model, corpus: Corpus | None = None, *, title: str | None = None, hosts: Sequence[str] | None = LOCAL,
    token: str | None = None, embed_in: Sequence[str] = (),
) -> FastAPI:  # fmt: skip
    """Return the explorer of a model, as an ASGI application for any server.

    Parameters
    ----------
    model
        The model to show.
    corpus
        The corpus it was fitted to. Without it, pages have no passages.
    title
        The name of the texts; by default the name of the corpus.
    hosts
        Host names by which readers may reach it; None allows any.
    token
        A secret that readers must give in the address of their first visit. None lets everyone in who reaches the
        server: on a shared machine that is every user of it, even if the server listens on 127.0.0.1 alone.
    embed_in
        Addresses of sites, such as https://blog.example.org, whose pages may show figures. Who has the code of one
        can see all figures, but no text.
    """
    sites = embedding_sites(embed_in)
    embed_key = figure_key(token) if sites else None

    def check_stores() -> None:
        """Raise a `StoreError` if files are no longer those that were opened."""
        model.check_current()
        if corpus is not None:
            corpus.check_current()

    app = make_pages(model, corpus, title=title, embed_key=embed_key)
    worker, helpers = None, []
    if model.location is not None and (corpus is None or corpus.location is not None):
        task = (str(model.location), None if corpus is None else str(corpus.location), title, embed_key)
        worker = Worker(*task)
        helpers = [Worker(*task, for_pages=True) for _ in range(min(available_cores() - 1, MAX_HELPERS))]
    # The middleware added last runs first.
    app.add_middleware(ComputationLimits, worker=worker, helpers=helpers)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=6)
    app.add_middleware(ResponseCache, parameters=_parameters(app), check=check_stores)
    app.add_middleware(
        AccessControl, hosts=hosts, token=token, embed_in=sites, on_error=app.exception_handlers[DriftwordError]
    )
    return app


def make_pages(model: Model, corpus: Corpus | None, *, title: str | None, embed_key: str | None = None) -> FastAPI:
    """Return all addresses of the explorer, open to everyone.

    With an `embed_key`, figures have a page with the code that shows them on another site; it contains the key.
    """
    app = FastAPI(title="driftword", docs_url=None, redoc_url=None, redirect_slashes=False)
    endpoints = Endpoints(model, corpus)
    corpus = endpoints.corpus
    page = _page_renderer(app, model, corpus, title, embed_key)

    def add_page(path: str, endpoint: Callable[..., Any], template: str) -> None:
        """Add a page with its JSON, CSV and figures; all take the parameters of `endpoint`."""

        def as_json(content: Any = Depends(endpoint)) -> Any:
            return {name: value for name, value in content.items() if not name.startswith("_")}

        def as_csv(request: Request, content: Any = Depends(endpoint)) -> Response:
            return files.csv(content["table"], request, content.get("columns", ()))

        def as_figure(request: Request, figure: Name, form: Name, content: Any = Depends(endpoint)) -> Response:
            if one_of("format", form, files.FIGURE_FORMS) != "html":
                return files.figure(model, content, figure, form, request)
            title, svg = saved_figure(model.slices, content, figure)
            framed = page("framed.html", title=title, svg=svg)
            framed.headers["Content-Security-Policy"] = files.STILL
            return framed

        def as_code(request: Request, figure: Name, content: Any = Depends(endpoint)) -> HTMLResponse:
            if embed_key is None:
                raise HTTPException(404)
            title, svg = saved_figure(model.slices, content, figure)
            source = files.page_of(request, f"/figure/{figure}.html", key=embed_key)
            return page(
                "embed.html", title=title, svg=svg, size=size_of(svg), source=source,
                back=files.page_of(request),
            )  # fmt: skip

        def as_page(content: Any = Depends(endpoint)) -> HTMLResponse:
            return page(template, **{name.lstrip("_"): value for name, value in content.items()})

        stem = "/index" if path == "/" else path
        app.get(f"{stem}.json", name=f"{endpoint.__name__} as JSON")(as_json)
        app.get(f"{stem}.csv", name=f"{endpoint.__name__} as CSV")(as_csv)
        app.get(f"{path.rstrip('/')}/figure/{{figure}}.{{form}}", name=f"figure of {endpoint.__name__}")(as_figure)
        app.get(f"{path.rstrip('/')}/embed/{{figure}}", name=f"code of a figure of {endpoint.__name__}")(as_code)
        app.get(path, response_class=HTMLResponse, name=endpoint.__name__)(as_page)

    @app.get("/search")
    def search(q: Text = "") -> Response:
        if "*" in q and q not in model.word_index:
            return RedirectResponse(address("/words", like=q), status_code=303)
        if "," in q and q not in model.word_index:
            return RedirectResponse(address("/compare", words=q), status_code=303)
        begun = [name for name in suggest(model, q, 1) if q not in model.word_index and name.startswith(q.casefold())]
        found = begun[0] if begun else model.words[model.word_id(q)]
        return RedirectResponse(word_address(found), status_code=303)

    @app.get("/word/{word}/passages.csv")
    def passages_csv(request: Request, rows: Any = Depends(endpoints.passages)) -> Response:
        columns = ("slice", "left", "keyword", "right", "document", "date", "occurrence")
        return files.csv([{name: row[name] for name in columns} | row["about"] for row in rows], request, columns)

    @app.get("/word/{word}/collocates.csv")
    def collocates_csv(request: Request, rows: Any = Depends(endpoints.collocates)) -> Response:
        return files.csv(rows, request)

    @app.get("/word/{word}/time.csv")
    def time_csv(request: Request, content: Any = Depends(endpoints.word)) -> Response:
        return files.csv(word_over_time(content), request)

    app.get("/text/{document}.json")(endpoints.text)

    @app.get("/text/{document}", response_class=HTMLResponse)
    def text(content: Any = Depends(endpoints.text)) -> HTMLResponse:
        return page("text.html", **content)

    @app.get("/word/{word}/print/{kind}.{form}")
    def print_word(request: Request, word: Word, kind: Name, form: Name, *, at: Labels = None) -> Response:
        one_of("figure", kind, PRINT_FIGURES)
        options = {"at": at} if at and kind in ("trajectory", "neighbors") else {}
        return files.printed(model, kind, form, request, word=endpoints.resolve_word(word), **options)

    @app.get("/print/drift.{form}")
    def print_drift(request: Request, form: Name, content: Any = Depends(endpoints.between)) -> Response:
        options = {name: content[name] for name in ("metric", "n", "min_count", "skip", "interpolated")}
        return files.printed(model, "drift", form, request, between=(content["begin"], content["end"]), **options)

    @app.get("/comparisons", response_class=HTMLResponse)
    def comparisons(content: Any = Depends(endpoints.comparisons)) -> HTMLResponse:
        return page("comparisons.html", **content)

    app.get("/suggest.json")(endpoints.suggest)
    app.get("/completions.json")(endpoints.completions)
    app.get("/word/{word}/neighbors.json")(endpoints.neighbors)
    app.get("/word/{word}/band.json")(endpoints.band)
    app.get("/word/{word}/passages.json")(endpoints.passages)
    app.get("/word/{word}/finding.json")(endpoints.finding)
    app.get("/word/{word}/collocates.json")(endpoints.collocates)
    add_page("/", endpoints.start, "start.html")
    add_page("/word/{word}", endpoints.word, "word.html")
    add_page("/word/{word}/senses", endpoints.senses, "senses.html")
    add_page("/word/{word}/company", endpoints.company, "company.html")
    add_page("/word/{word}/concordance", endpoints.concordance, "concordance.html")
    add_page("/words", endpoints.words, "words.html")
    add_page("/compare", endpoints.compare, "compare.html")
    add_page("/axis", endpoints.axis, "axis.html")
    add_page("/between", endpoints.between, "between.html")
    add_page("/slice/{label}", endpoints.one_slice, "between.html")
    _add_error_pages(app, page)
    return app


def _parameters(app: FastAPI) -> set[str]:
    """Return the names of all query parameters that some address of the application knows."""

    def names(dependant: Dependant) -> set[str]:
        return {field.alias for field in dependant.query_params}.union(*map(names, dependant.dependencies))

    return set().union(*(names(route.dependant) for route in app.routes if isinstance(route, APIRoute)))


def _page_renderer(app: FastAPI, model: Model, corpus: Corpus | None, title: str | None, embed_key: str | None) -> Page:
    """Serve styles and scripts under names that change when they do; return the function that renders a page."""
    assets = {f"{hashlib.sha256(file.read_bytes()).hexdigest()[:12]}-{file.name}": file for file in STATIC.iterdir()}
    for_ever = {"Cache-Control": "public, max-age=31536000, immutable"}

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        if name not in assets:
            raise HTTPException(404)
        file = assets[name]
        return Response(file.read_bytes(), media_type=ASSET_TYPES.get(file.suffix, "text/plain"), headers=for_ever)

    environment = templates(
        model, title=title, live=True, asset={file.name: f"/static/{name}" for name, file in assets.items()},
        embeds=embed_key is not None, href=word_address, address=address, word_address=word_address,
        print_figures=PRINT_FIGURES, passages_id="passages", has_corpus=corpus is not None,
        has_bands=corpus is not None and model.predicts,
        has_documents=corpus is not None and corpus.has_documents,
    )  # fmt: skip

    def page(template: str, status: int = 200, **content: Any) -> HTMLResponse:
        return HTMLResponse(printable(environment.get_template(template).render(**content)), status_code=status)

    return page


def _add_error_pages(app: FastAPI, page: Page) -> None:
    """Answer what cannot be shown with a sentence, never with a traceback or a path of this machine."""

    def error_response(
        request: Request, status: int, message: str, *, suggestions: Sequence[str] = (), asked: str = ""
    ) -> Response:
        path, query = str(request.scope["path"]), request.scope["query_string"].decode("latin-1")
        message = without_backticks(message)
        if path.endswith(".json"):
            return JSONResponse({"error": message, "suggestions": list(suggestions)}, status_code=status)
        retry = None
        if path in ("/compare", "/axis"):
            retry = f"/comparisons?{query}"
        elif query and (path == "/" or path.startswith(("/between", "/word/", "/slice/"))):
            path_is_wrong = asked != "" and path.endswith(f"/{asked}")
            retry = None if path_is_wrong else quote(path)  # the same page, without the parameters
        links = {word: _corrected_address(request, asked, word) for word in suggestions}
        title = "Not found" if status == 404 else "This cannot be shown"
        sentence = message if message.endswith((".", "?", "!")) else f"{message}."
        return page("error.html", status, title=title, message=sentence, suggestions=links, retry=retry)

    @app.exception_handler(DriftwordError)
    def driftword_error(request: Request, error: DriftwordError) -> Response:
        if isinstance(error, StoreError):
            # The path is for the terminal alone.
            logging.getLogger(__name__).error("%s", without_backticks(str(error)))
            return error_response(request, 503, STORE_ERROR)
        if isinstance(error, UnknownWordError):
            return error_response(request, 404, str(error), suggestions=error.suggestions, asked=error.asked)
        return error_response(request, 404 if isinstance(error, UnknownSliceError) else 422, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid_parameter(request: Request, error: RequestValidationError) -> Response:
        path, query = str(request.scope["path"]), request.scope["query_string"].decode("latin-1")
        if path in ("/compare", "/axis") and any(one["type"] == "missing" for one in error.errors()):
            return RedirectResponse(f"/comparisons?{query}".rstrip("?"), status_code=303)  # which has the forms
        return error_response(request, 422, _parameter_message(error))

    @app.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        path, query = str(request.scope["path"]), request.scope["query_string"].decode("latin-1")
        if error.status_code == 404 and path.endswith("/") and path.strip("/"):
            return RedirectResponse(f"/{quote(path.strip('/'))}?{query}".rstrip("?"), status_code=303)
        message = "Pages can only be read." if error.status_code == 405 else "There is no such page."
        response = error_response(request, error.status_code, message)
        response.headers.update(error.headers or {})
        return response


def _parameter_message(error: RequestValidationError) -> str:
    """Say in a sentence what is wrong with the first invalid parameter of an address."""
    first = error.errors()[0]
    name = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "the address")
    limits = first.get("ctx", {})
    messages = {
        "missing": f"The address lacks '{name}'; add ?{name}=... to it, or use the form.",
        "int_parsing": f"'{name}' must be a whole number.",
        "greater_than_equal": f"'{name}' must be at least {limits.get('ge')}.",
        "less_than_equal": f"'{name}' must be at most {limits.get('le'):,}." if "le" in limits else "",
        "too_long": f"Choose at most {limits.get('max_length')} {'slices' if name == 'at' else name} at once.",
        "string_too_long": f"'{name}' is longer than {limits.get('max_length')} characters.",
    }
    return messages.get(first["type"], "") or f"'{name}' cannot be used: {first['msg'].lower()}."


def _corrected_address(request: Request, asked: str, word: str) -> str:
    """Return where a suggestion leads: to the same page with that word in place of the unknown one, or to its own."""

    def corrected(name: str, value: str) -> str:
        if name not in ("words", "low", "high", "others", "word"):
            return value
        return ",".join(word if one == asked else one for one in comma_separated(value))

    given = request.query_params.multi_items()
    after = [(name, corrected(name, value)) for name, value in given]
    return word_address(word) if after == given else f"{quote(request.scope['path'])}?{urlencode(after)}"
