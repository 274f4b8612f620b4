from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import driftword as dw
from conftest import PATIENCE, letters
from driftword.basics.errors import BusyError, DriftwordWarning, ExistsError, FitError, OptionError, StoreError
from driftword.engines.cpu.engine import CpuEngine
from driftword.fitting import keeping
from driftword.fitting.held_out import HeldOut
from driftword.fitting.keeping import Checkpoints, Keeper
from driftword.fitting.training import Training
from driftword.storage.atomic_writes import reserved

SPEC = dw.Spec(dim=8, context=4, rounds=3, block_size=16, run_length=8, pool_size=16, learning_rate=0.1, final_rate=1.0)


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["static", "frequency", "dynamic"])
def test_any_number_of_threads_writes_the_same_files(small: dw.Corpus, tmp_path: Path, name: str) -> None:
    spec = dw.Spec(model=name, dim=8, context=4, rounds=2, block_size=8)  # small blocks, so that waves have many
    for threads in (1, 2, 3, 8):
        dw.fit(small, spec, passes=2, threads=threads, out=tmp_path / str(threads))
    files = sorted(path.name for path in (tmp_path / "1").iterdir() if path.name != "meta.json")  # which holds times
    assert "rho.npy" in files
    assert "intercepts.npy" in files
    for threads in (2, 3, 8):
        for file in files:
            assert (tmp_path / str(threads) / file).read_bytes() == (tmp_path / "1" / file).read_bytes(), file


@pytest.mark.slow
@pytest.mark.parametrize("name", ["static", "binned", "dynamic"])
def test_a_fit_learns_and_is_reproducible(small: dw.Corpus, name: str) -> None:
    spec = replace(SPEC, model=name)
    first, again, other = (dw.fit(small, spec, passes=4, seed=seed, threads=2, reproducible=True) for seed in (0, 0, 1))
    assert (first.rho == again.rho).all()
    assert (first.alpha == again.alpha).all()
    assert not (first.rho == other.rho).all()
    assert len(first.rho) == (1 if name == "static" else 10)
    if name != "binned":  # 720 words a slice are too few for one alone
        assert first.history[-1]["L"] > first.history[0]["L"]
    assert first.history[0]["kind"] == "static"
    ship, sailor, wheat = (first[word][0] for word in ("ship", "sailor", "wheat"))
    assert ship @ sailor > ship @ wheat  # words of one topic lie together


@pytest.mark.slow
def test_the_engines_fit_the_same_model(small: dw.Corpus) -> None:
    exact = dw.fit(small, SPEC, passes=2, engine="reference")
    fast = dw.fit(small, SPEC, passes=2, engine="cpu", threads=1)
    np.testing.assert_allclose(fast.rho, exact.rho, atol=0.02)
    assert fast.history[-1]["L"] == pytest.approx(exact.history[-1]["L"], abs=0.005)


@pytest.mark.slow
def test_one_slice_makes_the_dynamic_model_static(tmp_path: Path) -> None:
    corpus = dw.prepare(list(letters()), slices="100y", out=tmp_path / "c")
    dynamic, static = (dw.fit(corpus, replace(SPEC, model=name), passes=3, threads=1) for name in ("dynamic", "static"))
    np.testing.assert_array_equal(dynamic.rho, static.rho)


def test_a_large_precision_freezes_the_slices(small: dw.Corpus) -> None:
    frozen = dw.fit(small, replace(SPEC, drift_precision=1e6, prior_precision=0.1), passes=3, threads=1)
    loose = dw.fit(small, replace(SPEC, drift_precision=0.01, prior_precision=0.1), passes=4, threads=1)
    moved = [np.abs(np.diff(model.rho, axis=0)).max() for model in (frozen, loose)]
    assert moved[0] < 0.01 < 0.5 < moved[1]


