"""The process for heavy questions: the same answers, and what happens when it dies."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import driftword as dw
from driftword.basics.errors import OptionError, StoreError
from driftword.web.app import make_app
from driftword.web.worker import Worker

HERE = "http://127.0.0.1"


@pytest.fixture
def worker(small_model: dw.Model, small: dw.Corpus) -> Worker:
    assert small_model.path is not None
    return Worker(small_model.path, small.path, "Letters")


def test_it_answers_as_the_explorer_does(worker: Worker, small_model: dw.Model, small: dw.Corpus) -> None:
    in_memory = dw.Model(
        small_model.rho, small_model.alpha, small_model.intercepts, vocabulary=small_model.vocabulary,
        spec=small_model.spec, provenance=small_model.provenance,
    )  # fmt: skip
    here = TestClient(make_app(in_memory, small, title="Letters"), base_url=HERE)
    for path, query in (("/word/ship/passages.json", "n=60"), ("/word/ship", "n=100"), ("/word/nothing.json", "n=60")):
        response = worker.respond(path, query.encode())
        expected = here.get(f"{path}?{query}")
        assert (response.status, response.body) == (expected.status_code, expected.content)


def test_it_is_started_again_after_it_died_and_ends_with_its_owner(small_model: dw.Model) -> None:
    assert small_model.path is not None
    worker = Worker(small_model.path, None, None)
    assert worker.respond("/word/ship.json", b"").status == 200
    process = worker._process
    assert process is not None
    process.kill()
    process.wait()
    assert worker.respond("/word/ship.json", b"").status == 200
    again = worker._process
    assert again is not None
    assert again.pid != process.pid
    del worker
    gc.collect()
    assert again.wait(60) != 0


def test_what_takes_too_long_is_ended(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftword.web.worker._MAX_SECONDS", 0)
    with pytest.raises(OptionError, match="takes too long"):
        worker.respond("/print/drift.png", b"")


def test_a_store_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Worker(tmp_path / "nothing", None, None).respond("/", b"n=100")
