"""The program of a worker: the pages of the explorer, without a server."""

from __future__ import annotations

import asyncio
import os
import pickle
import traceback
from typing import Any

from driftword.basics.child_processes import send, streams
from driftword.basics.errors import DriftwordError, StoreError
from driftword.basics.traffic import counting
from driftword.corpus import Corpus
from driftword.models.model import Model
from driftword.web.app import make_pages
from driftword.web.cache import complete_response


def main() -> None:
    """Answer requests from standard input until it ends, as it does when the explorer ends, however it ends."""
    requests, responses = streams()
    model, corpus, title, embed_key, for_pages = pickle.load(requests)
    if hasattr(os, "nice") and not for_pages:
        os.nice(10)  # pages come first
    try:
        with counting() as traffic:
            text = None if corpus is None else Corpus.open(corpus)
            app = make_pages(Model.open(model), text, title=title, embed_key=embed_key)
    except DriftwordError as error:
        send(responses, (StoreError(str(error)), traffic.take()))
        return
    send(responses, (None, traffic.take()))
    with asyncio.Runner() as runner:
        while True:
            try:
                path, query = pickle.load(requests)
            except EOFError:
                return
            request = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": []}
            response: Any
            try:
                response = runner.run(complete_response(app, request))
            except Exception:
                traceback.print_exc()
                response = RuntimeError("The process for heavy questions failed; the lines above say why")
            send(responses, (response, traffic.take()))


if __name__ == "__main__":
    main()
