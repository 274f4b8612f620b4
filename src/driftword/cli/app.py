"""The program itself: errors as sentences, exit statuses, and what commands share."""

from __future__ import annotations

import _thread
import contextlib
import functools
import inspect
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer

from driftword.errors import DriftwordError, OptionError

app = typer.Typer(
    name="driftword",
    help="How words change their meaning over time.\n\nBring dated text: [bold]prepare[/bold] it, then look at it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


UsageError: Any = typer.BadParameter.__mro__[1]  # whichever Click it is that Typer stands on


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command whose errors end in a sentence and an exit status."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def guarded(*args: Any, **options: Any) -> None:
            try:
                function(*args, **options)
                sys.stdout.flush()
            except typer.Exit:
                raise
            except DriftwordError as error:
                end(str(error), 2)
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
            except OSError as error:
                end(f"the output cannot be written: {error.strerror or error}", 2)
            except KeyboardInterrupt:
                end("interrupted; nothing was written", 130)
            except MemoryError:
                end("there is not enough memory for this; use a smaller --dim or --vocabulary, or longer slices", 1)
            except Exception:
                if _stopped_by:  # Polars may make another error of what was raised within
                    end("interrupted", 128 + _stopped_by[-1])
                traceback.print_exc()
                end("that is a fault in driftword; please report it with the lines above", 1)

        app.command(name, **settings)(guarded)
        return guarded

    return register


def end(message: str, status: int) -> None:
    """End with a sentence on standard error and an exit status."""
    print(f"driftword: {message}", file=sys.stderr)
    raise typer.Exit(status)


CORPUS = typer.Argument(help="A corpus directory, as made by [bold]prepare[/bold].", show_default=False)
MODEL = typer.Argument(help="A model directory, as made by [bold]fit[/bold].", show_default=False)
JSON = typer.Option("--json", help="Write JSON for programs.")
CSV = typer.Option("--csv", help="Write CSV for programs.")
FORM = typer.Option("--as", help="markdown or latex, for papers.", show_default=False)


def show(table: Any, as_json: bool, as_csv: bool, form: str | None = None, for_people: Any = None) -> None:
    """Render a table for programs or papers; for people in columns, or as `for_people` does."""
    from driftword import tables, terminal

    if as_json + as_csv + (form is not None) > 1:
        raise OptionError("a table is written in one form; choose one of --json, --csv and --as")
    if as_json:
        terminal.print_json(table.to_dicts())
    elif as_csv:
        print(tables.csv(table), end="")
    elif form is None:
        (for_people or terminal.print_table)(table, terminal.out())
    elif form in ("markdown", "latex"):
        print(tables.markdown(table) if form == "markdown" else tables.latex(table))
    else:
        raise OptionError(f"a table can be written as markdown or latex, not as '{form}'")


def question(function: Callable[..., Any]) -> Callable[..., None]:
    """Make a command of a function that returns a table, or a table and how to print it for people."""

    @functools.wraps(function)
    def answer(*args: Any, as_json: bool, as_csv: bool, form: str | None, **options: Any) -> None:
        found = function(*args, **options)
        table, for_people = found if isinstance(found, tuple) else (found, None)
        show(table, as_json, as_csv, form, for_people)

    known = inspect.signature(function, eval_str=True)
    kinds = {"as_json": (Annotated[bool, JSON], False), "as_csv": (Annotated[bool, CSV], False),
             "form": (Annotated[str | None, FORM], None)}  # fmt: skip
    asked = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in kinds.items()
    ]
    answer.__signature__ = known.replace(parameters=[*known.parameters.values(), *asked], return_annotation=None)  # type: ignore[attr-defined]
    answer.__annotations__ = {name: p.annotation for name, p in answer.__signature__.parameters.items()}  # type: ignore[attr-defined]
    return command(function.__name__, no_args_is_help=True)(answer)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our letters still shows the rest
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, _stop)
    sys.unraisablehook = _stop_again
    try:
        status = app(standalone_mode=False)
    except UsageError as error:
        status = 2
        about = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        hint = "; put a phrase into quotes" if "extra argument" in error.format_message() else ""
        print(f"driftword: {error.format_message().rstrip('.')}{hint}{about}", file=sys.stderr)
    except (typer.Abort, KeyboardInterrupt):
        status = 130
    if status == 130:  # otherwise Python ends by the signal itself if the interrupt came while it ran generated code
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status)
    sys.exit(status)


_stopped_by: list[int] = []  # a handler of signals has no other place to leave word


def _stop(number: int, _: object) -> None:
    """End by an exception, so that nothing half-written stays."""
    _stopped_by.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def _stop_again(lost: Any) -> None:
    """Repeat an interrupt that came where Python ignores exceptions, as in LLVM's callbacks; tell of other faults."""
    if isinstance(lost.exc_value, KeyboardInterrupt | SystemExit):
        again = threading.Timer(0.05, _thread.interrupt_main, _stopped_by[-1:])
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)
