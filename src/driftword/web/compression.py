"""Texts travel compressed, and not at all to a browser that has them already."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from typing import Final

Headers = list[tuple[bytes, bytes]]

MIN_BYTES: Final = 1000  # shorter ones are not worth it
_TEXTS: Final = (b"text/", b"application/json", b"image/svg+xml")


def value(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> bytes:
    """Return the value of a header; empty where it is missing."""
    return next((text for key, text in headers if key.lower() == name), b"")


def compress(headers: Headers, body: bytes) -> tuple[Headers, bytes]:
    """Compress a response that is a text, and add a tag by which a browser can ask whether it is still the same."""
    tag = b'W/"' + hashlib.sha256(body).hexdigest()[:20].encode() + b'"'
    rest = [(name, text) for name, text in headers if name.lower() not in (b"content-length", b"etag")]
    rest += [(b"etag", tag), (b"vary", b"Accept-Encoding")]
    if len(body) >= MIN_BYTES and value(headers, b"content-type").startswith(_TEXTS):
        body = gzip.compress(body, compresslevel=6, mtime=0)
        rest.append((b"content-encoding", b"gzip"))
    return [*rest, (b"content-length", str(len(body)).encode())], body


def decompress(headers: Headers, body: bytes) -> tuple[Headers, bytes]:
    """Undo this, for a program that does not accept compressed responses."""
    if value(headers, b"content-encoding") != b"gzip":
        return headers, body
    body = gzip.decompress(body)
    rest = [(name, text) for name, text in headers if name not in (b"content-encoding", b"content-length")]
    return [*rest, (b"content-length", str(len(body)).encode())], body


def accepts_gzip(request: Sequence[tuple[bytes, bytes]]) -> bool:
    """Tell from the headers of a request whether compressed responses are understood."""
    for offer in value(request, b"accept-encoding").split(b","):
        name, _, weight = offer.strip().lower().partition(b";")
        if name.strip() in (b"gzip", b"*") and weight.replace(b" ", b"") not in (
            b"q=0",
            b"q=0.0",
            b"q=0.00",
            b"q=0.000",
        ):
            return True
    return False


def is_known(request: Sequence[tuple[bytes, bytes]], headers: Headers) -> bool:
    """Tell whether a browser already has a response, by its tag."""
    tag = value(headers, b"etag")
    return bool(tag) and tag in [one.strip() for one in value(request, b"if-none-match").split(b",")]
