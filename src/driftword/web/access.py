"""Decides who may read the explorer, and what its pages may do: headers, host names and the token.

Every request passes here first, so nothing is computed, or taken from the cache, for a reader who is not let in.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftword.basics import checks
from driftword.basics.errors import OptionError, StoreError
from driftword.web.limits import raw_path, sentence, too_long

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "private, no-cache",  # no server in between may give a page to others
}
_FRAMED: Final = re.compile(r".*/figure/[^/]*\.html")
_SITE: Final = re.compile(r"https?://([a-z0-9-]+\.)*[a-z0-9-]+(:[0-9]{1,5})?")
#: Names by which this machine reaches itself. A foreign site could point another name at it, and read what is here.
LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass
class AccessControl:
    """Middleware that lets readers in, sets the security headers, and answers a fault with a sentence.

    Pages of the sites `embed_in` may show figures in a frame. `on_error` gives the response if files of the model or
    the corpus were replaced or damaged.
    """

    app: ASGIApp
    hosts: Sequence[str] | None
    token: str | None
    embed_in: Sequence[str]
    on_error: Callable[[Request, StoreError], Any]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        response_started = False
        framed = _FRAMED.fullmatch(scope["path"]) is not None

        async def send_with_headers(message: Message) -> None:
            nonlocal response_started
            if message["type"] == "http.response.start":
                response_started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # a figure has a policy of its own
                if framed:
                    allowed = " ".join(self.embed_in) or "'none'"
                    headers["Content-Security-Policy"] += f"; frame-ancestors {allowed}"
            await send(message)

        key = figure_key(self.token) if framed and self.embed_in else ""
        response = refusal(request, self.hosts, self.token, key)
        try:
            if response is None:
                await self.app(scope, receive, send_with_headers)
        except StoreError as error:
            response = self.on_error(request, error)
        except Exception:  # readers get a sentence; whoever runs the explorer sees the traceback
            if response_started:
                raise
            logging.getLogger(__name__).exception("%s cannot be shown", scope["path"])
            response = sentence(
                scope,
                500,
                "This page cannot be shown because of a fault in driftword. The terminal that runs the explorer shows "
                "the details.",
            )
        if response is not None:
            await response(scope, receive, send_with_headers)


def refusal(request: Request, hosts: Sequence[str] | None, token: str | None, key: str = "") -> Response | None:
    """Return the response to a reader who is not let in, or who first has to be given a cookie.

    With a `key`, whoever gives it is let in, too.
    """
    refused = too_long(request.scope)
    if refused is not None:
        return refused
    name = re.sub(r":[0-9]+$", "", request.headers.get("host", ""))  # without the port
    if hosts is not None and name not in hosts:
        return sentence(request.scope, 421, "This explorer can only be read on the machine it runs on, at 127.0.0.1.")
    if token is None:
        return None
    query = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if key and any(name == "key" and hmac.compare_digest(value.encode(), key.encode()) for name, value in query):
        return None
    given = [value for name, value in query if name == "token"][-1:]
    cookie_name, cookie_value = cookie(token)
    if given and hmac.compare_digest(given[0].encode(), token.encode()):
        # From now on the browser has a cookie, and addresses can be passed on without the token.
        path = "/" + raw_path(request.scope).decode("latin-1").lstrip("/\\")  # never another site
        remaining = urlencode([item for item in query if item[0] != "token"])
        response = RedirectResponse(f"{path}?{remaining}".rstrip("?"), status_code=303)
        response.set_cookie(cookie_name, cookie_value, httponly=True, samesite="lax")
        response.headers["Cache-Control"] = "no-store"
        return response
    if hmac.compare_digest(request.cookies.get(cookie_name, "").encode(), cookie_value.encode()):
        return None
    return sentence(
        request.scope,
        401,
        "This explorer can only be read with its token: open the complete address, with ?token=..., that its terminal "
        "shows or that was given to you.",
    )


def figure_key(token: str | None) -> str:
    """Return the secret in the code of a figure for other sites, with which nothing but figures can be read."""
    return "" if token is None else hashlib.sha256(f"driftword figures {token}".encode()).hexdigest()[:32]


def embedding_sites(given: Sequence[str]) -> list[str]:
    """Return the addresses of sites that may show figures; raise `OptionError` for anything else."""
    sites = [checks.text("embed_in", site).strip().rstrip("/").lower() for site in given]
    for site in sites:
        if not _SITE.fullmatch(site):
            raise OptionError(
                f"`embed_in` is {checks.quoted(site)}; give the address of a site without a path, such as "
                "https://blog.example.org"
            )
    return sites


def cookie(token: str) -> tuple[str, str]:
    """Return the name and the value of the cookie that the browser stores in place of the token.

    Cookies are shared by all ports of a machine, so the name differs from token to token: explorers on two ports do
    not overwrite each other's.
    """
    digest = hashlib.sha256(f"driftword {token}".encode()).hexdigest()
    return f"driftword-{digest[:8]}", digest[8:48]
