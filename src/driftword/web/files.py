"""Answers that are files: figures, tables, and archives of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

import polars as pl
from fastapi import Request
from fastapi.responses import Response

from driftword.basics import tables
from driftword.basics.checks import one_of
from driftword.models.model import Model
from driftword.pages.content import Content
from driftword.pages.figure_files import figure_archive, figure_values
from driftword.pages.glance_figures import saved_figure

IMAGE_TYPES: Final = {"svg": "image/svg+xml", "png": "image/png"}
FIGURE_FORMS: Final = (*IMAGE_TYPES, "csv", "zip", "html")
#: What an image may do, and the page of one that is shown on another site: have its own style.
STILL: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def figure(model: Model, content: Content, name: str, form: str, request: Request) -> Response:
    """Respond with a figure of a page, with its values, or with an archive of both."""
    if form == "csv":
        return csv(figure_values(model.slices, content, name).to_dicts(), request)
    if form == "zip":
        archive = figure_archive(model, content, name, page=page_of(request), png=_png)
        return Response(archive, media_type="application/zip", headers=_file_name(request))
    return _image(saved_figure(model.slices, content, name)[1], form, request)


def page_of(request: Request, ending: str = "", **parameters: str) -> str:
    """Return the address of the page that a figure is of, with an ending and more parameters."""
    path = quote(request.scope["path"])
    stem = path[: max(path.rfind("/figure/"), path.rfind("/embed/"))]
    query = parse_qsl(request.scope["query_string"].decode("latin-1")) + [
        item for item in parameters.items() if item[1]
    ]
    return f"{stem}{ending}?{urlencode(query)}".rstrip("?") if stem or ending else f"/?{urlencode(query)}".rstrip("?")


def _file_name(request: Request) -> dict[str, str]:
    """Return the header that names the file in which a browser saves an address: iraq-passages.csv."""
    parts = [part for part in request.scope["path"].split("/") if part not in ("", "word", "figure", "print")]
    return {"Content-Disposition": f"inline; filename*=UTF-8''{quote('-'.join(parts), safe='')}"}


def _image(svg: str, form: str, request: Request) -> Response:
    """Respond with an image; an SVG has its own style, and may do nothing else."""
    headers = _file_name(request)
    if one_of("format", form, IMAGE_TYPES) == "svg":
        headers["Content-Security-Policy"] = STILL
        return Response(svg, media_type=IMAGE_TYPES[form], headers=headers)
    return Response(_png(svg), media_type=IMAGE_TYPES[form], headers=headers)


def _png(svg: str) -> bytes:
    import vl_convert  # slow to import, and rarely asked for

    return vl_convert.svg_to_png(svg, scale=2)


def csv(rows: list[dict[str, Any]], request: Request, columns: Sequence[str] = ()) -> Response:
    """Respond with a table; an empty one still has its columns."""
    table = pl.DataFrame(rows or {name: [] for name in columns}, infer_schema_length=None)
    return Response(tables.csv(table), media_type="text/csv", headers=_file_name(request))


def printed(model: Model, kind: str, form: str, request: Request, **options: Any) -> Response:
    """Draw a figure of `driftword.plot`, which is slow to import and rarely asked for."""
    one_of("format", form, IMAGE_TYPES)
    import vl_convert

    from driftword import plot

    chart = plot.drawable(getattr(plot, kind)(model, **options))
    return _image(vl_convert.vegalite_to_svg(chart.to_dict()), form, request)