@pytest.mark.slow
def test_a_planted_change_is_found(tmp_path: Path) -> None:
    """From 1860 on, *wheat* stands where *anchor* stood, and nothing else changes."""
    early = [(text, f"{1850 + i % 10}") for i, (text, _) in enumerate(letters(300, seed=1))]
    late = [(text.replace("wheat", "anchor"), f"{1860 + i % 10}") for i, (text, _) in enumerate(letters(300, seed=2))]
    corpus = dw.prepare([*early, *late], slices="5y", out=tmp_path / "c", phrases=False, subsample=None)
    model = dw.fit(corpus, replace(SPEC, drift_precision=5.0), passes=8, threads=1)
    moved = np.linalg.norm(model.rho[-1] - model.rho[0], axis=1)
    unchanged = [i for i, word in enumerate(corpus.words) if word not in ("anchor", "wheat")]
    assert moved[corpus.word_id("anchor")] > moved[unchanged].max()


@pytest.mark.slow
def test_killed_and_resumed_equals_never_killed(small: dw.Corpus, tmp_path: Path) -> None:
    whole = dw.fit(small, SPEC, passes=5, patience=5, threads=1, out=tmp_path / "whole")
    code = f"""
import driftword as dw, os, signal
from driftword.fitting.keeping import Checkpoints
save = Checkpoints.save
def save_and_die(checkpoints, parameters, history, **options):
    save(checkpoints, parameters, history, **options)
    if len(history) == 3:
        checkpoints.log(history[-1])  # as if the next pass had been logged and not yet stored
        os.kill(os.getpid(), signal.SIGKILL)
Checkpoints.save = save_and_die
spec = dw.Spec(dim=8, context=4, rounds=3, block_size=16, run_length=8, pool_size=16, learning_rate=0.1, final_rate=1.0)
options = {{"passes": 5, "patience": 5, "threads": 1, "checkpoint_every": 0}}
dw.fit(dw.Corpus.open({str(small.path)!r}), spec, out={str(tmp_path / "cut")!r}, **options)
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "cut").exists()
    with pytest.raises(OptionError, match="was made with another spec"):
        dw.fit(small, replace(SPEC, learning_rate=0.2), passes=5, resume=True, out=tmp_path / "cut")
    with pytest.raises(ExistsError, match="An interrupted fit of .* was kept after pass"):
        dw.fit(small, SPEC, passes=5, out=tmp_path / "cut")
    resumed = dw.fit(small, SPEC, passes=5, patience=5, threads=1, out=tmp_path / "cut", resume=True)
    assert (tmp_path / "cut" / "rho.npy").read_bytes() == (tmp_path / "whole" / "rho.npy").read_bytes()
    assert (tmp_path / "cut" / "alpha.npy").read_bytes() == (tmp_path / "whole" / "alpha.npy").read_bytes()
    for a, b in zip(resumed.history, whole.history, strict=True):
        assert (a["L"], a["train_L_pos"]) == (b["L"], b["train_L_pos"])
    assert files(tmp_path) == ["cut", "cut.log.jsonl", "whole", "whole.log.jsonl"]
    assert [json.loads(line)["pass"] for line in (tmp_path / "cut.log.jsonl").read_text().splitlines()] == [
        1,
        2,
        3,
        4,
        5,
    ]


@pytest.mark.slow
def test_an_interrupted_fit_is_not_resumed_with_another_subsample(tmp_path: Path) -> None:
    mild, strong = (dw.prepare(list(letters()), out=tmp_path / f"c{t}", subsample=t) for t in (1e-2, 1e-3))
    checkpoints = Checkpoints(tmp_path / "m", {"spec": SPEC.to_dict()}, (1, 3, 2))
    code = (
        "import os, signal, driftword as dw\n"
        "from driftword.fitting.keeping import Checkpoints\n"
        "save = Checkpoints.save\n"
        "Checkpoints.save = lambda *a, **o: (save(*a, **o), os.kill(os.getpid(), signal.SIGKILL))\n"
        f"out = {str(checkpoints.target)!r}\n"
        f"dw.fit({str(mild.path)!r}, dw.Spec(dim=4, rounds=1), passes=3, out=out, checkpoint_every=0)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    spec = dw.Spec(dim=4, rounds=1)
    with pytest.raises(OptionError, match="was made with another corpus"):
        dw.fit(strong, spec, passes=3, out=checkpoints.target, resume=True)
    assert len(dw.fit(mild, spec, passes=3, patience=9, out=checkpoints.target, resume=True).history) == 3


@pytest.mark.slow
def test_the_best_pass_is_kept_and_patience_ends(small: dw.Corpus, tmp_path: Path) -> None:
    wild = replace(SPEC, model="binned", learning_rate=0.5, drift_precision=1e-3)
    stored = dw.fit(small, wild, passes=12, patience=2, threads=1, out=tmp_path / "m")
    kept = dw.fit(small, wild, passes=12, patience=2, threads=1)
    assert stored.best_pass == kept.best_pass < len(stored.history) <= stored.best_pass + 2
    assert (stored.rho == kept.rho).all()
    score = dw.evaluate(stored, corpus=small, split="valid")["L"][0]
    assert score == pytest.approx(stored.history[stored.best_pass - 1]["L"], abs=1e-6)


def test_divergence_is_named(small: dw.Corpus, tmp_path: Path) -> None:
    with pytest.raises(FitError, match="diverged in pass 1: .* smaller `learning_rate` .it is 1e.20"):
        dw.fit(small, replace(SPEC, learning_rate=1e20), passes=3, out=tmp_path / "m")
    assert files(tmp_path) == []


@pytest.mark.parametrize("rate", [30, 1000])
def test_a_fit_that_is_far_worse_than_word_frequencies_is_no_model(
    small: dw.Corpus, tmp_path: Path, rate: float
) -> None:
    with pytest.raises(
        FitError, match=r"diverged in pass 1: .* its L is -\d+.*, and that of word frequencies alone -4"
    ):
        dw.fit(small, replace(SPEC, learning_rate=rate), passes=3, out=tmp_path / "m")
    assert files(tmp_path) == []


def test_a_slow_fit_is_not_called_diverged(small: dw.Corpus) -> None:
    with pytest.warns(DriftwordWarning, match="predicts less well than word frequencies alone"):
        model = dw.fit(small, replace(SPEC, intercept=False, learning_rate=0.0005), passes=2)
    assert model.history[-1]["L"] < -9


def test_frequencies_alone_score_as_the_best_model_without_contexts(small: dw.Corpus) -> None:
    """An engine whose only number is the frequency of each word scores the same, up to the draw of negatives."""
    text = HeldOut(small, "valid")
    positive, total = text.frequency_scores(small)
    counts = small.train_counts.sum(axis=0) + 0.5
    drawn = small.raw_counts**0.75 / (small.raw_counts**0.75).sum()
    odds = counts / counts.sum() / (20 * drawn)
    assert positive == pytest.approx(np.log(odds / (1 + odds))[text.text.ids].mean())
    negatives = text.sampler.draw(text.key, np.arange(200_000))
    assert total - positive == pytest.approx(20 * np.log(1 / (1 + odds))[negatives].mean(), rel=0.02)
    for factor in (0.8, 1.25):  # no other frequencies do better
        other = np.log((f := odds * factor) / (1 + f))[text.text.ids].mean() + 20 * drawn @ np.log(1 / (1 + f))
        assert other < total + 0.01


def test_half_precision_stores_no_infinities(small: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    best = Keeper.best_embeddings
    monkeypatch.setattr(Keeper, "best_embeddings", lambda *args: tuple(1e6 * values for values in best(*args)))
    with pytest.raises(FitError, match="too large for 16 bits; fit without `half_precision`"):
        dw.fit(small, SPEC, passes=2, half_precision=True, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def checkpoints_of(small: dw.Corpus, out: Path, *, passes: int = 3) -> Path:
    """Fit until the model would be stored, and stop there; return the folder of the checkpoints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dw.Model, "save", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            dw.fit(small, SPEC, passes=passes, threads=1, out=out, checkpoint_every=0)
    return out.with_name(f".{out.name}.checkpoints")


