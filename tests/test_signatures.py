"""One order of arguments, everywhere: what is asked, then words, then options by name; one name for one option."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import commands_page
import driftword as dw

#: What may be given by position after the first argument.
AFTER: dict[str, tuple[str, ...]] = {
    "model": ("word", "words", "names", "others", "a", "b", "c", "gold", "source"),
    "corpus": ("spec", "word", "words"),
    "source": ("options",),
    "chart": ("path",),
    "occurrences": ("vectors",), "tables": (),
    "vectors": (), "files": (), "folder": (), "path": (),
}  # fmt: skip
#: Options of every command, or of how a terminal differs from Python.
OF_COMMANDS = {"help", "format", "as_json", "as_csv", "paper"}
#: Options of Python that a command does not need: it shows progress by itself.
OF_PYTHON = {"show_progress"}
#: What commands do besides the function of their name, and what they leave to Python.
BESIDES: dict[str, set[str]] = {
    "prepare": {"skip_bad", "connectors"},
    "prepare-gold": {"vocabulary", "overwrite"},
    "fit": {"significance", "shuffle_dates", "tune"},
    "extend": {"significance"},
    "gold": {"column"},
    "significance": {"n", "beside"},
    "encode": {"model", "top"},
    "plan": {"dim", "spec"},
    "trajectory": {"metric", "min_count"},
    "contrast": {"words"},
    "trends": {"n"},
}
FUNCTIONS = {
    "prepare-gold": "prepare_gold", "gold": "score_gold", "name-senses": "name_senses", "export-uses": "export_uses",
    "score-senses": "score_senses", "gold-uses": "gold_uses",
}  # fmt: skip


def functions() -> Iterator[tuple[str, Any]]:
    for owner, name in [(dw, name) for name in dw.__all__] + [
        (part, name) for part in (dw.plot, dw.baselines) for name in part.__all__
    ]:
        if inspect.isfunction(value := getattr(owner, name)):
            yield f"{owner.__name__}.{name}", value


def test_arguments_come_in_one_order() -> None:
    for name, function in functions():
        parameters = inspect.signature(function).parameters.values()
        first, *rest = [p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert first in AFTER, f"{name}({first}, ...)"
        assert set(rest) <= set(AFTER[first]), f"{name}({first}, {', '.join(rest)})"


def test_what_is_written_and_switches_are_named() -> None:
    methods = [
        (f"{owner.__name__}.{name}", value)
        for owner in (dw.Corpus, dw.Model, dw.Slices)
        for name, value in inspect.getmembers(owner, lambda one: inspect.isfunction(one) or inspect.ismethod(one))
        if not name.startswith("_")
    ]
    for name, function in [*functions(), *methods]:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name in ("out", "overwrite", "corpus_out") or isinstance(parameter.default, bool):
                assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, f"{name}: {parameter.name}"


#: Commands that are no function of their own in Python.
ALONE = {"info", "passages", "plot", "explore", "demo", "run"}


@pytest.mark.parametrize("name", sorted(set(commands_page.COMMANDS) - ALONE))
def test_an_option_has_one_name(name: str) -> None:
    function = getattr(dw, FUNCTIONS.get(name, name))
    asked = {one.name for one in commands_page.COMMANDS[name].params}
    asked -= OF_COMMANDS - ({"format"} if name == "export" else set())
    known = set(inspect.signature(function).parameters) - OF_PYTHON
    if "spec" in known:
        asked, known = asked - set(dw.Spec().to_dict()), known - {"spec"}
    first = next(iter(inspect.signature(function).parameters))
    asked = {{"path": first, "data": "gold"}.get(one, one) for one in asked}
    assert asked ^ known <= BESIDES.get(name, set()) | {"options", first}, f"{name}: {sorted(asked ^ known)}"
