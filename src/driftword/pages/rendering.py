"""The templates, with what they may call: one set for the explorer and for the report."""

from __future__ import annotations

from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from driftword.explore.vectors import MIN_COUNT
from driftword.model import Model
from driftword.pages.content import MEASURES, MOST_SLICES
from driftword.pages.figures import draw, legend, times


def templates(model: Model, *, title: str | None = None, **names: Any) -> Environment:
    """Return the templates, which escape whatever stands in the text."""
    found = Environment(
        loader=PackageLoader("driftword.pages"), autoescape=select_autoescape(), trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    found.filters["thousands"] = "{:,}".format
    found.filters["times"] = times
    found.globals |= {
        "draw": partial(draw, model.slices),
        "legend": legend,
        "most_slices": MOST_SLICES,
        "measures": MEASURES,
        "little": MIN_COUNT,
        "model_title": title or model.title,
        **names,
    }
    return found
