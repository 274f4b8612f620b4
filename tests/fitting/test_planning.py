from __future__ import annotations

import json

import pytest

import driftword as dw
from conftest import run_here
from driftword.basics.errors import OptionError
from driftword.fitting import planning
from driftword.preparing.document_parts import SHARES


def seconds(table: object, stage: str) -> float:
    return {row["stage"]: row["seconds"] for row in table.to_dicts()}[stage]  # type: ignore[attr-defined]


def test_a_plan_has_every_stage_of_the_work(sotu: dw.Corpus) -> None:
    table = dw.plan(sotu, cores=2)
    assert table.columns == ["stage", "seconds", "memory_gb", "disk_gb", "traffic_gb", "limit"]
    assert table["stage"].to_list() == [
        "prepare", "fit: text", "fit: prior", "fit: scores", "fit: start and model", "significance",
    ]  # fmt: skip
    assert (table["seconds"] > 0).all()
    assert table["traffic_gb"].sum() == 0
    stored = 4 * len(sotu.words) * (len(sotu.slices) * 101 + 100) / 1e9
    assert table.row(4, named=True)["disk_gb"] == pytest.approx(stored)


def test_a_corpus_is_planned_as_one_of_its_size(sotu: dw.Corpus) -> None:
    """What a corpus has is close to what is guessed from the number of its words: the share that passes see differs."""
    known = dw.plan(sotu, cores=4)
    guessed = dw.plan(tokens=sotu.report.tokens_read, vocabulary=len(sotu.words), slices=len(sotu.slices), cores=4)
    for stage in ("prepare", "fit: prior", "fit: start and model"):
        assert seconds(guessed, stage) == pytest.approx(seconds(known, stage), rel=0.01)
    assert seconds(guessed, "fit: text") == pytest.approx(seconds(known, "fit: text"), rel=0.5)


@pytest.mark.slow
def test_more_of_everything_takes_longer_and_more_machines_less() -> None:
    base = dw.plan(tokens=1e9, vocabulary=50_000, slices=100, cores=16)
    assert seconds(dw.plan(tokens=1e10, vocabulary=50_000, slices=100, cores=16), "prepare") == pytest.approx(
        10 * seconds(base, "prepare"), rel=0.02
    )
    many = dw.plan(tokens=1e9, vocabulary=50_000, slices=200, cores=16)
    assert seconds(many, "fit: prior") == pytest.approx(2 * seconds(base, "fit: prior"))
    small = dw.plan(tokens=1e9, vocabulary=50_000, slices=100, cores=1)
    assert 4 < seconds(small, "fit: text") / seconds(base, "fit: text") < 16  # cores wait for memory
    half = dw.plan(tokens=1e9, vocabulary=50_000, slices=100, cores=16, core_speed=0.5)
    assert seconds(half, "prepare") == pytest.approx(2 * seconds(base, "prepare"))
    assert 8 < seconds(small, "significance") / seconds(base, "significance") < 16  # one process reads the text
    one, eight = (dw.plan(tokens=1e9, vocabulary=50_000, slices=100, gpus=gpus, cores=16) for gpus in (1, 8))
    assert seconds(one, "fit: text") < seconds(base, "fit: text") / 20
    assert seconds(eight, "fit: text") == pytest.approx(seconds(one, "fit: text") / 8)
    assert seconds(eight, "fit: exchanges") > 0
    assert eight.row(1, named=True)["memory_gb"] < one.row(1, named=True)["memory_gb"]
    dask = dw.plan(tokens=1e9, vocabulary=50_000, slices=100, cores=16, dask_cores=1000)
    assert seconds(dask, "prepare: words") < seconds(base, "prepare")
    assert dask["limit"].to_list()[:3] == ["cores of the cluster", "cores of the cluster", "one process"]
    fewer = dw.plan(tokens=1e9, vocabulary=50_000, slices=100, cores=16, dask_cores=100)
    stages = ("words", "documents", "last stages")
    ratios = [seconds(fewer, f"prepare: {stage}") / seconds(dask, f"prepare: {stage}") for stage in stages]
    assert ratios == pytest.approx([10, SHARES / 100, 1])  # no file of documents is written by two cores
    crawl = dw.plan(tokens=1e12, vocabulary=50_000, slices=100, gpus=64, cores=16)
    assert (
        crawl.row(1, named=True)["limit"] == "disk"
    )  # eight machines read 1.6 TB twelve times, at 2 GB in a second each
    assert seconds(crawl, "fit: text") == pytest.approx(0.8 * 1e12 * 2 * 12 / 8 / 2e9)
    static = dw.plan(None, dw.Spec(model="static"), tokens=1e9, cores=16)
    assert seconds(static, "fit: prior") == 0


def test_plans_that_cannot_be(sotu: dw.Corpus) -> None:
    with pytest.raises(OptionError, match="Give either a corpus, or the size of one as `tokens`"):
        dw.plan()
    with pytest.raises(OptionError, match="Give either a corpus"):
        dw.plan(sotu, tokens=1e6)
    with pytest.raises(OptionError, match="64 processes cannot share 10 slices; plan at most"):
        dw.plan(tokens=1e9, slices=10, gpus=64)
    with pytest.raises(OptionError, match="Every GPU has one process; leave out `processes`"):
        dw.plan(tokens=1e9, gpus=2, processes=4)
    with pytest.raises(OptionError, match="`tokens` is 0"):
        dw.plan(tokens=0)


@pytest.mark.slow
def test_the_command(sotu: dw.Corpus) -> None:
    shown = run_here("plan", sotu.path)
    assert shown.returncode == 0
    assert "fit: text" in shown.stdout
    assert "In all about" in shown.stdout
    assert "These are estimates" in shown.stdout
    large = ["--tokens", "1e12", "--vocabulary", "500k", "--slices", "200", "--gpus", "64", "--dask-cores", "2048"]
    rows = json.loads(run_here("plan", *large, "--json").stdout)
    assert rows[2]["stage"] == "prepare: last stages"
    assert rows[2]["seconds"] > 10_000  # it does not divide, and the plan says so
    assert rows[1]["seconds"] < 300
    assert "days" in run_here("plan", "--tokens", "100B", "--cores", "2").stdout
    for wrong in ("many", "-5", "3x", "1e999999"):
        refused = run_here("plan", "--tokens", wrong)
        assert refused.returncode == 2
        assert "--tokens" in refused.stderr


def test_plans_are_of_the_program_as_it_is() -> None:
    """This constant lives where PyTorch is needed: it is written twice, and compared here."""
    distributed = pytest.importorskip("driftword.engines.distributed.engine")
    assert pytest.approx(1 / distributed.SHARE) == planning.EXCHANGES
