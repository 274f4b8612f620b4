"""Who may read the explorer, and what its pages may do: headers, host names and the token."""

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
#: Names by which this machine reaches itself. A foreign site could point another name at it, and read what is here.
LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")
COOKIE: Final = "driftword-token"


def restrict_access(app: FastAPI, *, hosts: Sequence[str] | None, token: str | None) -> None:
    """Refuse requests to other host names than these (None allows any), and those without the token, if there is one.

    It also sets the security headers, and answers a fault with a sentence.
    """

    @app.middleware("http")
    async def check_access(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        try:
            response = _refusal(request, hosts, token) or await call_next(request)
        except Exception:  # readers get a sentence; whoever runs the explorer sees the traceback
            logging.getLogger(__name__).exception("%s cannot be shown", request.url.path)
            response = PlainTextResponse(
                "This page cannot be shown because of a fault in driftword. The terminal that runs the explorer shows "
                "the details.",
                status_code=500,
            )
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)  # a figure has a policy of its own
        return response


def _refusal(request: Request, hosts: Sequence[str] | None, token: str | None) -> Response | None:
    """Return the response to a reader who is not let in, or who first has to be given a cookie."""
    host = request.headers.get("host", "")
    if hosts is not None and (host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host) not in hosts:
        return PlainTextResponse(
            "This explorer can only be read on the machine it runs on, at 127.0.0.1.", status_code=421
        )
    if token is None:
        return None
    given = request.query_params.get("token")
    if given is not None and hmac.compare_digest(given.encode(), token.encode()):
        # From now on the browser has a cookie, and addresses can be passed on without the token.
        path = "/" + request.scope["raw_path"].decode("latin-1").lstrip("/\\")  # never another site
        query = request.url.remove_query_params("token").query
        response = RedirectResponse(f"{path}?{query}".rstrip("?"), status_code=303)
        response.set_cookie(COOKIE, _cookie_value(token), httponly=True, samesite="lax")
        return response
    if hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), _cookie_value(token).encode()):
        return None
    return PlainTextResponse(
        "This explorer needs a token: open it with the complete address that was given to you.", status_code=401
    )


def _cookie_value(token: str) -> str:
    """Return what the browser stores in place of the token, which may contain characters a cookie cannot."""
    return hashlib.sha256(token.encode()).hexdigest()
