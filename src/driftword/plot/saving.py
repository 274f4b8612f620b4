"""Charts as files: pictures, self-contained pages, and Vega-Lite JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import altair as alt

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.tables import printable
from driftword.storage.atomic_writes import replacing

FORMATS: Final = ("svg", "png", "pdf", "html", "json")
_OF_OBJECTS: Final = {
    "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
    "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
}  # fmt: skip


def save(chart: Any, path: str | os.PathLike[str]) -> Path:
    """Save a chart in the format that the file name ends in, replacing an older figure.

    Parameters
    ----------
    chart
        What a function of `driftword.plot` returned, or any Altair chart.
    path
        File to write: ``.svg``, ``.png`` (for print), ``.pdf``, ``.html`` (one file, works offline) or ``.json``
        (Vega-Lite).

    Returns
    -------
    The path of the file.
    """
    path = checks.path("path", path)
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        name = checks.quoted(path.name)
        raise OptionError(f"{name} has no ending that figures can have; use one of .{', .'.join(FORMATS)}")
    chart = drawable(chart)
    with replacing(path) as partial:
        if form == "html":
            partial.write_text(_safe_html(chart), encoding="utf-8")
        else:
            chart.save(str(partial), format=form, **({"ppi": 216} if form == "png" else {}))
    return path


def drawable(chart: Any) -> Any:
    """Return the chart with words that can be drawn.

    Some characters would crash the renderer, and Vega mistakes words such as "constructor", which every JavaScript
    object has as a property; a zero-width space makes them ordinary words.
    """
    if not isinstance(chart, alt.TopLevelMixin):
        raise OptionError(
            f"`chart` is {checks.shown(chart)}; give what a function of `dw.plot` returned, or an Altair chart"
        )
    spec = chart.to_dict()
    mended = _mended(spec)
    return chart if mended == spec else alt.Chart.from_dict(mended)


def _mended(part: Any) -> Any:
    if isinstance(part, str):
        return part + "\u200b" if part in _OF_OBJECTS else printable(part)
    if isinstance(part, list):
        return [_mended(one) for one in part]
    return {name: _mended(one) for name, one in part.items()} if isinstance(part, dict) else part


def _safe_html(chart: Any) -> str:
    """Return a self-contained page; words that look like HTML stay words."""
    spec = json.dumps(chart.to_dict())
    text = str(chart.to_html(inline=True))
    before, found, after = text.rpartition(spec)
    if not found:
        raise AssertionError("the chart is not in its own page")
    return before + spec.replace("<", "\\u003c") + after
