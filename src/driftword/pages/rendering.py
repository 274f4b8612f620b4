"""The templates, with the functions they call: the same for the explorer and for the report."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from driftword.exchange.model_card import bibtex
from driftword.explore.drift_metrics import METRICS
from driftword.explore.vectors import MIN_COUNT
from driftword.models.model import Model
from driftword.pages.content import MAX_GROUPS, MAX_ROWS, MAX_SLICES
from driftword.pages.figures import draw, legend, sparkline
from driftword.pages.glance_figures import draw_journey, draw_stream, draw_timeline
from driftword.pages.svg import times

_CODE: Final = re.compile(r"`([A-Za-z_][\w.]*(?:=[^`]*)?)`")


def templates(model: Model, *, href: Callable[[str], str | None], title: str | None, **names: Any) -> Environment:
    """Return the templates for a model; whatever they insert is escaped.

    `href` returns the address of a word's page; None for a word that has none.
    """

    def link(word: str) -> Markup | str:
        address = href(word)
        return Markup('<a href="{}">{}</a>').format(address, word) if address else word

    environment = Environment(
        loader=PackageLoader("driftword.pages"), autoescape=select_autoescape(), trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    environment.filters["thousands"] = lambda number: "unknown" if number is None else f"{number:,}"
    environment.filters["times"] = times
    environment.globals |= {
        "bibtex": bibtex,
        "draw": partial(draw, model.slices),
        "draw_journey": partial(draw_journey, model.slices),
        "draw_stream": partial(draw_stream, model.slices),
        "draw_timeline": partial(draw_timeline, model.slices),
        "href": href,
        "legend": legend,
        "link": link,
        "sparkline": partial(sparkline, model.slices),
        "max_groups": MAX_GROUPS,
        "max_rows": MAX_ROWS,
        "max_slices": MAX_SLICES,
        "metric_descriptions": METRICS,
        "few": MIN_COUNT,
        "model_title": title or model.title,
        **names,
    }
    return environment


def without_backticks(message: str) -> str:
    """Return an error message as pages show it: code such as `n` loses its backticks."""
    return _CODE.sub(r"\1", message)
