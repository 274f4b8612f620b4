"""Charts as files: pictures, pages that need nothing but themselves, and Vega-Lite JSON."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from driftword import store
from driftword.errors import OptionError

FORMATS: Final = ("svg", "png", "pdf", "html", "json")


def save(chart: Any, path: str | os.PathLike[str]) -> Path:
    """Save a chart as SVG, PNG (for print), PDF, HTML (one file, works offline) or Vega-Lite JSON, by its ending."""
    path = Path(path)
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise OptionError(f"'{path.name}' ends in no format that a figure can have; use one of .{', .'.join(FORMATS)}")
    with store.replacing(path) as partial:
        if form == "html":
            partial.write_text(_safe_html(chart), encoding="utf-8")
        else:
            chart.save(str(partial), format=form, **({"ppi": 216} if form == "png" else {}))
    return path


def _safe_html(chart: Any) -> str:
    """Return a page that needs nothing but itself; words of the text that look like HTML stay words."""
    spec = json.dumps(chart.to_dict())
    text = str(chart.to_html(inline=True))
    before, found, after = text.rpartition(spec)
    if not found:
        raise AssertionError("the chart is not in its own page")
    return before + spec.replace("<", "\\u003c") + after


def page(charts: Sequence[Any], path: str | os.PathLike[str], *, title: str) -> Path:
    """Save several charts on one HTML page, as pictures: it needs nothing but itself to be shown."""
    import vl_convert

    pictures = "\n".join(f"<figure>{vl_convert.vegalite_to_svg(chart.to_dict())}</figure>" for chart in charts)
    path = Path(path)
    with store.replacing(path) as partial:
        partial.write_text(_PAGE.format(title=html.escape(title), pictures=pictures), encoding="utf-8")
    return path


_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body{{font:16px Helvetica,Arial,sans-serif;max-width:860px;margin:2em auto;padding:0 1em;background:#fff;color:#222}}
figure{{margin:2em 0}} svg{{max-width:100%;height:auto}}</style></head>
<body><h1>{title}</h1>
{pictures}
</body></html>
"""
