from __future__ import annotations

import json
from pathlib import Path

import driftword as dw
from driftword.corpus.metadata import CorpusMetadata
from driftword.corpus.options import CorpusOptions
from driftword.corpus.preparation_report import PreparationReport
from driftword.sources.opening import Input


def test_a_report_survives_json() -> None:
    report = PreparationReport(rows=9, bad_date_examples=((2, "soon"),), other_languages={"fr": 3}, keep_missing=("x",))
    assert PreparationReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    assert PreparationReport().to_dict() == {}
    assert PreparationReport.from_dict({"rows": 3, "from a later version": 1}).rows == 3


def test_metadata_survives_json() -> None:
    metadata = CorpusMetadata(
        seed=7,
        subsample=1e-3,
        inputs=(Input("a.csv", "0" * 64),),
        citation="A. Author",
        options=CorpusOptions(text="body", stopwords=("the",), slices=("1900", "1910")),
        report=PreparationReport(rows=2),
    )
    assert CorpusMetadata.from_dict(json.loads(json.dumps(metadata.to_dict()))) == metadata


def test_corpora_of_the_first_release_open(small: dw.Corpus, tmp_path: Path) -> None:
    """Then the options had a list called stop, and the report fewer counts."""
    folder = tmp_path / "old.corpus"
    folder.mkdir()
    assert small.path is not None
    for file in small.path.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    meta = json.loads((folder / "meta.json").read_text())
    meta["options"] = {
        "text": "text",
        "time": "date",
        "stop": ["the"],
        "tokens": "words",
        "min_count": 2,
        "vocabulary": 9,
    }
    meta["report"] = {"rows": 60, "bad_dates": 1, "bad_date_examples": [[3, "soon"]], "rare_tokens": 4, "documents": 60}
    (folder / "meta.json").write_text(json.dumps(meta))
    corpus = dw.Corpus.open(folder)
    assert corpus.options.stopwords == ("the",)
    assert corpus.report.bad_date_examples == ((3, "soon"),)
    assert "1 document whose date cannot be read (row 3: 'soon')" in corpus.summary()["left out"]
    assert corpus.fingerprint == small.fingerprint


def test_a_corpus_of_ids_has_nothing_to_report() -> None:
    corpus = dw.Corpus.from_ids(["a"], [0], [0, 1], chunk_slice=[0], chunk_split=[0], slices=[1900])
    assert corpus.info()["report"] == {}
    facts = corpus.summary()
    assert not {"left out", "note"} & set(facts)
