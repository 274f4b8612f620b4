"""One fit by several processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftword as dw
from driftword.engines.distributed.ranks import LOST, divide, notice_silence

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("several_processes.py")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path_factory.mktemp("ranks"))],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


@pytest.mark.parametrize("size", [2, 3])
def test_several_processes_fit_what_one_does(found: dict[str, Any], size: int) -> None:
    one, several = found["dynamic 1"], found[f"dynamic {size}"]
    assert several["codes"] == [0] * (size - 1)
    assert several["words"] == one["words"]
    assert several["L"] == pytest.approx(one["L"], abs=0.03)
    # No step between slices of two processes is longer than others are.
    np.testing.assert_allclose(several["steps"], one["steps"], rtol=0.2)


@pytest.mark.parametrize("name", ["static", "contexts", "jumps", "ou"])
def test_every_model_can_be_fitted_by_several_processes(found: dict[str, Any], name: str) -> None:
    one, two = found[f"{name} 1"], found[f"{name} 2"]
    assert two["shape"] == one["shape"]
    assert two["L"] == pytest.approx(one["L"], abs=0.03)


def test_the_same_processes_fit_the_same_model(found: dict[str, Any]) -> None:
    assert found["again 2"] == found["contexts 2"]


def test_processes_stream_text_that_does_not_fit(found: dict[str, Any]) -> None:
    for size in (1, 2):
        assert found[f"streamed {size}"]["words"] == found["dynamic 1"]["words"]
        assert found[f"streamed {size}"]["L"] == pytest.approx(found["dynamic 1"]["L"], abs=0.1)


def test_a_process_that_dies_ends_all_and_the_fit_can_be_resumed_by_fewer(found: dict[str, Any]) -> None:
    killed, resumed = found["killed"], found["resumed"]
    assert killed["error"] == LOST
    assert killed["codes"] == [2, 9]
    assert killed["files"] == [".killed.model.checkpoints", "killed.model.log.jsonl"]
    assert resumed["passes"] == 4
    assert resumed["files"] == ["killed.model", "killed.model.log.jsonl"]
    assert resumed["L"] == pytest.approx(found["four passes"]["L"], abs=0.03)


@pytest.mark.parametrize("name", ["all", "late"])
def test_groups_are_fitted_by_all_processes(found: dict[str, Any], name: str) -> None:
    group = found["groups"][name]
    assert group["again"]
    assert group["L"][1] == pytest.approx(group["L"][0], abs=0.05)
    assert min(group["moved"]) > 0


def test_options_are_tuned_by_all_processes(found: dict[str, Any]) -> None:
    one, two = found["tuned"]["tried"]
    assert found["tuned"]["codes"] == [0]
    assert len(two) == len(one)
    last = [row for row in two if row["passes"] == two[-1]["passes"]]
    best = max(last, key=lambda row: row["L"])
    assert best["L"] == pytest.approx(max(row["L"] for row in one), abs=0.03)
    assert found["tuned"]["rate"] == best["learning_rate"]


def test_a_process_that_cannot_open_the_corpus_ends_all(found: dict[str, Any]) -> None:
    assert found["no corpus"]["error"].startswith("Process 1 of this fit cannot take part: ")
    assert "7" in found["no corpus"]["error"]
    assert found["no corpus"]["codes"] == [2]


def test_processes_with_different_corpora_say_so(found: dict[str, Any]) -> None:
    assert found["other corpus"]["error"].startswith("Processes 0 and 1 do not have the same corpus;")
    assert found["other corpus"]["codes"] == [2]


def test_more_processes_than_slices_are_refused(found: dict[str, Any]) -> None:
    assert found["too many"]["error"].startswith("10 processes cannot share 9 slices")
    assert found["too many"]["codes"] == [2] * 9


def test_the_command_line_runs_under_torchrun(small: dw.Corpus, tmp_path: Path) -> None:
    """Two processes of the torch engine: the command is the one for a laptop."""
    command = ["fit", str(small.path), "--out", "two.model", "--dim", "8", "--rounds", "1", "--block-size", "64"]
    command += ["--passes", "2", "--no-significance", "--engine", "torch", "--device", "cpu", "--tune"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run = subprocess.run(
        [*launcher, "-m", "driftword", *command], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("Written to two.model") == 1
    model = dw.Model.open(tmp_path / "two.model")
    assert model.rho.shape == (10, len(small.words), 8)
    assert "2 processes" in str(model.provenance.ran_on)


def test_a_machine_that_does_not_answer_is_noticed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as talk:
        for each in (server, talk, sys.__stdin__):
            notice_silence(each.fileno())
        assert [each.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) for each in (server, talk)] == [0, 1]


@pytest.mark.parametrize(
    ("weights", "parts", "borders"),
    [
        ([1, 1, 1, 1], 2, [0, 2, 4]),
        ([5, 1, 1, 1], 2, [0, 1, 4]),
        ([1, 1, 9], 3, [0, 1, 2, 3]),
        ([0, 0, 3], 2, [0, 2, 3]),
    ],
)
def test_slices_are_divided_by_their_text(weights: list[float], parts: int, borders: list[int]) -> None:
    assert divide(weights, parts) == borders
