"""A corpus whose documents are in several files answers as one with a single file does."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftword as dw
from conftest import letters
from driftword.basics.errors import StoreError
from driftword.corpus.passages import find_in_document
from driftword.corpus.stored_documents import ONE_BY_ONE, StoredDocuments
from driftword.corpus.word_kinds import word_kinds
from driftword.preparing import document_parts
from driftword.storage import store
from driftword.storage.checksums import META, file_checksums, sealed_json, unseal_json

ANNOTATED = (
    "# newdoc id = {0}\n# date = {1}\n"
    + "1\tThe\tthe\tDET\t_\t_\t_\t_\t_\t_\n2\tship{0}\tship\tNOUN\t_\t_\t_\t_\t_\t_\n\n" * 40
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dw.Corpus, dw.Corpus]:
    """Return the same corpus with its documents in one file and in several."""
    return in_both_forms(tmp_path_factory.mktemp("documents"), frame())


def frame() -> pl.DataFrame:
    texts, dates = zip(*letters(), strict=True)
    return pl.DataFrame({"text": texts, "date": dates, "place": [None, "Hull", "York"] * 20})


def in_both_forms(folder: Path, source: Any) -> tuple[dw.Corpus, dw.Corpus]:
    one = dw.prepare(source, out=folder / "one", slices="2y")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_parts, "LEAST_BYTES", 7_000)
        return one, dw.prepare(source, out=folder / "several", slices="2y")


def files_of(corpus: dw.Corpus) -> list[str]:
    assert corpus.path is not None
    return sorted(path.name for path in Path(str(corpus.path)).glob("documents*"))


def test_several_files_hold_what_one_holds(both: tuple[dw.Corpus, dw.Corpus]) -> None:
    one, several = both
    names = files_of(several)
    assert files_of(one) == ["documents.parquet"]
    assert names == [f"documents-{i:05}.parquet" for i in range(len(names))]
    assert len(names) > 4
    parts = [pl.read_parquet(Path(str(several.path)) / name) for name in names]
    assert {part.height for part in parts} <= {60 // len(names), 60 // len(names) + 1}
    assert pl.concat(parts).equals(one.documents.collect())
    facts = [corpus._store.meta for corpus in both if corpus._store is not None]
    files = [{name: entry for name, entry in fact["files"].items() if name not in names} for fact in facts]
    assert files[0].pop("documents.parquet")
    assert files[0] == files[1]


@pytest.mark.slow
def test_everything_that_reads_documents_reads_several_files(both: tuple[dw.Corpus, dw.Corpus]) -> None:
    asked: list[Callable[[dw.Corpus], Any]] = [
        lambda corpus: corpus.has_documents,
        lambda corpus: corpus.documents.collect().rows(),
        lambda corpus: corpus.documents.slice(31, 4).collect().rows(),
        lambda corpus: corpus.passages("ship", n=9).rows(),
        lambda corpus: corpus.passages("the", n=2_000).rows(),  # more documents than are read one by one
        lambda corpus: corpus.passages("the", where={"place": "Hull"}).rows(),
        lambda corpus: [find_in_document(corpus, i, "the") for i in (0, 13, 59)],
        lambda corpus: corpus.chunk_day.tolist(),
        lambda corpus: list(word_kinds(corpus)),
        lambda corpus: corpus.fingerprint,
    ]
    for ask in asked:
        assert ask(both[0]) == ask(both[1])


def test_files_in_memory_and_on_disk_are_one_table(
    both: tuple[dw.Corpus, dw.Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, several = both
    sizes = [(Path(str(several.path)) / name).stat().st_size for name in files_of(several)]
    for small in (sorted(sizes)[len(sizes) // 2], 0):
        monkeypatch.setattr(store, "_SMALL", small)
        corpus = dw.Corpus.open(str(several.path))
        assert corpus.documents.collect().equals(one.documents.collect())
        assert corpus.passages("ship", n=9).equals(one.passages("ship", n=9))


def test_several_files_at_an_address(both: tuple[dw.Corpus, dw.Corpus], monkeypatch: pytest.MonkeyPatch) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    for path in Path(str(both[1].path)).iterdir():
        memory.pipe(f"/documents/several/{path.name}", path.read_bytes())
    for small in (store._SMALL, 0):
        monkeypatch.setattr(store, "_SMALL", small)
        corpus = dw.Corpus.open("memory://documents/several")
        assert corpus.documents.collect().equals(both[0].documents.collect())
        assert corpus.passages("ship", n=9).equals(both[0].passages("ship", n=9))


def test_annotated_text_in_several_files(tmp_path: Path) -> None:
    source = tmp_path / "texts.conllu"
    source.write_text("".join(ANNOTATED.format(i, 1850 + i % 4) for i in range(16)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_parts, "LEAST_BYTES", 1_000)
        several = dw.prepare(source, out=tmp_path / "several", time="date", words="form", phrases=False)
    one = dw.prepare(source, out=tmp_path / "one", time="date", words="form", phrases=False)
    assert len(files_of(several)) > 2
    assert several.annotated
    for name in ("documents", "annotations"):
        assert getattr(several, name).collect().equals(getattr(one, name).collect())
    assert several.passages("ship13", n=3).equals(one.passages("ship13", n=3))


@pytest.mark.slow
def test_an_extended_corpus_has_the_documents_of_several_files(
    both: tuple[dw.Corpus, dw.Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = [(text, "1861-03-01") for text, _ in letters(9, seed=4)]
    monkeypatch.setattr(document_parts, "LEAST_BYTES", 2_000)
    longer = []
    for name, corpus in zip(("one", "several"), both, strict=True):
        model = dw.fit(corpus, dw.Spec(dim=4, context=2), passes=3, threads=1, out=tmp_path / f"{name}.model")
        longer.append(dw.extend(model, later, out=tmp_path / f"{name}-1861.model").open_corpus())
    found = [corpus.documents.collect() for corpus in longer if corpus is not None]
    assert found[0].height == 69
    assert found[0].equals(found[1])


def test_groups_of_documents_in_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = dw.prepare(frame(), out=tmp_path / "one", group="place")
    monkeypatch.setattr(document_parts, "LEAST_BYTES", 7_000)
    several = dw.prepare(frame(), out=tmp_path / "several", group="place")
    assert several.groups == one.groups == ("Hull", "York", "others")
    assert several.chunk_group.tolist() == one.chunk_group.tolist()


# -- faults ------------------------------------------------------------------------------


@pytest.mark.parametrize("large", [False, True])
def test_a_file_that_is_missing_or_damaged_is_named(
    both: tuple[dw.Corpus, dw.Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, large: bool
) -> None:
    if large:
        monkeypatch.setattr(store, "_SMALL", 0)
    shutil.copytree(str(both[1].path), tmp_path / "copy")
    path = tmp_path / "copy" / "documents-00002.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(StoreError, match=r"the content of documents-00002\.parquet has changed since it was written"):
        _ = dw.Corpus.open(tmp_path / "copy").documents
    path.write_bytes(content[:-1])
    with pytest.raises(StoreError, match=r"documents-00002\.parquet has .* bytes instead of"):
        dw.Corpus.open(tmp_path / "copy")
    path.unlink()
    with pytest.raises(StoreError, match=r"documents-00002\.parquet is missing"):
        dw.Corpus.open(tmp_path / "copy")


def test_a_file_that_was_changed_on_purpose_is_named(both: tuple[dw.Corpus, dw.Corpus], tmp_path: Path) -> None:
    """Its checksums were changed with it."""
    shutil.copytree(str(both[1].path), tmp_path / "copy")
    path, last = (tmp_path / "copy" / name for name in (files_of(both[1])[2], files_of(both[1])[-1]))
    table, damaged = pl.read_parquet(path), path.read_bytes()
    for change, message in (
        (lambda: table.drop("place").write_parquet(path), r"documents-00002\.parquet does not have the columns and"),
        (lambda: path.write_bytes(damaged[:-9] + damaged[-8:] + b"x"), r"documents-00002\.parquet cannot be read"),
    ):
        change()
        reseal(tmp_path / "copy")
        with pytest.raises(StoreError, match=message):
            _ = dw.Corpus.open(tmp_path / "copy").documents
    path.write_bytes(damaged)
    pl.read_parquet(last).head(1).write_parquet(last)
    reseal(tmp_path / "copy")
    with pytest.raises(StoreError, match=rf"{last.name} does not have the columns and rows"):
        _ = dw.Corpus.open(tmp_path / "copy").documents
    path.write_bytes(b"PAR1" + bytes(len(damaged) // 2) + damaged[4 + len(damaged) // 2 :])
    shutil.copy(Path(str(both[1].path)) / last.name, last)
    reseal(tmp_path / "copy")
    with pytest.raises(StoreError, match=rf"one of documents-00000\.parquet to {last.name} cannot be read"):
        dw.Corpus.open(tmp_path / "copy").passages("the", n=2_000)


def reseal(folder: Path) -> None:
    meta = unseal_json((folder / META).read_bytes())
    del meta["checksum"]
    for name in meta["files"]:
        data = (folder / name).read_bytes()
        meta["files"][name] = {"bytes": len(data), "xxh3": file_checksums(io.BytesIO(data))}
    (folder / META).write_bytes(sealed_json(json.loads(json.dumps(meta))))


# -- rows --------------------------------------------------------------------------------

sizes = st.lists(st.integers(0, 5), min_size=1, max_size=5)


@pytest.mark.slow
@given(sizes, st.integers(0, 30), st.integers(0, 30))
def test_rows_are_a_slice_of_all(lengths: list[int], first: int, number: int) -> None:
    ends = list(accumulate(lengths))
    table = pl.DataFrame({"n": range(ends[-1]), "other": "x"}, schema={"n": pl.Int64, "other": pl.String})
    files: list[Any] = []
    for end, length in zip(ends, lengths, strict=True):
        written = io.BytesIO()
        table.slice(end - length, length).write_parquet(written)
        files.append(io.BytesIO(written.getvalue()))
    stored = StoredDocuments(files, ends, pl.exclude("other"))
    assert len(stored) == table.height
    assert stored.frame.collect().equals(table.drop("other"))
    assert stored.rows(first, number).collect().equals(table.drop("other").slice(first, number))
    assert stored.each(list(range(ends[-1]))).equals(table.drop("other"))
    assert stored.each([]).schema == {"n": pl.Int64}


def test_documents_that_are_far_apart_are_read_without_those_between(both: tuple[dw.Corpus, dw.Corpus]) -> None:
    """Polars would read a whole file once, and take all of them from that."""
    for corpus in both:
        stored = corpus._stored_documents()
        plan = pl.explain_all([stored.rows(i, 1) for i in (3, 17, 42)], optimizations=ONE_BY_ONE)
        assert plan.count("SLICE: Positive") == 3
        assert "CACHE" not in plan
        assert stored.each([3, 17, 42]).equals(corpus.documents.collect()[[3, 17, 42]])
