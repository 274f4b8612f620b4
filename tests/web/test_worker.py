"""The process for heavy questions: the same answers, and what happens when it dies."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import driftword as dw
from conftest import PATIENCE
from driftword.basics.errors import OptionError, StoreError
from driftword.web.app import make_app
from driftword.web.worker import Worker

pytestmark = pytest.mark.slow

HERE = "http://127.0.0.1"


@pytest.fixture
def worker(small_model: dw.Model, small: dw.Corpus) -> Worker:
    assert small_model.path is not None
    return Worker(str(small_model.path), str(small.path), "Letters")


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
    worker = Worker(str(small_model.path), None, None)
    assert worker.respond("/word/ship.json", b"").status == 200
    assert worker._child is not None
    process = worker._child.process
    process.kill()
    process.wait()
    assert worker.respond("/word/ship.json", b"").status == 200
    again = worker._child.process
    assert again.pid != process.pid
    del worker
    gc.collect()
    assert again.wait(60) != 0


def test_it_is_replaced_after_many_requests(small_model: dw.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftword.web.worker._MAX_REQUESTS", 2)
    worker, pids = Worker(str(small_model.path), None, None), []
    for _ in range(3):
        assert worker.respond("/comparisons", b"").status == 200
        assert worker._child is not None
        pids.append(worker._child.process.pid)
    assert pids[0] == pids[1] != pids[2]


STRANGER = """
import pathlib
pathlib.Path(__file__).with_suffix(".ran").touch()
"""
MODULES = ("driftword", "numpy", "polars", "pickle", "multiprocessing", "subprocess", "sitecustomize", "asyncio")


def test_it_runs_nothing_from_the_current_directory(small_model: dw.Model, tmp_path: Path) -> None:
    """A folder of downloaded texts may hold a file that is named like a module."""
    folder, script = tmp_path / "texts", tmp_path / "bin" / "driftword"
    folder.mkdir()
    script.parent.mkdir()
    for name in MODULES:
        (folder / f"{name}.py").write_text(STRANGER)
    script.write_text("from driftword.cli import main\nmain()\n")  # as installed: its own folder comes first, not this
    command = [sys.executable, str(script), "explore", str(small_model.path), "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--no-token"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split("/ ")[0]
        with urllib.request.urlopen(f"{address}/word/ship/figure/trajectory.png", timeout=PATIENCE / 1000) as drawn:
            assert drawn.read().startswith(b"\x89PNG")
    finally:
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=PATIENCE / 1000)
    assert complaint == ""
    assert list(folder.glob("*.ran")) == []


def test_it_ends_with_an_explorer_that_is_killed(small_model: dw.Model) -> None:
    code = (
        "import sys, time; from driftword.web.worker import Worker\n"
        "worker = Worker(sys.argv[1], None, None)\n"
        "print(worker.respond('/comparisons', b'').status, flush=True)\n"
        "time.sleep(1000)"
    )
    command = [sys.executable, "-c", code, str(small_model.path)]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "200\n"
    owner.kill()
    # Standard error is closed once all who share it have ended.
    assert owner.communicate(timeout=PATIENCE / 1000) == ("", "")


def test_what_takes_too_long_is_ended(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftword.web.worker._MAX_SECONDS", 0)
    with pytest.raises(OptionError, match="takes too long"):
        worker.respond("/print/drift.png", b"")


def test_a_store_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Worker(str(tmp_path / "nothing"), None, None).respond("/", b"n=100")
