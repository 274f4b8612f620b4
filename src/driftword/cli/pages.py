"""Commands for the browser: the explorer, and the report that can be sent around."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import secrets
import socket
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from driftword.basics.checks import comma_separated
from driftword.basics.errors import OptionError
from driftword.basics.visible_text import visible
from driftword.cli.app import command
from driftword.cli.arguments import (
    BETWEEN,
    INTERPOLATED,
    METRIC,
    MIN_COUNT_BOTH,
    MODEL,
    SKIP,
    WHERE_CORPUS,
    two_slices,
)

_TITLE = typer.Option(help="Name of the texts.", show_default="the name of the corpus")


@command(no_args_is_help=True)
def explore(
    path: Annotated[str, MODEL],
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8123,
    title: Annotated[str | None, _TITLE] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in, with a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(help="Secret that readers give in the address.", show_default="random")
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every user of this machine read, without a token.")
    ] = False,
    embed_in: Annotated[
        list[str] | None,
        typer.Option(help="Address of a site that may show figures; can be given more than once.", show_default=False),
    ] = None,
) -> None:
    """Explore a model in the browser: words that changed, their trajectories, neighbours and passages.

    It listens on this machine only, and readers need the token in the address that is printed and opened: other users
    of the machine could read otherwise. Press Ctrl-C to stop it.

    [bold]Examples[/bold]

      driftword explore sotu.model

      driftword explore sotu.model --port 9000 --no-browser

      driftword explore sotu.model --host 0.0.0.0 --token our-seminar

      driftword explore sotu.model --host 0.0.0.0 --embed-in https://blog.example.org
    """
    _check_installed("explorer", "web", ("fastapi", "uvicorn", "jinja2"))
    from driftword.basics.progress import progress
    from driftword.basics.tables import printable
    from driftword.cli import terminal
    from driftword.models.model import Model, why_no_corpus
    from driftword.pages.overview_content import warm_up
    from driftword.web.access import LOCAL
    from driftword.web.app import make_app
    from driftword.web.server import serve

    if token is not None and (not token.strip() or printable(token) != token):
        raise OptionError("The `token` is empty or has characters that cannot be sent; choose another, or leave it out")
    local = host in ("127.0.0.1", "localhost", "::1")
    if no_token and token is not None:
        raise OptionError("Both `token` and `no_token=True` were given; leave one of them out")
    if no_token and not local:
        raise OptionError(
            f"Without a token anyone who reaches this machine could read; leave out `no_token=True`, or `host` '{host}'"
        )
    model = Model.open(path)
    text = model.open_corpus(corpus)
    if text is None:
        terminal.warn(f"{why_no_corpus(model)}, so no passages are shown; name it with --corpus")
    listener = _listen(host, port)
    if not no_token:
        token = token or secrets.token_urlsafe(16)
    if not local:
        terminal.warn(
            f"Listening on {host}: anyone who has the token and reaches this machine can read the model and its texts, "
            "and what is sent is not encrypted"
        )
    with progress() as bar:
        bar.stage("reading the model")
        warm_up(model, text)  # so that the first page comes at once
    app = make_app(model, text, title=title, hosts=LOCAL if local else None, token=token, embed_in=embed_in or ())
    name = f"[{host}]" if ":" in host else host
    address = f"http://{socket.gethostname() if host in ('0.0.0.0', '::') else name}:{listener.getsockname()[1]}/"
    if token is not None:
        address += f"?token={quote(token, safe='')}"
    print(f"Exploring {visible(str(path))} at {address} (Ctrl-C stops it)", flush=True)
    if browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    with contextlib.suppress(KeyboardInterrupt):
        serve(app, listener)


@command(no_args_is_help=True)
def report(
    path: Annotated[str, MODEL],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write.", show_default="report.html")] = None,
    words: Annotated[
        list[str] | None, typer.Option(help="Words to include in any case, separated by commas.", show_default=False)
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "-n", help="How many of the words that changed most.", show_default="50; with --site all significant ones"
        ),
    ] = None,
    metric: Annotated[str | None, METRIC] = None,
    between: Annotated[str | None, BETWEEN] = None,
    min_count: Annotated[int | None, MIN_COUNT_BOTH] = None,
    skip: Annotated[int | None, SKIP] = None,
    interpolated: Annotated[bool, INTERPOLATED] = False,
    title: Annotated[str | None, _TITLE] = None,
    passages: Annotated[
        bool, typer.Option("--passages/--no-passages", help="Include passages, which may be under copyright.")
    ] = True,
    usage: Annotated[
        str | None,
        typer.Option(help="Vectors of occurrences: find passages and senses by these.", show_default=False),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write a folder with a page for each word instead, for a web host.", show_default=False
        ),
    ] = None,
    corpus: Annotated[str | None, WHERE_CORPUS] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file, or the folder, if it exists.")
    ] = False,
) -> None:
    """Write one HTML file that shows the words that changed most: it works offline, by e-mail, or on any web site.

    [bold]Examples[/bold]

      driftword report sotu.model --out sotu.html

      driftword report sotu.model --words energy,"social security" -n 100 --no-passages

      driftword report sotu.model --usage sotu.usage

      driftword report sotu.model --site public/sotu   (all significant words, a file for each)
    """
    _check_installed("report", "report", ("jinja2",))
    from driftword.cli import terminal
    from driftword.models.model import Model, why_no_corpus
    from driftword.pages import offline_report

    if out is not None and site is not None:
        raise OptionError("Both `out` and `site` were given; leave one of them out")
    model = Model.open(path)
    text = model.open_corpus(corpus) if passages else None
    if passages and text is None:
        terminal.warn(f"{why_no_corpus(model)}, so there are no passages; name it with --corpus")
    written = offline_report.report(
        model, comma_separated(words), out=site or out or Path("report.html"), site=site is not None, corpus=text, n=n,
        between=two_slices(between), metric=metric, min_count=min_count, skip=skip, interpolated=interpolated,
        title=title, passages=passages, usage=usage, overwrite=overwrite,
    )  # fmt: skip
    if site is None:
        print(f"Wrote {visible(str(written))} ({written.stat().st_size / 1e6:.1f} MB)")
        return
    files = [file for file in written.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files) / 1e6
    print(f"Wrote {len(files):,} files to {visible(str(written))} ({size:.1f} MB); its first page is index.html")


def _listen(host: str, port: int) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = addresses[0]
        with contextlib.ExitStack() as unless_it_fails:
            # Only where the protocol is named does asyncio send small packets at once, instead of 40 ms later.
            listener = unless_it_fails.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()  # whoever comes before the server is ready waits
            unless_it_fails.pop_all()
    except (socket.gaierror, UnicodeError) as error:
        raise OptionError(f"'{host}' is not an address of this machine; use 127.0.0.1 or 0.0.0.0") from error
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise OptionError(f"'{host}' is not an address of this machine; use 127.0.0.1 or 0.0.0.0") from error
        raise OptionError(
            f"Port {port} of {host} cannot be used ({error.strerror}); choose another `port`, or 0 for any free one"
        ) from error
    return listener


def _check_installed(what: str, extra: str, packages: Sequence[str]) -> None:
    """Check for the packages that an extra of the installation brings."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise OptionError(f"The {what} needs {missing[0]}; install it with: pip install 'driftword[{extra}]'")
