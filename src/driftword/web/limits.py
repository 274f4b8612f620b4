"""Bounds on what readers can ask for: the length of addresses, and the number of computations at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, quote

from anyio import CapacityLimiter
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from driftword.basics.errors import DriftwordError, OptionError
from driftword.basics.process import available_cores
from driftword.web.cache import CachedResponse
from driftword.web.worker import Worker

MAX_ADDRESS_LENGTH: Final = 8192  # characters, percent-encoded, as in most servers
MAX_PARAMETERS: Final = 100
#: Longer lists of neighbours and passages are computed beside the others.
MANY_ROWS: Final = 50

_AT_ONCE: Final = re.compile(r"/static/.*|/comparisons|/openapi\.json")
_LIGHT: Final = re.compile(r"/search|/suggest\.json|/completions\.json|.*/neighbors\.json")
_HEAVY: Final = re.compile(r".*/print/.*|.*\.png|.*/figure/[^/]*\.zip|.*/band\.json")
_HEAVY_METRICS: Final = ("thirds", "farthest", "path", "step", "neighbors", "ranks")  # need all slices or neighbours


def too_long(scope: Scope) -> Response | None:
    """Refuse an address that is too long, before any of it is read."""
    query = scope["query_string"]
    if len(raw_path(scope)) + len(query) > MAX_ADDRESS_LENGTH:
        return sentence(
            scope, 414, f"The address is longer than {MAX_ADDRESS_LENGTH:,} characters; ask for less at once."
        )
    if query.count(b"&") >= MAX_PARAMETERS:
        return sentence(scope, 414, f"The address has more than {MAX_PARAMETERS} parameters; ask for less at once.")
    return None


def raw_path(scope: Scope) -> bytes:
    """Return the path of an address as it was written; servers need not pass it on."""
    return bytes(scope.get("raw_path") or quote(scope["path"]).encode())


class ComputationLimits:
    """Middleware that bounds how much is computed at once, so that heavy questions do not hold up the others.

    Figures for print, PNG files and long lists are answered one after another, by a process of their own. Pages are
    computed a few at once; so is what readers ask while they type or point, which never waits for a page. Once pages
    have had to wait, further processes compute some of them, since Python runs one thread at a time: the `helpers`.
    Whoever finds too many others waiting is asked to come back; a quarter as many may wait for heavy questions, and a
    tenth for light ones. Without a `worker`, heavy questions are answered here.
    """

    def __init__(
        self, app: ASGIApp, worker: Worker | None = None, helpers: Sequence[Worker] = (), *,
        pages_at_once: int | None = None, max_waiting: int = 200,
    ) -> None:  # fmt: skip
        self.app = app
        self.worker = worker
        self.unused_helpers = list(helpers)
        self.idle_helpers: list[Worker] = []
        self.computed_here = 0
        self.starting: asyncio.Task[None] | None = None
        self.pages = CapacityLimiter(pages_at_once or max(2, available_cores()))
        self.heavy = CapacityLimiter(1)
        self.light = CapacityLimiter(2)
        self.max_waiting = max_waiting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for a turn, and pass the request on."""
        if scope["type"] != "http" or scope["method"] != "GET" or _AT_ONCE.fullmatch(scope["path"]):
            await self.app(scope, receive, send)
            return
        light = _LIGHT.fullmatch(scope["path"]) is not None
        heavy = not light and is_heavy(scope["path"], scope["query_string"])
        lane = self.light if light else self.heavy if heavy else self.pages
        waiting = lane.statistics().tasks_waiting
        if not lane.available_tokens and waiting >= self.max_waiting // (10 if light else 4 if heavy else 1):
            message = "Too many readers are waiting for answers like this one; try again in a few seconds."
            await sentence(scope, 429, message, {"Retry-After": "5"})(scope, receive, send)
            return
        if waiting and lane is self.pages and self.unused_helpers and self.starting is None:
            self.starting = asyncio.create_task(self._start_helper(scope))
        async with lane:
            if lane is self.pages:
                await self._show_page(scope, receive, send)
            elif light or self.worker is None:
                await self.app(scope, receive, send)
            else:
                try:
                    response: ASGIApp = await _ask(self.worker, scope)
                except OptionError as error:
                    response = sentence(scope, 422, f"{error}.")
                await response(scope, receive, send)

    async def _show_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compute a page in this process, or, while it computes another one, in one that is idle."""
        if self.computed_here and self.idle_helpers and (page := await self._help(self.idle_helpers.pop(), scope)):
            await page(scope, receive, send)
            return
        self.computed_here += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.computed_here -= 1

    async def _start_helper(self, scope: Scope) -> None:
        """Start a process and let it compute a page that nobody waits for: the first one takes seconds."""
        await self._help(self.unused_helpers.pop(), scope)
        self.starting = None

    async def _help(self, helper: Worker, scope: Scope) -> CachedResponse | None:
        """Return a page that a helper computed, which is then idle again; None, and no such helper, if it failed."""
        try:
            page = await _ask(helper, scope)
        except (DriftwordError, RuntimeError):  # it was killed, or has said why; pages are computed here
            return None
        self.idle_helpers.append(helper)
        return page


async def _ask(worker: Worker, scope: Scope) -> CachedResponse:
    return await run_in_threadpool(worker.respond, scope["path"], scope["query_string"])


def is_heavy(path: str, query: bytes) -> bool:
    """Tell whether an address takes much longer to compute than a word's page."""
    if _HEAVY.fullmatch(path):
        return True
    parameters = dict(parse_qsl(query.decode("latin-1")))
    rows = (parameters.get(name, "") for name in ("n", "passages_n"))
    by_heavy_metric = parameters.get("metric") in _HEAVY_METRICS and not path.startswith("/word/")
    return by_heavy_metric or any(number.isdecimal() and int(number[:9]) > MANY_ROWS for number in rows)


def sentence(scope: Scope, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Respond with a sentence alone, without a page that would say whose texts these are."""
    if scope["path"].endswith(".json"):
        return JSONResponse({"error": message, "suggestions": []}, status_code=status, headers=headers)
    return PlainTextResponse(message, status_code=status, headers=headers)
