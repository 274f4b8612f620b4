"""Commands for the browser: the explorer, and the report that can be sent around."""

from __future__ import annotations

import importlib.util
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from driftword.cli.shell import MODEL, command
from driftword.errors import OptionError

_NEEDED = ("fastapi", "uvicorn", "jinja2")


@command(no_args_is_help=True)
def explore(
    path: Annotated[Path, MODEL],
    corpus: Annotated[
        Path | None, typer.Option(help="The corpus it was fitted to.", show_default="where it was then")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8123,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
) -> None:
    """Look at a model in the browser: words that changed, their ways, neighbours and texts.

    It listens on this machine alone (127.0.0.1). Ctrl-C ends it.

    [bold]Examples[/bold]

      driftword explore sotu.model

      driftword explore sotu.model --port 9000 --no-browser
    """
    _check_installed()
    import socket

    import uvicorn

    from driftword import terminal
    from driftword.model import Model
    from driftword.web.app import make_app, open_corpus

    model = Model.open(path)
    held = open_corpus(model, corpus)
    if held is None:
        terminal.warn("the model's corpus is not where it was, so no texts are shown; name it with --corpus")
    app = make_app(model, held)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise OptionError(f"port {port} cannot be used ({error.strerror}); choose another with --port, or 0") from error
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    print(f"Exploring {path} at {address} (Ctrl-C ends it)", flush=True)
    if browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    server.run(sockets=[listener])


@command(no_args_is_help=True)
def report(
    path: Annotated[Path, MODEL],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")] = Path("report.html"),
    words: Annotated[str, typer.Option(help="Words that must be in it, with commas between.")] = "",
    n: Annotated[int, typer.Option("-n", help="How many of the words that changed most.")] = 50,
    metric: Annotated[str, typer.Option(help="As in [bold]drift[/bold].")] = "absolute",
    min_count: Annotated[int, typer.Option(help="Only words that occur so often in the first and last slice.")] = 5,
    skip: Annotated[int, typer.Option(help="Leave out so many of the most frequent words.")] = 0,
    passages: Annotated[
        bool, typer.Option("--passages/--no-passages", help="Lines of the texts, which may be under copyright.")
    ] = True,
    corpus: Annotated[
        Path | None, typer.Option(help="The corpus it was fitted to.", show_default="where it was then")
    ] = None,
) -> None:
    """Write one HTML file that shows the words that changed most: it works offline, by e-mail, or on any web site.

    [bold]Examples[/bold]

      driftword report sotu.model --out sotu.html

      driftword report sotu.model --words energy,"social security" -n 100 --skip 200 --no-passages
    """
    _check_installed()
    from driftword.model import Model
    from driftword.web.app import open_corpus
    from driftword.web.report import write_report

    model = Model.open(path)
    chosen = [word.strip() for word in words.split(",") if word.strip()]
    held = open_corpus(model, corpus) if passages else None
    written = write_report(
        model, out, corpus=held, words=chosen, n=n, metric=metric, min_count=min_count, skip=skip, passages=passages
    )
    print(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB)")


def _check_installed() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise OptionError(f"exploring needs {missing[0]}; install it with: pip install 'driftword[web]'")
