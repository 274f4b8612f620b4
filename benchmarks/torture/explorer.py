"""An explorer under attack, and a client that sends whatever it is told to."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from torture.arena import Arena
from torture.processes import Running, wait_until


@dataclass(frozen=True)
class Response:
    """What came back; status 0 where nothing that could be read did."""

    status: int
    head: str
    body: bytes
    seconds: float


class Explorer:
    """A running `driftword explore`, and the cookie that its printed address gives."""

    def __init__(self, arena: Arena, model: Path, corpus: Path, cwd: Path) -> None:
        argv = ["explore", model, "--corpus", corpus, "--no-browser", "--port", "0"]
        self.running: Running = arena.launcher.start(argv, cwd)
        text = ""

        def printed() -> bool:
            nonlocal text
            text = self.running.stdout.read_text() if self.running.stdout.exists() else ""
            return ("http://" in text and "\n" in text) or self.running.ended.is_set()

        wait_until(printed, 60)
        match = re.search(r"http://\S+", text)
        if match is None:
            raise SystemExit(f"The explorer did not start: {self.running.wait(1).stderr}")
        address = urlsplit(match[0])
        self.port = address.port or 80
        self.cookie = ""
        first = self.get(f"{address.path}?{address.query}" if address.query else address.path)
        cookies = re.findall(r"(?im)^set-cookie: ([^;\r\n]+)", first.head)
        self.cookie = "; ".join(cookies)

    @property
    def alive(self) -> bool:
        """Whether the server is still running."""
        return not self.running.ended.is_set()

    def get(self, target: str, *, timeout: float = 20) -> Response:
        """Ask for a page as a reader would."""
        return self.ask("GET", target, {"Host": f"127.0.0.1:{self.port}"}, timeout=timeout)

    def ask(self, method: str, target: str, headers: dict[str, str], *, timeout: float = 20) -> Response:
        """Send a request and read the whole response."""
        headers = {"Host": f"127.0.0.1:{self.port}", **headers, "Connection": "close"}
        if self.cookie and "Cookie" not in headers:
            headers["Cookie"] = self.cookie
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return self.send(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "replace"), timeout=timeout)

    def send(self, data: bytes, *, timeout: float = 20) -> Response:
        """Send bytes, and read until the server has nothing more to say."""
        begin = time.monotonic()
        received = bytearray()
        with contextlib.suppress(ConnectionError), self.connect(timeout) as connection:
            try:
                connection.sendall(data)
                while time.monotonic() - begin < timeout and (part := connection.recv(1 << 16)):
                    received += part
            except TimeoutError:
                pass
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
        return Response(int(status[1]) if status else 0, head.decode("latin-1"), body, time.monotonic() - begin)

    def connect(self, timeout: float = 20) -> socket.socket:
        """Open a connection, and leave the rest to the caller."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def memory(self) -> float:
        """Return the memory of the server and of what it started, in MB, without what is mapped from files."""
        total = 0.0
        for status in Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(OSError, IndexError):
                if (status.parent / "stat").read_text().rpartition(")")[2].split()[3] == str(self.running.pid):
                    total += int(re.findall(r"RssAnon:\s+(\d+)", status.read_text())[0]) / 1000
        return total

    def close(self) -> None:
        """Stop the server."""
        self.running.kill()
        self.running.wait(5)


def leak(response: Response, folder: Path) -> str | None:
    """Say what a response gives away that it should not."""
    if str(folder).encode() in response.body:
        return "a path of the server"
    if b"Traceback (most recent call last)" in response.body:
        return "a traceback"
    return None
