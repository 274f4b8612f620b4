"""Hostile requests end in a page or a sentence, never in a fault, and leave the explorer as it was."""

from __future__ import annotations

import socket
import threading
from itertools import islice
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from hostile_requests import raw_requests, requests

import driftword as dw
from conftest import PATIENCE
from driftword.web.app import make_app
from driftword.web.server import make_server

pytestmark = pytest.mark.slow


def test_no_request_ends_in_a_fault(small_model: dw.Model) -> None:
    words, labels = small_model.words, small_model.slices.labels
    app = make_app(small_model, small_model.open_corpus())
    reader = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
    statuses = set()
    for method, target, headers in islice(requests(1, words, labels), 400):
        try:
            answer = reader.request(method, f"http://127.0.0.1{target}", headers=headers)
        except ValueError as error:  # the client refuses it, not the explorer
            assert "URL" in str(error) or "label" in str(error)
            continue
        assert answer.status_code < 500, (method, target)
        assert "Traceback" not in answer.text
        assert urlsplit(answer.headers.get("location", "/")).netloc == ""
        statuses.add(answer.status_code)
    assert {200, 303, 404, 405, 422} <= statuses


def test_no_bytes_end_in_a_fault(small_model: dw.Model, capfd: pytest.CaptureFixture[str]) -> None:
    server = make_server(make_app(small_model, token="secret"))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    for data in islice(raw_requests(1), 150):
        with socket.create_connection(listener.getsockname(), timeout=PATIENCE / 1000) as connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            except ConnectionError:  # dropped in the middle of what it sent
                continue
        assert b"HTTP/1.1 5" not in answer, data[:200]
    server.should_exit = True
    thread.join(PATIENCE / 1000)
    assert capfd.readouterr().err == ""