@pytest.mark.slow
@pytest.mark.parametrize("file", ["rho.npy", "alpha_accumulator.npy", "meta.json"])
def test_a_damaged_checkpoint_is_never_continued(small: dw.Corpus, tmp_path: Path, file: str) -> None:
    folder = checkpoints_of(small, tmp_path / "m")
    path = max(folder.glob("pass-*")) / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match=rf"cannot be continued: .*{file} has changed.* start again with `overwrite"):
        dw.fit(small, SPEC, passes=3, threads=1, out=tmp_path / "m", resume=True)
    dw.fit(small, SPEC, passes=3, threads=1, out=tmp_path / "m", overwrite=True)
    assert files(tmp_path) == ["m", "m.log.jsonl"]


def test_a_damaged_checkpoint_gives_way_to_a_whole_one_with_a_word(small: dw.Corpus, tmp_path: Path) -> None:
    whole = dw.fit(small, SPEC, passes=3, threads=1, out=tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeping, "discard", lambda *_: None)  # older ones stay
        folder = checkpoints_of(small, tmp_path / "m")
    (folder / "pass-003" / "rho.npy").write_bytes(b"x")
    with pytest.warns(DriftwordWarning, match=r"Continuing after pass 2, .*pass-003' is damaged: rho.npy has 1 bytes"):
        resumed = dw.fit(small, SPEC, passes=3, threads=1, out=tmp_path / "m", resume=True)
    assert (resumed.rho == whole.rho).all()
    assert files(tmp_path) == ["m", "m.log.jsonl", "whole", "whole.log.jsonl"]


