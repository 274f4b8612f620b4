from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import polars as pl
import pytest
from distributed import Client, LocalCluster
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker
from test_preparation import same_bytes
from typer.testing import CliRunner

import driftword as dw
from driftword.basics import dask_tasks
from driftword.basics.errors import DriftwordError, OptionError, SourceError
from driftword.cli import app
from driftword.preparing import document_parts, preparation
from driftword.preparing.cluster import cluster_text as cluster
from driftword.preparing.cluster import partitions
from driftword.preparing.ingest import Ingestion
from driftword.preparing.languages import LanguageSample, sampling_step
from driftword.storage import shards
from driftword.storage.store import seal_file

pytestmark = pytest.mark.slow

WORDS = [
    "ship",
    "harbour",
    "sailor",
    "the",
    "of",
    "storm",
    "wheat",
    "cattle",
    "barn",
    "farmer",
    "ministry",
    "court",
    "cooperation",
    "co-operation",
]
OPTIONS: dict[str, Any] = {"slices": "3y", "min_count": 2, "phrase_min_count": 5, "subsample": None}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Yield a cluster whose two workers are threads of this process."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as workers,
        Client(workers, set_as_default=False) as connected,
    ):
        yield connected


@pytest.fixture
def divide(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets into how many partitions files are divided."""

    def divided(number: int) -> None:
        def plan(files: list[Path]) -> list[tuple[Path, ...]]:
            ends = np.linspace(0, len(files), number + 1).astype(int).tolist()
            return [tuple(files[a:b]) for a, b in pairwise(ends)]

        monkeypatch.setattr(cluster, "plan", plan)

    return divided


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def rows(seed: int) -> list[dict[str, Any]]:
    """Return speeches with phrases, numbers, rare words, and words that are broken at line ends."""
    random = np.random.default_rng(seed)
    made = []
    for i in range(24):
        words = [*random.choice(WORDS, 90), "secretary of state", "co-\noperation", "1945", f"rare{seed}x{i}"]
        words += ["east-\nwest" if i % 2 else "east-west", "un security council", "far-\naway"] * 2
        random.shuffle(words)
        made.append({"text": " ".join(words), "year": 1900 + (3 * seed + i) % 9, "country": "ab"[i % 2]})
    return made


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for seed in range(5):
        pl.DataFrame(rows(seed)).write_parquet(folder / f"{seed}.parquet")
        pl.DataFrame(rows(seed)).write_csv(folder / f"{seed}.csv")
    return folder


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_same_bytes_whatever_the_number_of_partitions(
    archive: Path, tmp_path: Path, client: Client, divide: Callable[[int], None], number: int
) -> None:
    divide(number)
    source = str(archive / "*.parquet")
    local = dw.prepare(source, out=tmp_path / "local", group="country", **OPTIONS)
    assert {"secretary of state", "un security council", "faraway", "east-west"} <= set(local.words)
    assert local.report.numbers == 5 * 24
    dw.prepare(source, out=tmp_path / "dask", group="country", dask=client, **OPTIONS)
    assert same_bytes(tmp_path / "local", tmp_path / "dask")
    assert names(tmp_path) == ["dask", "local"]


@pytest.mark.parametrize(
    "options",
    [
        {"slices": "equal:4", "phrases": False, "min_count": None},
        {"slices": "1901,1903,1906", "keep": ["rare2x1", "storm"], "stopwords": ["of"], "numbers": True},
        {"language": "en", "vocabulary": 12},
        {"tokens": "whitespace", "connectors": ["of"], "phrase_threshold": 0.1},
        {"copies": "drop"},
    ],
)
def test_the_same_bytes_whatever_the_options(
    archive: Path, tmp_path: Path, client: Client, divide: Callable[[int], None], options: dict[str, Any]
) -> None:
    divide(3)
    source, chosen = str(archive / "*.csv"), {**OPTIONS, **options}
    dw.prepare(source, out=tmp_path / "local", **chosen)
    dw.prepare(source, out=tmp_path / "dask", dask=client, **chosen)
    assert same_bytes(tmp_path / "local", tmp_path / "dask")


@pytest.mark.parametrize("options", [{"group": "country"}, {"slices": "1901,1903,1907"}, {"copies": "drop"}])
def test_the_same_bytes_in_several_files(
    archive: Path,
    tmp_path: Path,
    client: Client,
    divide: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
) -> None:
    """Documents and tokens are in several files; one document is a copy, so that some tokens are written twice."""
    divide(3)
    monkeypatch.setattr(document_parts, "LEAST_BYTES", 12_000)
    monkeypatch.setattr(shards, "SHARD_VALUES", 3_000)
    source = tmp_path / "source"
    shutil.copytree(archive, source, ignore=shutil.ignore_patterns("*.csv"))
    pl.DataFrame(rows(2)[:1]).write_parquet(source / "5.parquet")
    local = dw.prepare(source, out=tmp_path / "local", **{**OPTIONS, **options})
    assert len(list((tmp_path / "local").glob("documents-*.parquet"))) > 4
    assert local.report.copies == 1
    dw.prepare(source, out=tmp_path / "dask", dask=client, **{**OPTIONS, **options})
    assert same_bytes(tmp_path / "local", tmp_path / "dask")
    for file in (tmp_path / "dask").glob("*-0*"):
        assert seal_file(file) == json.loads((tmp_path / "dask" / "meta.json").read_text())["files"][file.name]


def test_files_that_differ(tmp_path: Path, client: Client, divide: Callable[[int], None]) -> None:
    """Types and columns change between partitions, dates cannot be read, and one partition has no documents."""
    folder = tmp_path / "files"
    folder.mkdir()
    texts = ["The ship left the harbour. " * 9, "", "Le navire a quitté le port ce matin. " * 9, "Wheat and barn. " * 9]
    for i, year in enumerate(["1900", "no", "1902", "no"]):
        lines = pl.DataFrame({"text": [texts[i]], "date": [year]})
        if i % 2:
            lines = pl.DataFrame(
                {"mood": [None, "b"], "text": [texts[0], texts[i]], "file": [1, 2], "date": ["soon", year]}
            )
        lines.write_ndjson(folder / f"{i}.jsonl")
    divide(4)
    options: dict[str, Any] = {"skip_bad_dates": True, "min_count": 1}
    local = dw.prepare(folder, out=tmp_path / "local", **options)
    dw.prepare(folder, out=tmp_path / "dask", dask=client, **options)
    assert local.report.bad_date_examples == ((2, "soon"), (5, "soon"), (6, "no"))
    assert same_bytes(tmp_path / "local", tmp_path / "dask")
    messages = []
    for dask in (None, client):
        with pytest.raises(SourceError, match="documents have a date in column 'date'") as error:
            dw.prepare(folder, out=tmp_path / "out", dask=dask)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_texts_and_addresses(tmp_path: Path, client: Client, divide: Callable[[int], None]) -> None:
    folder, memory = tmp_path / "letters", fsspec.filesystem("memory")
    for i in range(6):
        path = folder / str(1900 + i % 3) / f"{i}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("The ship left the harbour. " * (20 + i))
        memory.pipe(f"/letters/{path.relative_to(folder)}", path.read_bytes())
    memory.pipe("/letters/notes.doc", b"no text")
    divide(4)
    dw.prepare(folder, out=tmp_path / "local")
    for name, source, dask in (
        ("dask", folder, client),
        ("address", "memory://letters", client),
        ("alone", "memory://letters", None),
        ("glob", f"file://{folder}/**/*.txt", client),
    ):
        dw.prepare(source, out=tmp_path / name, dask=dask)
        assert same_bytes(tmp_path / "local", tmp_path / name), name


def test_addresses_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.filesystem("memory").pipe("/bad/a.parquet", b"no table")
    for address, message in (
        ("memory://bad/*.csv", "No file matches 'memory://bad/\\*.csv'; check the address"),
        ("memory://none/a.csv", "'memory://none/a.csv' cannot be read: .*; check the address and your access"),
        ("memory://bad/a.parquet", "'memory:///bad/a.parquet' cannot be read: parquet"),
        ("what://bad/a.csv", "'what://bad/a.csv' cannot be opened: addresses begin with file://"),
    ):
        with pytest.raises(DriftwordError, match=message):
            dw.prepare(address, out=tmp_path / "out")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(OptionError, match=r"To read 'memory://bad', install .*pip install 'driftword\[dask\]'"):
        dw.prepare("memory://bad", out=tmp_path / "out")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptionError, match=r"To work on a cluster, install .*pip install 'driftword\[dask\]'"):
        dw.prepare("a.csv", out=tmp_path / "out", dask="local")
    assert names(tmp_path) == []


def test_many_buckets_of_words_are_as_good_as_one(
    archive: Path, tmp_path: Path, client: Client, divide: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    divide(2)
    monkeypatch.setattr(cluster, "BUCKET_WORDS", 40)
    tmp_path = tmp_path / "x[1] *"
    for name, dask in (("local", None), ("dask", client)):
        dw.prepare(str(archive / "*.parquet"), out=tmp_path / name, dask=dask, **OPTIONS)
    assert same_bytes(tmp_path / "local", tmp_path / "dask")


def test_a_worker_that_dies_changes_nothing(
    archive: Path, tmp_path: Path, divide: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers are processes, of which one is ended by each of four tasks."""
    divide(3)
    monkeypatch.setattr(shards, "SHARD_VALUES", 3_000)
    monkeypatch.setattr(document_parts, "LEAST_BYTES", 20_000)
    local = dw.prepare(str(archive / "*.parquet"), out=tmp_path / "local", **OPTIONS)
    assert (tmp_path / "local" / "tokens-00003.npy").exists()
    assert (tmp_path / "local" / "documents-00002.parquet").exists()
    for name in ("read_partition", "join_pairs", "write_documents", "write_shard"):
        monkeypatch.setattr(partitions, name, _deadly(getattr(partitions, name), tmp_path / f"{name}-died"))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=60) as workers,
        Client(workers, set_as_default=False) as connected,
    ):
        corpus = dw.prepare(str(archive / "*.parquet"), out=tmp_path / "dask", dask=connected, **OPTIONS)
    assert len(list(tmp_path.glob("*-died"))) == 4
    assert same_bytes(tmp_path / "local", tmp_path / "dask")
    assert corpus.fingerprint == local.fingerprint


