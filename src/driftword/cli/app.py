"""The program itself: errors as sentences, exit statuses, and what commands share."""

from __future__ import annotations

import _thread
import contextlib
import functools
import inspect
import io
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

import typer

from driftword.basics import limited_memory
from driftword.basics.errors import DriftwordError, DriftwordWarning, OptionError
from driftword.basics.traffic import counting
from driftword.basics.visible_text import visible, visible_lines
from driftword.cli.arguments import CSV, FORMAT, FORMATS, JSON

app = typer.Typer(
    name="driftword",
    help="How words change their meaning over time.\n\n"
    "Bring dated text: [bold]run[/bold] does everything. Or [bold]prepare[/bold] it, [bold]fit[/bold] a model, then "
    "[bold]explore[/bold] it in the browser or ask with the commands below.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


UsageError: Any = typer.BadParameter.__mro__[1]  # from whichever Click Typer is built on


def _print_version(wanted: bool) -> None:
    if wanted:
        from driftword import __version__

        print(f"driftword {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command whose errors end in a sentence and an exit status."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def guarded(*args: Any, **options: Any) -> None:
            try:
                with warnings.catch_warnings():
                    warnings.showwarning = _show_warning
                    with counting() as traffic:
                        function(*args, **options)
                sys.stdout.flush()
                for place, counts in traffic.take().items():
                    print(f"driftword: {visible(place)}: {counts}", file=sys.stderr)
            except typer.Exit:
                raise
            except DriftwordError as error:
                if interrupted():
                    end("Interrupted; nothing was written", 130)
                if wanting := limited_memory.explain(error):
                    end(wanting, 2)
                end(with_options(str(error), name or function.__name__), 2)
            except BrokenPipeError:
                _write_no_more()  # the reader has seen enough
            except KeyboardInterrupt:
                end("Interrupted; nothing was written", 130)
            except Exception as error:
                if interrupted():
                    end("Interrupted; nothing was written", 130)
                if wanting := limited_memory.explain(error):
                    end(wanting, 2)
                if isinstance(error, OSError):
                    _write_no_more()
                    end(f"The output cannot be written: {error.strerror or error}", 2)
                if _stopped_by:
                    end("Stopped; nothing was written", 128 + _stopped_by[-1])
                print(visible_lines(traceback.format_exc()), end="", file=sys.stderr)
                end("This is a fault in driftword; please report it with the lines above", 1)

        app.command(name, **settings)(guarded)
        return guarded

    return register


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning of ours as a sentence; those of others are for developers."""
    if isinstance(message, DriftwordWarning):
        from driftword.cli import terminal

        terminal.warn(with_options(str(message)))


def end(message: str, status: int) -> None:
    """End with a sentence on standard error and an exit status."""
    print(f"driftword: {visible(message)}", file=sys.stderr)
    raise typer.Exit(status)


def command_line(*arguments: object) -> str:
    """Spell a command of driftword as a shell reads it."""
    return shlex.join(["driftword", *map(str, arguments)])


@functools.cache
def program() -> Any:
    """Return all commands as Click has them, which take a tenth of a second to make."""
    return typer.main.get_command(app)


def with_options(message: str, command: str | None = None) -> str:
    """Spell the Python in an error as the command line does: `overwrite=True` becomes --overwrite.

    Names that are not options of the command, or without one of any command, lose only their backticks.
    """
    commands = program().commands
    chosen = commands.values() if command is None else [commands[command]]
    options = {p.name: p for one in chosen for p in one.params if p.opts[0].startswith("-")}

    def spelled(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if name not in options:
            return match[0].strip("`")
        option = str(options[name].opts[0])
        if value == "False":
            return next(iter(options[name].secondary_opts), f"no {option}")
        return option + ("" if value in (None, "True") else " " + value.strip("\"'"))

    return re.sub(r"`(\w+)(?:=([^`]*))?`", spelled, message)


def table_format(format: str, as_json: bool, as_csv: bool) -> str:
    """Return the one format that a user chose."""
    chosen = ["json"] * as_json + ["csv"] * as_csv + ([format] if format != "table" else [])
    if len(set(chosen)) > 1:
        raise OptionError(f"A table is written in one format, and {' and '.join(chosen)} were given; choose one")
    if chosen and chosen[0] not in FORMATS:
        raise OptionError(f"`format` is '{chosen[0]}'; choose one of {', '.join(FORMATS)}")
    return chosen[0] if chosen else "table"


class Answer(NamedTuple):
    """A table, and how it is written for people and for papers where that is not plainly as a table."""

    table: Any
    for_people: Callable[[Any, Any], None] | None = None  # prints it on a console
    for_papers: Callable[..., str] | None = None  # returns it in a format, Markdown or LaTeX

    def show(self, format: str) -> None:
        """Write the table in a format."""
        from driftword.basics import tables
        from driftword.cli import terminal

        if format == "json":
            terminal.print_json(self.table.to_dicts())
        elif format == "csv":
            terminal.print_for_programs(tables.csv(self.table))
        elif format == "table":
            (self.for_people or terminal.print_table)(self.table, terminal.out())
            terminal.print_what_intervals_leave_out(self.table, terminal.out())
        elif self.for_papers is not None:
            print(self.for_papers(self.table, format=format))
        else:
            text = tables.markdown(self.table) if format == "markdown" else tables.latex(self.table)
            terminal.print_for_programs(f"{text}\n")


def arrange(groups: Mapping[str, Sequence[str]]) -> None:
    """List the commands in these groups; every command is in one."""
    by_name = {str(one.name or one.callback.__name__): one for one in app.registered_commands if one.callback}
    arranged = []
    for group, names in groups.items():
        for name in names:
            by_name[name].rich_help_panel = group
            arranged.append(by_name.pop(name))
    assert not by_name, f"in no group: {', '.join(by_name)}"
    app.registered_commands[:] = arranged


def question(function: Callable[..., Any]) -> Callable[..., None]:
    """Make a command of a function that returns a table, or an `Answer`."""

    @functools.wraps(function)
    def ask(*args: Any, format: str, as_json: bool, as_csv: bool, **options: Any) -> None:
        chosen = table_format(format, as_json, as_csv)
        result = function(*args, **options)
        (result if isinstance(result, Answer) else Answer(result)).show(chosen)

    formats = {
        "format": (Annotated[str, FORMAT], "table"),
        "as_json": (Annotated[bool, JSON], False),
        "as_csv": (Annotated[bool, CSV], False),
    }
    add_parameters(ask, function, formats)
    return command(function.__name__.replace("_", "-"), no_args_is_help=True)(ask)


def add_parameters(
    wrapper: Any, function: Callable[..., Any], added: dict[str, tuple[Any, Any]], *, instead_of: str = ""
) -> None:
    """Give a wrapper the signature of its function, and further options by name, type and default.

    The function has what they stand for as one parameter, `instead_of`.
    """
    known = inspect.signature(function, eval_str=True)
    parameters = [p for p in known.parameters.values() if p.name not in added and p.name != instead_of]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in added.items()
    ]
    wrapper.__signature__ = known.replace(parameters=parameters, return_annotation=None)
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our letters still shows the rest
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, _stop)
    sys.unraisablehook = _stop_again
    try:
        status = program()(standalone_mode=False)
    except UsageError as error:
        status = 2
        about = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        hint = "; put a phrase into quotes" if "extra argument" in error.format_message() else ""
        if error.format_message():  # none where the help was shown instead
            sentence = f"{error.format_message().rstrip('.')}{hint}{about}"
            print(f"driftword: {visible(sentence)}", file=sys.stderr)
    except (typer.Abort, KeyboardInterrupt):
        status = 130
    except OSError as error:  # from help, which no command writes
        _write_no_more()
        status = 0 if isinstance(error, BrokenPipeError) else 2
        if status:
            print(f"driftword: The output cannot be written: {error.strerror or error}", file=sys.stderr)
    if status == 130:  # otherwise Python ends by the signal itself if the interrupt came while it ran generated code
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status)
    sys.exit(status)


def _write_no_more() -> None:
    """Forget what is still to be written: Python would try again at its end, and complain again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_GRACE: Final = 60.0  # seconds in which a command that was told to end puts everything right
_stopped_by: list[int] = []  # a signal handler has no other place to leave a message


def interrupted() -> bool:
    """Tell whether Ctrl-C was pressed: Polars may turn the exception into another one."""
    return _stopped_by[-1:] == [signal.SIGINT]


def _stop(number: int, _: object) -> None:
    """End by an exception, so that nothing half-written stays."""
    _stopped_by.append(number)
    if number != signal.SIGINT and sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, _GRACE)  # which ends the process, also where it cannot end by itself
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def _stop_again(lost: Any) -> None:
    """Repeat an interrupt that came where Python ignores exceptions, as in LLVM's callbacks; report other faults."""
    if isinstance(lost.exc_value, KeyboardInterrupt | SystemExit):
        again = threading.Timer(0.05, _thread.interrupt_main, _stopped_by[-1:])
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)