def test_the_best_pass_of_another_fit_is_not_taken_for_this_ones(
    small: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([-3.0, -2.9, -3.0] * 2 + [-3.0])
    parts = ("L_pos", "L_neg", "L")
    monkeypatch.setattr(Training, "_validate", lambda *_: {**dict.fromkeys(parts, next(scores)), "L_se": 0.0})
    mine, other = (checkpoints_of(small, tmp_path / name) for name in ("mine", "other"))
    assert sorted(path.name for path in mine.iterdir()) == ["pass-002", "pass-003"]
    shutil.rmtree(mine / "pass-002")
    (other / "pass-002").rename(mine / "pass-002")
    with pytest.warns(DriftwordWarning, match=r"Continuing after pass 2, .*pass-002' belongs to another fit"):
        resumed = dw.fit(small, SPEC, passes=3, threads=1, out=tmp_path / "mine", resume=True)  # wholly that other fit
    assert resumed.best_pass == 2


def test_a_fit_killed_while_it_clears_up_is_finished(
    small: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove_a_file(path: Path, **_: object) -> None:
        for file in Path(path).rglob("alpha_accumulator.npy"):
            file.unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", remove_a_file)
        dw.fit(small, SPEC, passes=1, threads=1, out=tmp_path / "m", checkpoint_every=0)
    whole = dw.Model.open(tmp_path / "m").rho.copy()
    with pytest.warns(DriftwordWarning, match="no interrupted fit"):
        again = dw.fit(small, SPEC, passes=1, threads=1, out=tmp_path / "m", resume=True, overwrite=True)
    assert (again.rho == whole).all()
    assert not [name for name in files(tmp_path) if "partial" in name or "checkpoints" in name]


def test_resuming_nothing_is_said(small: dw.Corpus, tmp_path: Path) -> None:
    log = tmp_path / "m.log.jsonl"
    log.write_text('{"pass": 1}\n')  # of a fit that was killed before its first checkpoint
    with pytest.warns(DriftwordWarning, match="no interrupted fit of .* to resume; starting from the beginning"):
        dw.fit(small, SPEC, passes=2, out=tmp_path / "m", resume=True)
    assert [json.loads(line)["pass"] for line in log.read_text().splitlines()] == [1, 2]


def test_two_fits_do_not_write_at_one_place(small: dw.Corpus, tmp_path: Path) -> None:
    out = tmp_path / "m"
    with ThreadPoolExecutor(1) as pool, reserved(out):
        for options in ({}, {"overwrite": True}, {"resume": True}):
            begun = pool.submit(dw.fit, small, SPEC, passes=2, out=out, **options)  # type: ignore[arg-type]
            with pytest.raises(BusyError, match="is being written by process"):
                begun.result()
        begun = pool.submit(dw.prepare, letters(), out=out)  # type: ignore[arg-type]
        with pytest.raises(BusyError, match="is being written by process"):
            begun.result()
    assert files(tmp_path) == []


@pytest.mark.slow
def test_a_finished_fit_is_kept_when_it_cannot_be_stored(small: dw.Corpus, tmp_path: Path) -> None:
    out = tmp_path / "m"
    whole = dw.fit(small, SPEC, passes=3, threads=1)

    def full(*_: object, **__: object) -> None:
        raise StoreError(f"Cannot write '{out}': the disk is full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dw.Model, "write", full)
        with pytest.raises(StoreError, match="the disk is full. The fit is kept: continue it with `resume=True`"):
            dw.fit(small, SPEC, passes=3, threads=1, out=out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "run_pass", full)  # nothing has to be done again
        stored = dw.fit(small, SPEC, passes=3, threads=1, out=out, resume=True)
    assert (stored.rho == whole.rho).all()


def test_a_folder_that_cannot_be_written_is_found_before_the_work(
    small: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Training, "run_pass", lambda *_, **__: pytest.fail("the work began"))
    for work in (dw.fit, dw.tune):
        with pytest.raises(StoreError, match="Cannot write .*a part of the path is a file"):
            work(small, SPEC, out=tmp_path / "file" / "m")
    with pytest.raises(StoreError, match="Cannot write .*a part of the path is a file"):
        dw.compare(small, spec=SPEC, out=tmp_path / "file" / "models")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(StoreError, match="GB are free there"):
        dw.fit(small, SPEC, out=tmp_path / "m")


@pytest.mark.slow
def test_odd_corpora_fit() -> None:
    lengths = [1, 1, 5, 40, 3]
    rng = np.random.default_rng(0)
    corpus = dw.Corpus.from_ids(
        ["a", "b"], rng.integers(0, 2, sum(lengths)), np.r_[0, np.cumsum(lengths)],
        chunk_slice=[0, 0, 2, 2, 3], chunk_split=[0, 1, 0, 0, 1], slices=[1900, 1901, 1902, 1903],
    )  # fmt: skip
    for name in ("static", "binned", "dynamic"):
        model = dw.fit(corpus, dw.Spec(model=name, dim=1, context=80, rounds=4), passes=3)
        assert np.isfinite(model.rho).all()


def test_too_little_text_is_named(tmp_path: Path) -> None:
    corpus = dw.prepare([("word", "1900"), ("word", "1901")], out=tmp_path / "c", min_count=1)
    with pytest.raises(OptionError, match="There is too little text to train on"):
        dw.fit(corpus, dw.Spec(dim=2), out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_wrong_options(small: dw.Corpus, tmp_path: Path) -> None:
    for options, message in [
        ({"passes": 0}, "`passes` is 0"),
        ({"threads": 0}, "`threads` is 0"),
        ({"seed": -1}, "`seed` is -1"),
        ({"engine": "tpu"}, "`engine` is 'tpu'; choose one of auto, cpu, torch, reference"),
        ({"resume": True}, "Only a fit with an output directory can be resumed"),
    ]:
        with pytest.raises(OptionError, match=message):
            dw.fit(small, SPEC, **options)  # type: ignore[arg-type]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("")
    with pytest.raises(ExistsError, match="left alone"):
        dw.fit(small, SPEC, out=tmp_path / "mine", overwrite=True)


@pytest.mark.slow
def test_the_best_pass_is_kept_however_seldom_checkpoints_are(
    small: dw.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third of six passes is made to score best: in memory, on disk, or first here and then there."""
    spec = replace(SPEC, final_rate=1.0)
    scores = iter([-5.0, -4.0, -3.0, -3.5, -3.6, -3.7] * 4)
    parts = ("L_pos", "L_neg", "L")
    monkeypatch.setattr(Training, "_validate", lambda *_: {**dict.fromkeys(parts, next(scores)), "L_se": 0.0})
    third = dw.fit(small, spec, passes=3, threads=1)
    for _ in range(3):
        next(scores)
    results = [
        dw.fit(small, spec, passes=6, patience=9, threads=1, out=tmp_path / f"{seconds}", checkpoint_every=seconds)
        for seconds in (0, 1e9)
    ]
    save = Keeper.save
    monkeypatch.setattr(time, "perf_counter", iter(range(0, 10**6, 7)).__next__)  # due now and then
    stored = []
    monkeypatch.setattr(
        Keeper, "save", lambda keeper, to: (stored.append(len(keeper.training.history)), save(keeper, to))
    )
    results.append(dw.fit(small, spec, passes=6, patience=9, threads=1, out=tmp_path / "some", checkpoint_every=150))
    assert 0 < len(stored) < 6
    for model in results:
        assert model.best_pass == 3
        np.testing.assert_array_equal(model.rho, third.rho)
        np.testing.assert_array_equal(model.alpha, third.alpha)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_control_c_keeps_the_checkpoint_and_says_how_to_go_on(small: dw.Corpus, tmp_path: Path) -> None:
    endless = ["--passes", "100000", "--patience", "100000", "--checkpoint-every", "0"]
    arguments = ["fit", str(small.path), "--dim", "8", *endless, "-o", str(tmp_path / "m")]
    environment = {**os.environ, "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "driftword", *arguments], stderr=subprocess.PIPE, text=True, env=environment
    )
    while not list(tmp_path.glob(".m.checkpoints/pass-*")) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=PATIENCE / 1000)
    assert process.returncode == 130
    assert complaint.startswith("driftword: Interrupted; the last checkpoint is kept. Continue with: driftword fit")
    assert complaint.rstrip().endswith("--resume")
    assert list(tmp_path.glob(".m.checkpoints/pass-*"))
    assert not (tmp_path / "m").exists()


class EveryFew(float):
    """A time that has passed every few rounds."""

    def __new__(cls, few: int) -> EveryFew:
        made = super().__new__(cls, 1.0)
        made.rounds = itertools.cycle([True] * (few - 1) + [False])  # type: ignore[attr-defined]
        return made

    def __gt__(self, _: object) -> bool:
        return next(self.rounds)  # type: ignore[attr-defined, no-any-return]


def test_the_sum_of_a_pass_does_not_depend_on_how_often_one_looks(
    small: dw.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, seen = CpuEngine.likelihood_step, set()
    for few in (1, 2, 3, 5, 7, 11):
        thirds = itertools.count(1)  # real texts have so many words that their sum is rounded, too
        monkeypatch.setattr(CpuEngine, "likelihood_step", lambda *given: step(*given) + next(thirds) / 3)  # noqa: B023
        monkeypatch.setattr("driftword.fitting.training.LOOK_EVERY", EveryFew(few))
        model = dw.fit(small, replace(SPEC, rounds=40), passes=2, threads=1)
        seen.add(tuple(entry["train_L_pos"] for entry in model.history))
    assert len(seen) == 1
