"""The program of a worker: the pages of the explorer, without a server."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback

from starlette.types import Scope

from driftword.basics.errors import DriftwordError
from driftword.corpus import Corpus
from driftword.models.model import Model
from driftword.web.app import make_pages
from driftword.web.cache import complete_response
from driftword.web.worker import read, write


def _request(path: str, query: bytes) -> Scope:
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "query_string": query, "root_path": "", "headers": [], "client": None, "server": None,
    }  # fmt: skip


def main() -> None:
    """Answer requests from standard input until it ends, as it does when the explorer ends, however it ends."""
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints something must not print it between responses
    requests = sys.stdin.buffer
    model_path, corpus_path, title, for_pages = read(requests)
    if hasattr(os, "nice") and not for_pages:
        os.nice(10)  # pages come first
    try:
        model = Model.open(model_path)
        app, _ = make_pages(model, None if corpus_path is None else Corpus.open(corpus_path), title=title)
    except DriftwordError as error:
        write(responses, str(error))
        return
    write(responses, None)
    with asyncio.Runner() as runner:
        while True:
            try:
                path, query = read(requests)
            except EOFError:
                return
            try:
                response: tuple[object, ...] | None = tuple(runner.run(complete_response(app, _request(path, query))))
            except Exception:
                traceback.print_exc()
                response = None
            write(responses, response)


if __name__ == "__main__":
    main()
