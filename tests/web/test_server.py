"""The server: whoever opens many connections, sends half a request or takes no response keeps nobody out."""

from __future__ import annotations

import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import driftword as dw
from conftest import PATIENCE
from driftword.web.server import MAX_CONNECTIONS, MAX_HEAD_BYTES, BoundedProtocol, make_server

pytestmark = pytest.mark.slow

SECONDS = PATIENCE / 1000
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
LARGE = b"x" * 20_000_000


async def pages(scope: Any, receive: Any, send: Any) -> None:
    body = LARGE if scope["path"] == "/large" else b"page"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Few(BoundedProtocol):
    max_connections = 30


class Impatient(BoundedProtocol):
    max_silence = 0.3


@pytest.fixture
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """Run a server whose connections are of the class that the test names."""
    server = make_server(pages, request.param)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(SECONDS)
    assert not thread.is_alive()


def connect(port: int, data: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    connection.sendall(data)
    return connection


def answer(port: int, data: bytes = HALF + b"Connection: close\r\n\r\n") -> bytes:
    with connect(port, data) as connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


def dropped(connections: list[socket.socket]) -> int:
    """Return how many connections the server has closed."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN | select.POLLHUP)
    return len(poll.poll(0))


@pytest.mark.parametrize("port", [Few], indirect=True)
def test_of_too_many_connections_the_most_silent_are_closed(port: int) -> None:
    silent = [connect(port, HALF) for _ in range(100)]
    assert answer(port).endswith(b"page")
    while dropped(silent) < 71:
        time.sleep(0.01)
    assert dropped(silent[:69]) == 69
    assert dropped(silent[-20:]) == 0
    for connection in silent:
        connection.close()


@pytest.mark.parametrize("port", [Impatient], indirect=True)
@pytest.mark.parametrize(
    "data", [b"", HALF, b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n", HALF + b"\r\n" + HALF]
)
def test_a_connection_that_falls_silent_is_closed(port: int, data: bytes) -> None:
    with connect(port, data) as connection:
        while connection.recv(65536):
            pass


@pytest.mark.parametrize("port", [Impatient], indirect=True)
def test_dripping_bytes_do_not_keep_a_connection_open(port: int) -> None:
    for begin in (HALF, b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"):
        with connect(port, begin) as connection, pytest.raises(OSError, match=r"(Broken pipe|reset)"):
            while True:
                connection.sendall(b"x")
                time.sleep(0.01)


@pytest.mark.parametrize("port", [Impatient], indirect=True)
def test_who_takes_no_response_is_dropped_and_who_takes_it_slowly_is_not(port: int) -> None:
    request = b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with connect(port, request) as slow, connect(port, request) as idle:
        received = 0
        while data := slow.recv(1_000_000):
            received += len(data)
            time.sleep(0.05)
        assert received > len(LARGE)
        with pytest.raises(ConnectionError):  # a reset loses what was on its way
            while idle.recv(1_000_000):
                pass
            raise ConnectionError


@pytest.mark.parametrize("port", [BoundedProtocol], indirect=True)
def test_what_is_not_http_or_has_too_long_a_head_is_refused_in_a_sentence(port: int) -> None:
    for data, status in (
        (b"\x16\x03\x01\x00hello\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /" + b"(" * (2 * MAX_HEAD_BYTES), b"431"),
        (HALF + b"X: " + b"x" * (2 * MAX_HEAD_BYTES), b"431"),
    ):
        refused = answer(port, data)
        assert refused.startswith(b"HTTP/1.1 " + status)
        assert refused.endswith(b".")
    assert answer(port).endswith(b"page")


def test_a_thousand_half_open_requests_keep_no_reader_out(small_model: dw.Model) -> None:
    resource = pytest.importorskip("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3000:
        pytest.skip(f"only {hard} files may be open at once")
    resource.setrlimit(resource.RLIMIT_NOFILE, (3000, hard))
    command = [sys.executable, "-m", "driftword", "explore", str(small_model.path), "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--no-token"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard)),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
        assert b"How words changed" in answer(port)
        silent = [connect(port, HALF) for _ in range(1100)]
        for _ in range(20):
            assert b"How words changed" in answer(port)
        while dropped(silent) < 1100 - MAX_CONNECTIONS:
            time.sleep(0.01)
        for connection in silent:
            connection.close()
    finally:
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=SECONDS)
    assert complaint == ""
    assert process.returncode == 0
