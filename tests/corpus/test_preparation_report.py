from __future__ import annotations

import json

import driftword as dw
from driftword.corpus.metadata import CorpusMetadata
from driftword.corpus.options import PrepareOptions
from driftword.corpus.preparation_report import PreparationReport
from driftword.sources.opening import Input
from driftword.storage.typed_facts import typed


def test_a_report_survives_json() -> None:
    report = PreparationReport(rows=9, bad_date_examples=((2, "soon"),), other_languages={"fr": 3}, keep_missing=("x",))
    assert typed(json.loads(json.dumps(report.to_dict())), PreparationReport) == report
    assert PreparationReport().to_dict() == {}
    assert typed({"rows": 3, "from a later version": 1}, PreparationReport).rows == 3


def test_metadata_survives_json() -> None:
    metadata = CorpusMetadata(
        seed=7,
        subsample=1e-3,
        inputs=(Input("a.csv", "0" * 64),),
        citation="A. Author",
        options=PrepareOptions(text="body", stopwords=("the",), slices=("1900", "1910")),
        report=PreparationReport(rows=2),
    )
    assert CorpusMetadata.from_dict(json.loads(json.dumps(metadata.to_dict()))) == metadata


def test_a_corpus_of_ids_has_nothing_to_report() -> None:
    corpus = dw.Corpus.from_ids(["a"], [0], [0, 1], chunk_slice=[0], chunk_split=[0], slices=[1900])
    assert corpus.info()["report"] == {}
    facts = corpus.summary()
    assert not {"left out", "note"} & set(facts)
