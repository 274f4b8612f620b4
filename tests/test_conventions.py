"""Conventions of the house: how errors are written, and that everything public is documented."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import commands_page
import driftword as dw
from conftest import ROOT
from driftword.basics import errors
from driftword.benchmarking.fit_process import METHODS
from driftword.cli.app import with_options
from driftword.engines.registry import ENGINES
from driftword.exchange.exporting import FORMATS
from driftword.explore.drift_metrics import METRICS
from driftword.models.spec import WALKS

PACKAGE = Path(dw.__file__).parent
ERRORS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
DOCS = {page.name: page.read_text() for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
COMMANDS = commands_page.COMMANDS


def messages() -> list[tuple[str, str]]:
    """Return every error message of the package with its place; what is computed in it stands as {}."""
    found = []
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS
            if call and node.args:  # type: ignore[attr-defined]
                text = _text(node.args[0])  # type: ignore[attr-defined]
                if text is not None:
                    found.append((f"{file.relative_to(PACKAGE)}:{node.lineno}", text))  # type: ignore[attr-defined]
    return found


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def test_errors_begin_with_a_capital_or_the_quoted_value() -> None:
    texts = messages()
    assert len(texts) > 100
    wrong = [f"{place}: {text}" for place, text in texts if not re.match(r"[A-Z'`{]", text)]
    assert wrong == []


def test_the_library_names_parameters_and_not_options() -> None:
    wrong = [f"{place}: {text}" for place, text in messages() if re.search(r"(^|[\s(])--\w", text)]
    assert wrong == []


def test_the_command_line_names_options() -> None:
    assert with_options("pass `overwrite=True`, or give another `out`") == "pass --overwrite, or give another --out"
    assert with_options('pass `time_format="seconds"`') == "pass --time-format seconds"
    assert with_options("`n` is 0; use `drift`, with `phrases=False`") == "-n is 0; use drift, with --no-phrases"


def test_errors_are_what_python_expects() -> None:
    assert issubclass(dw.OptionError, ValueError)
    assert issubclass(dw.UnknownWordError, KeyError)
    assert issubclass(dw.UnknownSliceError, KeyError)
    assert issubclass(dw.ExistsError, FileExistsError)
    assert {getattr(dw, name) for name in ERRORS} == {getattr(errors, name) for name in ERRORS}
    assert str(dw.ExistsError("'x' already exists")) == "'x' already exists"


def test_functions_and_modules_share_no_names() -> None:
    for package in ("", ".corpus", ".preparing", ".explore", ".plot", ".pages"):
        module = importlib.import_module(f"driftword{package}")
        folder = Path(str(module.__file__)).parent
        submodules = {file.stem for file in folder.glob("*.py")} | {file.parent.name for file in folder.glob("*/*.py")}
        functions = {name for name in dir(module) if inspect.isfunction(getattr(module, name))}
        assert not functions & submodules, package


@pytest.mark.parametrize("name", sorted(dw.__all__))
def test_every_public_name_is_documented(name: str) -> None:
    value = getattr(dw, name)
    assert inspect.getdoc(value)
    if inspect.isfunction(value):
        _check_parameters(name, value)
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        assert any(f"dw.{name}" in text for text in DOCS.values()), f"dw.{name} is in no document"


def test_every_public_method_and_chart_is_documented() -> None:
    for owner in (dw.Corpus, dw.Model, dw.Slices, dw.plot):
        public = [name for name, value in vars(owner).items() if not name.startswith("_") and inspect.isfunction(value)]
        for name in public:
            assert inspect.getdoc(getattr(owner, name)), f"{owner}.{name}"
    for name in dw.plot.KINDS:
        _check_parameters(f"plot.{name}", getattr(dw.plot, name))


def _check_parameters(name: str, function: Any) -> None:
    """Every parameter stands in the docstring's section, and nothing else does; options may be those of a class."""
    section = inspect.cleandoc(function.__doc__ or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    listed = {part.strip(" *") for line in section.splitlines() if line[:1].strip() for part in line.split(",")}
    options = (
        {field.name for field in dataclasses.fields(dw.PrepareOptions)} | {"changes"} if name == "prepare" else set()
    )
    assert listed - options == set(inspect.signature(function).parameters) - options, name


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_explained(name: str) -> None:
    command = COMMANDS[name]
    assert f"driftword {name}" in command.help or name == "demo"  # an example
    for parameter in command.params:
        assert parameter.help or parameter.name == "help", f"{name}: {parameter.name}"


def test_the_page_of_commands_says_what_their_help_says() -> None:
    assert commands_page.PAGE.read_text() == commands_page.make_page(), "run: python tests/commands_page.py"


def test_every_option_of_a_spec_is_on_the_command_line() -> None:
    fit, compare = ({parameter.name for parameter in COMMANDS[name].params} for name in ("fit", "compare"))
    assert set(dw.Spec().to_dict()) <= fit
    assert set(dw.Spec().to_dict()) - {"model", "context"} <= compare


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [
        ("drift", "metric", METRICS), ("fit", "engine", ENGINES), ("fit", "walk", WALKS),
        ("benchmark", "models", METHODS), ("export", "format", FORMATS),
    ],
)  # fmt: skip
def test_help_names_every_choice(command: str, option: str, names: Iterable[str]) -> None:
    """Help is written by hand, since the modules that know the choices take long to import."""
    asked = next(one for one in commands_page.COMMANDS[command].params if one.name == option)
    assert all(re.search(rf"\b{name}\b", asked.help) for name in names), asked.help


def test_the_guide_for_contributors_names_files_that_are_there() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`([\w/-]+\.(?:py|md|toml|txt))`", guide))
    assert len(named) > 20
    places = (ROOT, PACKAGE)
    assert {name for name in named if not any((place / name).exists() for place in places)} == set()
