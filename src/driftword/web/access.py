"""Who may read, and what a page may do: headers, host names and the token."""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
#: Names under which this machine is reached from itself; others would be a foreign page's trick.
LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")
COOKIE: Final = "driftword-token"


def guard(app: FastAPI, *, hosts: Sequence[str] | None, token: str | None) -> None:
    """Let only readers in who come by one of these host names (any, if None) and with the token, if there is one."""

    @app.middleware("http")
    async def secured(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        try:
            response = _refused(request, hosts, token) or await call_next(request)
        except Exception:  # readers get a sentence; whoever runs the explorer sees the rest
            logging.getLogger(__name__).exception("%s cannot be shown", request.url.path)
            response = PlainTextResponse("This cannot be shown: a fault in driftword.", status_code=500)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)  # a figure has a policy of its own
        return response


def _refused(request: Request, hosts: Sequence[str] | None, token: str | None) -> Response | None:
    """Return the answer for a reader who is not let in, or not yet."""
    host = request.headers.get("host", "")
    if hosts is not None and (host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host) not in hosts:
        return PlainTextResponse("This explorer is read on its own machine, at 127.0.0.1.", status_code=421)
    if token is None:
        return None
    given = request.query_params.get("token")
    if given is not None and hmac.compare_digest(given.encode(), token.encode()):
        # From now on the browser keeps it, and addresses can be passed on without it.
        path = "/" + request.scope["raw_path"].decode("latin-1").lstrip("/\\")  # never another site
        query = request.url.remove_query_params("token").query
        response = RedirectResponse(f"{path}?{query}".rstrip("?"), status_code=303)
        response.set_cookie(COOKIE, _kept(token), httponly=True, samesite="lax")
        return response
    if hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), _kept(token).encode()):
        return None
    return PlainTextResponse(
        "This explorer is not open to everyone: use the whole address that was given to you, with its token.",
        status_code=401,
    )


def _kept(token: str) -> str:
    """Return what the browser keeps in the place of a token, which may have any letters."""
    return hashlib.sha256(token.encode()).hexdigest()