def _deadly(task: Callable[..., Any], died: Path) -> Callable[..., Any]:
    """Return a task that ends its process when it is first tried."""

    def deadly(*job: Any) -> Any:
        if not died.exists():
            died.touch()
            os._exit(1)
        return task(*job)

    return deadly


def test_an_interrupted_run_is_continued(
    archive: Path, tmp_path: Path, client: Client, divide: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    divide(3)
    source, read = str(archive / "*.parquet"), _count_readings(monkeypatch)

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "_choose_vocabulary", interrupt)
        with pytest.raises(KeyboardInterrupt):
            dw.prepare(source, out=tmp_path / "out", dask=client, **OPTIONS)
    spool = cluster.spool_folder(tmp_path / "out")
    assert names(tmp_path) == [spool.name]
    assert names(spool) == [f"partition-{i:05}" for i in range(3)]
    assert len(read) == 3
    damaged = next((spool / "partition-00001").glob("documents*"))
    damaged.write_bytes(damaged.read_bytes()[::-1])
    read.clear()
    dw.prepare(source, out=tmp_path / "out", dask=client, **{**OPTIONS, "slices": "1y"})
    assert read == [["1.parquet", "2.parquet"]]  # what is damaged is read again
    read.clear()
    dw.prepare(source, out=tmp_path / "local", **{**OPTIONS, "slices": "1y"})
    assert same_bytes(tmp_path / "local", tmp_path / "out")
    assert names(tmp_path) == ["local", "out"]


