"""A figure of a page as files: its values as a table, and an archive with figure, values, and how they were made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from driftword.basics.tables import csv, printable
from driftword.corpus import Slices
from driftword.exchange.model_card import bibtex, fit_facts
from driftword.models.model import Model
from driftword.pages.figures import Figure
from driftword.pages.glance_figures import check_figure, saved_figure

#: Archives of the same figure are the same bytes.
_NO_DATE: Final = (1980, 1, 1, 0, 0, 0)


def figure_values(slices: Slices, content: Mapping[str, Any], name: str) -> pl.DataFrame:
    """Return the values that a figure of a page shows, one row for each mark; see `saved_figure` for its names."""
    match check_figure(content, name):
        case "timeline":
            rows = [
                {"word": row["word"], "slice": row["slice"], "change": row["change"], "from": ", ".join(row["before"]),
                 "to": ", ".join(row["after"])}
                for row in content["timeline"]["words"]
            ]  # fmt: skip
        case "stream":
            rows = [
                {"neighbor": row["word"], "slice": label, "similarity": value}
                for row in content["stream"]
                for label, value in zip(slices.labels, row["similarity"], strict=True)
            ]
        case "journey":
            journey = content["journey"]
            places = [(label, "slice", place) for label, place in zip(slices.labels, journey["path"], strict=True)]
            places += [(anchor["word"], "neighbor", anchor["place"]) for anchor in journey["anchors"]]
            rows = [{"name": shown, "kind": kind, "x": place[0], "y": place[1]} for shown, kind, place in places]
        case _:
            rows = _lines(slices, content["figures"][name])
    return pl.DataFrame(rows, infer_schema_length=None)


def _lines(slices: Slices, figure: Figure) -> list[dict[str, Any]]:
    """Return the values of lines and bars; what no line of the figure has is left out."""
    unknown = [None] * len(slices)
    rows = []
    for one in figure["series"]:
        low, high = one.get("interval", (unknown, unknown))
        columns = {
            "value": one["values"], "low": low, "high": high, "count": one["counts"] or unknown,
            "observed": one["observed"] or unknown,
        }  # fmt: skip
        rows += [
            {"line": one["name"], "slice": label, **dict(zip(columns, values, strict=True))}
            for label, *values in zip(slices.labels, *columns.values(), strict=True)
        ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    return table.drop(
        column for column in ("low", "high", "count", "observed") if table[column].is_null().all()
    ).to_dicts()


def figure_archive(
    model: Model, content: Mapping[str, Any], name: str, *, page: str, png: Callable[[str], bytes]
) -> bytes:
    """Return a ZIP of a figure, its values, and how they were made.

    `page` is the address of its page, without that of the explorer, and `png` turns an SVG into a PNG.
    """
    title, drawn = saved_figure(model.slices, content, name)
    about = f"""# {title}

- `figure.svg`, `figure.png`: the figure
- `values.csv`: the values that it shows

It is a figure of `{page}` in the explorer of this model.

## How the model was fitted

{fit_facts(model)}

## Cite

{content["cite"]}

```bibtex
{bibtex(content["title"], content["cite"])}
```
"""
    files = {
        "figure.svg": drawn.encode(), "figure.png": png(drawn),
        "values.csv": csv(figure_values(model.slices, content, name)).encode(), "README.md": printable(about).encode(),
    }  # fmt: skip
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            archive.writestr(zipfile.ZipInfo(file, _NO_DATE), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
