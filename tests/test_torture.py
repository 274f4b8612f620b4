"""The judgement of `make torture`: what it must call wrong, and what it must not."""

from __future__ import annotations

import errno
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, random_model

sys.path.append(str(ROOT / "benchmarks"))

from torture.damage import BYTES, KINDS, damage, restore
from torture.failing_calls import Fault, Supervisor, available
from torture.faults import _ending, _left_over
from torture.folders import Reference, leftovers, snapshot
from torture.processes import Outcome, Worker
from torture.verdicts import DETECTED, WRONG, Tally, Verdict

pytestmark = pytest.mark.slow


def write_model(folder: Path, *, seconds: float = 1.0, seed: int = 0, rho: bytes = b"rho") -> Path:
    folder.mkdir(parents=True)
    meta = {"seed": seed, "history": [{"pass": 1, "seconds": seconds, "L": -3.5}], "run": f"run of {seconds}"}
    (folder / "meta.json").write_text(json.dumps(meta))
    (folder / "rho.npy").write_bytes(rho)
    return folder


@pytest.fixture
def reference(tmp_path: Path) -> Reference:
    reference = Reference()
    for seconds in (1.0, 2.0):
        reference.add(snapshot(write_model(tmp_path / f"undisturbed-{seconds}", seconds=seconds)), seconds)
    return reference


def test_what_varies_between_undisturbed_runs_is_not_compared(reference: Reference, tmp_path: Path) -> None:
    assert reference.differences(snapshot(write_model(tmp_path / "x", seconds=3.0))) == []


@pytest.mark.parametrize(("options", "line"), [({"seed": 2}, "meta.json:seed"), ({"rho": b"rhO"}, "rho.npy differs")])
def test_another_result_is_seen(reference: Reference, tmp_path: Path, options: dict[str, Any], line: str) -> None:
    assert any(
        text.startswith(line) for text in reference.differences(snapshot(write_model(tmp_path / "x", **options)))
    )


def test_what_is_missing_and_what_is_left_over_is_seen(reference: Reference, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "x")
    (folder / "rho.npy").unlink()
    (folder / ".x.partial-17").mkdir()
    assert reference.differences(snapshot(folder)) == [".x.partial-17 is left over", "rho.npy is missing"]
    assert leftovers(snapshot(folder)) == [".x.partial-17"]
    assert leftovers(["out", "out/rho.npy", "out.log.jsonl"]) == []
    assert leftovers([".out.123.part", "out/spool-x", "out.lock"]) == [".out.123.part", "out/spool-x", "out.lock"]


def test_only_a_sentence_with_exit_status_2_is_a_refusal() -> None:
    assert Outcome(2, "", "driftword: 'x' is damaged; make it again\n").refused
    assert Outcome(2, "", "driftword: 'x' is damaged; make it again\n").fault() is None
    for status, stderr, fault in (
        (2, "", "exit status 2: no word"),
        (1, "driftword: This is a fault", "exit status 1"),
        (1, "Traceback (most recent call last):\nValueError: x\ndriftword: A fault", "traceback: ValueError: x"),
        (0, "thread '<unnamed>' panicked at src/lib.rs", "traceback"),
        (-7, "", "died of SIGBUS"),
        (None, "", "hung"),
    ):
        outcome = Outcome(status, "", stderr)
        assert not outcome.refused
        assert (outcome.fault() or "").startswith(fault)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_tells_whether_it_changed_anything(tmp_path: Path, kind: str) -> None:
    whole, path, other = (tmp_path / name for name in ("whole", "path", "other"))
    for seed in range(20):
        data = random.Random(seed).randbytes(random.Random(-seed).choice((1, 2, 30, 20_000)))
        whole.write_bytes(data)
        other.write_bytes(data if seed % 2 else b"another")
        path.write_bytes(data)
        changed = damage(path, kind, random.Random(seed), other)
        assert changed == (not path.is_file() or path.read_bytes() != data)
        assert changed or kind in BYTES or seed % 2
        restore(path, whole)
        assert path.read_bytes() == data


def test_a_wrong_case_can_be_tried_again() -> None:
    tally = Tally(seed=3)
    tally.add("kills", 17, Verdict("fit", WRONG, "lost"))
    tally.add("kills", 18, Verdict("fit", DETECTED))
    assert "--only kills --seed 3 --case 17" in tally.wrong[0]
    assert tally.table().splitlines()[-1].split() == ["all", "2", "1", ".", ".", "1"]


def test_a_fault_passes_or_lasts() -> None:
    once, lasting = Fault("write", 2, errno.ENOSPC), Fault("write", 2, errno.ENOSPC, lasting=True)
    seen = [Counter(write=n, open=1) for n in (1, 2, 3)]
    assert [once.hits("write", counts) for counts in seen] == [False, True, False]
    assert [lasting.hits("write", counts) for counts in seen] == [False, True, True]
    assert lasting.hits("open", seen[2])  # a full disk has no room for another file either
    assert not lasting.hits("remove", seen[2])


def test_a_fault_may_end_in_one_sentence_alone() -> None:
    fault, no_memory = Fault("write", 1, errno.EIO), "driftword: There is not enough memory; use less"
    assert _ending(Outcome(2, "", "driftword: The disk is full\n"), fault) is None
    assert _ending(Outcome(2, "", "driftword: The disk is full\ndriftword: And more\n"), fault)
    assert _ending(Outcome(1, "", no_memory), fault)
    assert _ending(Outcome(1, "", no_memory), Fault("memory", 1, errno.ENOMEM)) is None
    kept = [".out.checkpoints", ".out.checkpoints/pass-001", ".out.checkpoints/pass-001/rho.npy", "out.log.jsonl"]
    left = [".out.lock", ".out.checkpoints/.pass-001.lock", ".out.partial-17"]
    assert _left_over(kept + left) == left


@pytest.mark.skipif(not available(), reason="calls of the system can be supervised on Linux alone")
def test_every_call_can_be_made_to_fail(tmp_path: Path) -> None:
    random_model(["ship", "sail", "sea"]).save(tmp_path / "model")
    folder = tmp_path / "folder"
    folder.mkdir()
    supervisor = Supervisor(folder)
    worker = Worker(supervisor=supervisor.address)

    def export(fault: Fault | None) -> Outcome:
        supervisor.expect(fault)
        return worker.run(
            [["export", tmp_path / "model", "--format", "word2vec", "--out", "out", "--overwrite"]], folder
        )[0]

    try:
        assert export(None).status == 0
        counts = dict(supervisor.counts)
        assert counts.keys() >= {"open", "write", "mkdir", "sync", "move", "remove", "lock"}
        whole = snapshot(folder)
        for kind in ("open", "write", "mkdir"):
            for lasting in (False, True):
                outcome = export(Fault(kind, counts[kind], errno.ENOSPC, lasting=lasting))
                assert outcome.refused
                assert "the disk is full" in outcome.sentence
                assert supervisor.failed
                assert snapshot(folder) == whole
        assert export(None).status == 0
    finally:
        worker.close()
        supervisor.close()