def _count_readings(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return a list to which the files of every partition that is read will be added."""
    read: list[list[str]] = []
    original = Ingestion.read_rows

    def read_rows(self: Ingestion, source: Any, *columns: Any, **options: Any) -> Any:
        read.append([file.name for file in source.files])
        return original(self, source, *columns, **options)

    monkeypatch.setattr(Ingestion, "read_rows", read_rows)
    return read


def test_what_was_read_in_another_way_is_read_again(
    archive: Path, tmp_path: Path, client: Client, divide: Callable[[int], None]
) -> None:
    divide(2)
    source = str(archive / "*.parquet")
    with pytest.raises(SourceError, match="No word occurs"):
        dw.prepare(source, out=tmp_path / "out", dask=client, min_count=10_000)
    assert cluster.spool_folder(tmp_path / "out").exists()
    dw.prepare(source, out=tmp_path / "out", dask=client, numbers=True, **OPTIONS)
    dw.prepare(source, out=tmp_path / "local", numbers=True, **OPTIONS)
    assert same_bytes(tmp_path / "local", tmp_path / "out")


def test_files_that_cannot_be_read_are_named_or_left_out(
    archive: Path, tmp_path: Path, client: Client, divide: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    divide(3)
    folder = tmp_path / "files"
    folder.mkdir()
    for file in archive.glob("*.parquet"):
        content = file.read_bytes()
        (folder / file.name).write_bytes(content if file.name != "3.parquet" else content[:-300])
    for dask in (None, client):
        with pytest.raises(SourceError, match=r"3\.parquet' cannot be read"):
            dw.prepare(folder, out=tmp_path / "dask", dask=dask)
    local = dw.prepare(folder, out=tmp_path / "local", skip_bad_files=True, **OPTIONS)
    kept = list(cluster.spool_folder(tmp_path / "dask").glob("partition-?????"))
    assert kept
    read = _count_readings(monkeypatch)
    dw.prepare(folder, out=tmp_path / "dask", skip_bad_files=True, dask=client, **OPTIONS)
    assert 1 <= len(read) <= 3 - len(kept)  # what has nothing bad in it is not read again
    assert (local.report.bad_files, local.report.bad_file_examples) == (1, ("3.parquet",))
    assert [entry.name for entry in local.inputs] == ["0.parquet", "1.parquet", "2.parquet", "4.parquet"]
    assert "1 file that cannot be read ('3.parquet')" in local.summary()["left out"]
    assert same_bytes(tmp_path / "local", tmp_path / "dask")


def test_nothing_of_a_file_is_read_that_is_damaged_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,year\n" + "The ship left the harbour,1900\n" * 40)
    (tmp_path / "b.csv").write_text("text,year\n" + "The judge left the court,1900\n" * 40 + '"open,1900\n')
    corpus = dw.prepare(str(tmp_path / "*.csv"), out=tmp_path / "out", skip_bad_files=True, phrases=False)
    assert "ship" in corpus.words
    assert "judge" not in corpus.words
    assert corpus.report.rows == 40
    (tmp_path / "a.csv").unlink()
    with pytest.raises(SourceError, match=r"No file of the source can be read \('b.csv'\); leave out `skip_bad_files`"):
        dw.prepare(str(tmp_path / "*.csv"), out=tmp_path / "none", skip_bad_files=True)


def test_the_command_line_skips_what_is_bad(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,year\n" + "The ship left the harbour,1900\n" * 40 + "x,soon\n1,2,3\n")
    (tmp_path / "b.csv").write_text("")
    command = ["prepare", str(tmp_path / "*.csv"), "--out", str(tmp_path / "out"), "--skip-bad", "--min-count", "1"]
    assert CliRunner().invoke(app, command).exit_code == 0
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "out")]).output
    for line in ("1 file that cannot be read ('b.csv')", "1 malformed row", "1 document whose date cannot be read"):
        assert line in shown


def test_a_scheduler_that_does_not_answer(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_tasks, "CONNECTING", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    command = ["prepare", str(archive / "*.csv"), "--dask", address, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert done.stderr == (
        f"driftword: No Dask scheduler answers at '{address}'; check the address given as --dask, and that the "
        "scheduler is running\n"
    )
    assert names(tmp_path) == []


def test_workers_with_other_versions(
    archive: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, others = dask_tasks.versions(client)
    assert own["driftword"]
    assert own["polars"]
    assert all(theirs == own for theirs in others.values())
    address = min(others)
    for theirs, there in ({**own, "driftword": "0.0.7"}, "0.0.7"), ({**own, "driftword": None}, "not installed"):
        monkeypatch.setattr(dask_tasks, "versions", lambda _, theirs=theirs: (own, {**others, address: theirs}))
        expected = f"The worker {address} has driftword {there}, and this process has driftword {own['driftword']}; "
        with pytest.raises(OptionError, match=expected):
            dw.prepare(str(archive / "*.csv"), out=tmp_path / "out", dask=client)
    monkeypatch.setattr(dask_tasks, "versions", lambda _: (own, {}))
    with pytest.raises(OptionError, match="has no workers; start some with: dask worker"):
        dw.prepare(str(archive / "*.csv"), out=tmp_path / "out", dask=client)
    assert names(tmp_path) == []


def test_workers_that_do_not_see_the_folder(
    archive: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_tasks, "_sees", lambda _: False)
    with pytest.raises(OptionError, match=f"does not see the folder '{tmp_path}'; give an `out` on storage that"):
        dw.prepare(str(archive / "*.csv"), out=tmp_path / "out", dask=client)
    assert names(tmp_path) == []


def test_files_that_a_worker_does_not_see(
    archive: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = partitions.read_partition

    def elsewhere(job: partitions.ReadingJob) -> Any:
        import dataclasses

        return task(dataclasses.replace(job, files=(Path("/nowhere/a.csv"),)))

    monkeypatch.setattr(partitions, "read_partition", elsewhere)
    with pytest.raises(SourceError, match="'/nowhere/a.csv' is not on the machine .*; put the source on storage that"):
        dw.prepare(str(archive / "*.csv"), out=tmp_path / "out", dask=client, skip_bad_files=True)


def test_what_is_no_cluster_or_no_file(archive: Path, tmp_path: Path, client: Client) -> None:
    source = str(archive / "*.csv")
    for wrong, message in (
        ("host", "`dask` is 'host'; give the address of a scheduler"),
        (5, "`dask` is 5; give the address"),
        (True, "`dask` is True; give the address"),
    ):
        with pytest.raises(OptionError, match=message):
            dw.prepare(source, out=tmp_path / "out", dask=wrong)
    with pytest.raises(OptionError, match="of the kind 'pairs' is in the memory of this process.*save it as Parquet"):
        dw.prepare([("a ship", 1900)], out=tmp_path / "out", dask=client)
    with pytest.raises(OptionError, match="A function given as `tokens` cannot be used with `dask`"):
        dw.prepare(source, tokens=str.split, out=tmp_path / "out", dask=client)
    with pytest.raises(DriftwordError, match="Which column holds the text"):
        dw.prepare(_without_text(tmp_path), out=tmp_path / "out", dask=client)
    with LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as empty, Client(empty) as idle:
        pass
    with pytest.raises(OptionError, match="The Client given as `dask` is closed or asynchronous"):
        dw.prepare(source, out=tmp_path / "out", dask=idle)


def _without_text(folder: Path) -> Path:
    (folder / "notext.csv").write_text("a,b\n1,2\n")
    return folder / "notext.csv"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (KilledWorker("task", None, 3), "ended every worker that worked on it.*run the same command again"),
        (CommClosedError("gone"), "The connection to the Dask scheduler was lost; run the same command again"),
        (
            ModuleNotFoundError("No module named 'x'"),
            r"could not do its task \(No module named 'x'\); install the same",
        ),
    ],
)
def test_faults_of_a_cluster_are_sentences(fault: Exception, expected: str) -> None:
    with pytest.raises(SourceError, match=expected), dask_tasks.explained():
        raise fault


def test_partitions_are_whole_files_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "LEAST_BYTES", 100)
    sizes = [10, 90, 500, 40, 40, 40, 1]
    files = [tmp_path / f"{i}.csv" for i in range(len(sizes))]
    for file, size in zip(files, sizes, strict=True):
        file.write_bytes(b"x" * size)
    groups = [[file.stat().st_size for file in group] for group in cluster.plan(files)]
    assert groups == [[10, 90], [500], [40, 40, 40], [1]]


@pytest.mark.parametrize("number", [0, 1, 399, 400, 401, 800, 801, 5_000])
def test_partitions_know_which_texts_one_process_would_sample(number: int) -> None:
    sample = LanguageSample()
    texts = pl.Series([str(i) for i in range(number)], dtype=pl.String)
    for begin in range(0, number, 77):
        sample.add(texts[begin : begin + 77])
    assert sample.texts == texts.to_list()[:: sampling_step(number)]
