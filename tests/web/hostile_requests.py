"""Requests that nobody sends in earnest, drawn at random: the same seed gives the same requests.

`requests` yields requests that are proper HTTP, from plausible to absurd; `raw_requests` yields bytes for a socket,
most of which are not. Both are endless: take as many as you like.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote, quote_plus

from driftword.explore import drift_metrics

Request = tuple[str, str, dict[str, str]]

PARAMETERS = (
    "at", "n", "others", "reference", "passages_at", "passages_n", "where", "from", "to", "metric", "min_count", "skip",
    "sort", "since", "until", "like", "interpolated", "words", "low", "high", "q", "word", "token", "junk",
    "__proto__", "",
)  # fmt: skip
METRICS = (*drift_metrics.METRICS, "taxi")
METHODS = ("GET",) * 16 + ("HEAD", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW")
PATHS = (
    "/", "/index.json", "/index.csv", "/word/{word}", "/word/{word}.json", "/word/{word}.csv", "/word/{word}/time.csv",
    "/word/{word}/neighbors.json", "/word/{word}/passages.json", "/word/{word}/passages.csv", "/compare",
    "/compare.json", "/compare.csv", "/axis", "/axis.json", "/between", "/between.json", "/slice/{label}",
    "/slice/{label}.csv", "/text/{number}", "/text/{number}.json", "/comparisons", "/search", "/suggest.json",
    "/completions.json", "/word/{word}/band.json", "/static/{word}", "/openapi.json", "/{word}", "/figure/{figure}.svg",
    "/word/{word}/concordance", "/word/{word}/concordance.csv",
    "/word/{word}/company", "/word/{word}/senses", "/word/{word}/senses.json",
    "/word/{word}/figure/{figure}.svg", "/word/{word}/figure/{figure}.html", "/word/{word}/embed/{figure}",
    "/word/{word}/figure/{figure}.csv", "/compare/figure/{figure}.svg", "/word/{word}/", "//{word}/{label}",
    "/{word}/../{label}",
)  # fmt: skip
DRAWN_PATHS = ("/word/{word}/print/{kind}.svg", "/word/{word}/figure/{figure}.png", "/print/drift.png")
STRANGE = (
    "", " ", "\0", "\n", "\r\nSet-Cookie: a=b", "..", "../../etc/passwd", "..\\..\\x", "%", "%00", "%zz", "+", "'", '"',
    "<script>alert(1)</script>", "{{7*7}}", "${x}", "';--", "\u202e", "\ufeff", "\ufffd", "é" * 60, "日本", "😀" * 50,
    "a" * 199, "a" * 201, "a" * 1500, "(" * 190, "[" * 190, "1" * 190, "-" * 190, "nan", "inf", "-inf", "1e999", "-1",
    "0", "9" * 30, "9" * 190, "0x10", "1_000", "true", "None", "null", "[]", "~", "~zz", "~" + "ff" * 50, "~00",
    ".json", "a,b,c,d,e,f,g,h", ",", ",,,,", "=", "a=b", "date=", "text=x", "slice=1", "1850-13-45", "-44",
    "99999", "1850/1859", "Q1 1850", "1850-W54", "31.02.1850", "\ud7ff", "ⅷ", "１８５０", "٣", "𝟙",
)  # fmt: skip


def requests(seed: int, words: Sequence[str] = (), labels: Sequence[str] = ()) -> Iterator[Request]:
    """Yield method, target and headers of random requests; `words` and `labels` are those that the model knows."""
    pick = random.Random(seed)

    def text(known: Sequence[str]) -> str:
        kind = pick.random()
        if known and kind < 0.6:
            return pick.choice(known)
        if kind < 0.9:
            return pick.choice(STRANGE)
        characters = (
            chr(pick.choice((pick.randrange(128), pick.randrange(0xD800)))) for _ in range(pick.randrange(40))
        )
        return "".join(characters)

    def value(name: str) -> str:
        if name in ("at", "from", "to", "reference", "passages_at"):
            return text(labels)
        if name in ("words", "low", "high", "others"):
            return ",".join(text(words) for _ in range(pick.randrange(1, 8)))
        if name in ("n", "passages_n", "min_count", "skip"):
            return str(pick.choice((1, 5, 12, 60, pick.randrange(-3, 300)))) if pick.random() < 0.8 else text(())
        if name == "metric":
            return pick.choice(METRICS)
        return text(words)

    while True:
        path = pick.choice(DRAWN_PATHS if pick.random() < 0.02 else PATHS).format(
            word=quote(text(words), safe=pick.choice(("", "/.~"))), label=quote(text(labels), safe=""),
            number=pick.choice((0, 3, 10**6, 2**40, 2**63, -1)) if pick.random() < 0.9 else quote(text(()), safe=""),
            figure=pick.choice(("trajectory", "pace", "tokens", "similarity", "frequency", "movement", "pie")),
            kind=pick.choice(("trajectory", "neighbors", "frequency", "map", "changes", "pie")),
        )  # fmt: skip
        names = [pick.choice(PARAMETERS) for _ in range(pick.choice((0, 0, 1, 1, 2, 3, 4, 8, 40)))]
        query = "&".join(f"{name}={quote_plus(value(name))}" for name in names)
        target = f"{path}?{query}" if query or pick.random() < 0.1 else path
        headers = {"Host": "127.0.0.1"}
        if pick.random() < 0.1:
            headers |= {
                pick.choice(("Cookie", "Accept", "Range", "If-None-Match", "X-Forwarded-Host", "Content-Type")): quote(
                    text(()), safe=" =;/"
                )
            }
        yield pick.choice(METHODS), target, headers


def raw_requests(seed: int) -> Iterator[bytes]:
    """Yield bytes to send to the server's socket: broken, cut off, much too long, or several requests at once."""
    pick = random.Random(seed)
    proper = requests(seed)

    def whole() -> bytes:
        method, target, headers = next(proper)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1", "replace")

    def changed(data: bytes) -> bytes:
        changed_data = bytearray(data)
        for _ in range(pick.randrange(1, 6)):
            changed_data[pick.randrange(len(changed_data))] = pick.randrange(256)
        return bytes(changed_data)

    host = b"Host: 127.0.0.1\r\n"
    kinds: tuple[Callable[[], bytes], ...] = (
        lambda: changed(whole()),
        lambda: whole()[: pick.randrange(1, 60)],
        lambda: pick.randbytes(pick.randrange(1, 300)),
        lambda: whole() * pick.randrange(2, 20),
        lambda: b"GET /slice/" + b"[(" * pick.randrange(30_000) + b" HTTP/1.1\r\n" + host + b"\r\n",
        lambda: b"GET /?" + b"a=b&" * pick.randrange(20_000) + b" HTTP/1.1\r\n" + host + b"\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n" * pick.randrange(10_000) + b"\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + host + b"Cookie: " + b"a=b; " * pick.randrange(9000) + b"\r\n\r\n",
        lambda: b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 99999999\r\n\r\n" + b"x" * pick.randrange(99_999),
        lambda: b"POST / HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n" + b"fffffffff\r\nx",
        lambda: b"GET / HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + host + host + b"\r\n",
        lambda: b"GET / HTTP/9.9\r\n\r\n",
        lambda: b"GET http://evil.example/?token=x HTTP/1.1\r\nHost: [evil\r\n\r\n",
        lambda: b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        lambda: b"OPTIONS * HTTP/1.1\r\n" + host + b"\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + host + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        lambda: b"\r\n" * pick.randrange(1, 2000),
    )
    while True:
        yield pick.choice(kinds)()
