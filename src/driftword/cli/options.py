"""The options of `PrepareOptions` and `Spec` as options of commands, explained as their docstrings do."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError
from driftword.cli.app import add_parameters
from driftword.corpus.options import PrepareOptions
from driftword.models.spec import Spec

#: What help shows as the default of options that are left open.
_DEFAULTS: Final = {
    "text": "text, body, content, ...",
    "time": "date, time, year, ...",
    "min_count": "5, fewer in short texts",
    "phrase_min_count": "10, or 1 in a million words",
    "group": "no groups",
    "unit": "every document",
    "groups": "all values, if they are few",
    "time_format": "dates as people write them",
    "time_from_name": "a date, a month, or a year of four digits",
    "encoding": "detected",
    "language": "all",
    "lemma_language": "told from the text",
    "element": "each text",
    "intercept_precision": "a 300th of the drift precision",
}
_METAVARS: Final = {
    "group": "COLUMN", "groups": "NAMES", "copies": "one|drop|keep", "unit": "COLUMN", "subsample": "T",
    "time_format": "FORMAT", "time_from_name": "REGEX", "encoding": "NAME", "language": "CODE", "stopwords": "FILE",
    "keep": "FILE", "words": "form|lemma|lemma_pos", "lemma_language": "CODE", "variants": "FILE", "element": "NAME",
}  # fmt: skip
#: Options that are files of words on the command line, and lists in Python.
_WORD_LISTS: Final = ("stopwords", "keep")
_TEXTS: Final = ("slices", "tokens", "subsample", "groups")  # which may be something else in Python
_SWITCHES: Final = (
    "numbers",
    "lemmas",
    "old_letters",
    "skip_bad_dates",
    "skip_bad_rows",
    "skip_bad_files",
)  # without --no-...
PAPER_PROTOCOL: Final = typer.Option(
    "--paper",
    help="Use the options of the paper instead of our defaults; those that you give still count.",
    rich_help_panel="Options of the model",
)


def option_help(options: type) -> dict[str, str]:
    """Return what each option of a dataclass means, from its docstring, as plain text."""
    section = inspect.cleandoc(options.__doc__ or "").partition("----------\n")[2]
    texts = re.findall(r"^(\w+)\n((?:    .*\n?)+)", section, re.MULTILINE)
    return {name: _plain(" ".join(text.split())) for name, text in texts}


def _plain(text: str) -> str:
    """Leave out what is only for Python: its marks, its defaults (which help shows), and sentences about it."""
    text = re.sub('``"?|"?``', "", text)
    text = re.sub(r" In Python [^.]*\.", "", text)
    return re.sub(r"(; by default|\. By default) [^.]*\.$", ".", text)


def _parameters(options: type, *, panel: str | None, without: Collection[str]) -> dict[str, tuple[Any, Any]]:
    """Return type and default of a command's parameters, by the name of the option."""
    types = get_type_hints(options, localns={"SliceRule": Any})
    texts = option_help(options)
    added: dict[str, tuple[Any, Any]] = {}
    for field in fields(options):
        name, kind, default = field.name, types[field.name], field.default
        if name in without:
            continue
        text = texts[name]
        if name in _WORD_LISTS:
            kind, default, text = Path | None, None, f"{text} A file with one word per line."
        elif name == "variants":
            kind, text = Path | None, f"{text} A CSV file with two columns, the spelling and the word."
        elif name in _TEXTS:
            kind = str if default is not None else str | None
        names = [f"--{name.replace('_', '-')}"] if name in _SWITCHES else []
        option = typer.Option(
            *names,
            help=text,
            show_default=_DEFAULTS.get(name, True),
            rich_help_panel=panel,
            metavar=_METAVARS.get(name),
        )
        added[name] = (Annotated[kind, option], default)
    return added


def prepare_options(*, only: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command every option of `PrepareOptions`, or some of them; it gets them as `options`."""
    every = {field.name for field in fields(PrepareOptions)}
    without = every.difference(only) if only else ("connectors",)
    added = _parameters(PrepareOptions, panel="Options of the text", without=without)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def wrapper(*args: Any, **given: Any) -> None:
            values = {name: given.pop(name) for name in added}
            values |= {name: _read_words(name, values[name]) for name in _WORD_LISTS if name in values}
            if "variants" in values:
                values["variants"] = _read_variants(values["variants"])
            if (groups := values.get("groups")) is not None:
                values["groups"] = int(groups) if groups.strip().isdecimal() else comma_separated(groups)
            function(*args, options=PrepareOptions(**values), **given)

        add_parameters(wrapper, function, added, instead_of="options")
        return wrapper

    return decorate


def _read_words(option: str, path: Path | None) -> list[str]:
    """Read a list of words, one per line."""
    if path is None:
        return []
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise OptionError(f"The file '{path}' given as `{option}` is not UTF-8; save it as UTF-8") from error
    except OSError as error:
        raise OptionError(f"The file '{path}' given as `{option}` cannot be read: {error.strerror}") from error


def _read_variants(path: Path | None) -> dict[str, str] | None:
    """Read a table of spellings and words; a header is left out if it says what the columns are."""
    if path is None:
        return None
    rows = [line.split("\t" if "\t" in line else ",") for line in _read_words("variants", path)]
    if bad := next((i for i, row in enumerate(rows, start=1) if len(row) != 2), None):
        raise OptionError(f"Line {bad} of '{path}', given as `variants`, does not have two columns; write shew,show")
    named = rows and rows[0][1].strip().lower() in ("word", "lemma", "standard", "modern")
    return {form.strip().strip('"'): word.strip().strip('"') for form, word in rows[1 if named else 0 :]}


def spec_options(*, without: Collection[str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command every option of `Spec`, and `--paper`; it gets them as `spec`."""
    options = _parameters(Spec, panel="Options of the model", without=without)
    call = {"context_of_call": (typer.Context, inspect.Parameter.empty)}
    added = {**call, "paper": (Annotated[bool, PAPER_PROTOCOL], False), **options}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, context_of_call: typer.Context, paper: bool, **given: Any) -> Any:
            values = {name: given.pop(name) for name in options}
            if paper:  # then only what was written counts, not our defaults
                sources = {name: context_of_call.get_parameter_source(name) for name in options}
                written = [name for name, source in sources.items() if source and source.name != "DEFAULT"]
                spec = Spec.paper(**{name: values[name] for name in written})
            else:
                spec = Spec(**values)
            return function(*args, spec=spec, **given)

        add_parameters(wrapper, function, added, instead_of="spec")
        return wrapper

    return decorate
