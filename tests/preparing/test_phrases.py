from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftword.basics.workers import Workers
from driftword.corpus.phrases import PhraseRule, PhraseTable, join_strings
from driftword.preparing.id_stream import IdStream
from driftword.preparing.local_text import LocalIds
from driftword.preparing.phrases import find_and_join


def joined(documents: list[list[str]], rule: PhraseRule, folder: Path) -> tuple[list[list[str]], PhraseTable]:
    """Run the kernels over documents given as words."""
    words = [""]
    ids: dict[str, int] = {"": 0}
    stream = IdStream(folder)
    for document in documents:
        for word in document:
            if word not in ids:
                ids[word] = len(words)
                words.append(word)
        stream.append(np.array([ids[word] for word in document], dtype=np.uint32), np.array([len(document)]))
    ids, found = find_and_join(LocalIds(stream, Workers(2)), words, rule)
    result = []
    for batch in ids.stream.batches():
        for begin, end in zip([0, *batch.ends[:-1]], batch.ends, strict=True):
            result.append([words[i] for i in batch.ids[begin:end]])
    return result, found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams")


def test_collocations_become_one_word(folder: Path) -> None:
    random = np.random.default_rng(0)
    filler = [f"w{i}" for i in range(50)]
    documents = [
        [*random.choice(filler, 8), *phrase.split(), *random.choice(filler, 8)]
        for phrase in ["health care", "secretary of state", "secretary of the treasury", "un security council"] * 30
    ]
    result, found = joined(documents, PhraseRule(connectors=("of", "the")), folder)
    names = set(found.table()["phrase"])
    assert {"health care", "secretary of state", "secretary of the treasury", "un security council"} <= names
    assert all("health care" in document for document in result[::4])
    assert all("un security council" in document for document in result[3::4])
    assert not any("of" in document for document in result)


def test_a_phrase_never_crosses_documents_or_dropped_tokens(folder: Path) -> None:
    apart = [["a1"], ["b1"]] * 50 + [["c1", "", "d1"]] * 50 + [["e1", "f1"]] * 50
    result, found = joined(apart, PhraseRule(min_count=10), folder)
    assert found.table()["phrase"].to_list() == ["e1 f1"]
    assert [word for document in result for word in document].count("e1 f1") == 50


def test_connectors_and_function_words_never_end_a_phrase(folder: Path) -> None:
    documents = [["of", "x1", "it", "is", "the", "y1", "of"]] * 50
    _, found = joined(documents, PhraseRule(min_count=10, threshold=-1), folder)
    assert found.table().is_empty()


def test_the_better_of_two_overlapping_pairs_wins(folder: Path) -> None:
    documents = [["new", "york"]] * 40 + [["york", "city"]] * 5 + [["big", "new"]] * 12 + [["new", "york", "city"]] * 5
    documents += [["big"], ["city"]] * 60
    documents += [["big", "new", "york"]]
    result, found = joined(documents, PhraseRule(min_count=10, threshold=0.0), folder)
    scores = {row[0]: row[4] for row in found.rows}
    assert scores["new york"] > scores["big new"]
    assert result[-1][0] != "big new"


words = st.sampled_from(["a", "b", "c", "d", "of", "the", "it", ""])


@pytest.mark.slow
@settings(max_examples=150)
@given(
    st.lists(st.lists(words, max_size=30), min_size=1, max_size=12),
    st.integers(1, 4),
    st.floats(-0.5, 0.9),
)
def test_words_are_joined_as_ids_are(folder: Path, documents: list[list[str]], floor: int, threshold: float) -> None:
    rule = PhraseRule(threshold=threshold, min_count=floor, connectors=("of", "the"))
    result, found = joined(documents, rule, folder)
    again = PhraseTable.from_table(found.table())
    for document, expected in zip(documents, result, strict=True):
        spans = join_strings(document, again.rounds, rule.connectors)
        assert [word for word, _, _ in spans] == expected
        covered = [i for _, first, last in spans for i in range(first, last + 1)]
        assert covered == list(range(len(document)))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.lists(words, max_size=20), min_size=1, max_size=8))
def test_counts_of_pairs_are_exact(folder: Path, documents: list[list[str]]) -> None:
    """Every pair of the first round is counted as a plain loop counts it."""
    rule = PhraseRule(threshold=-1, min_count=1, connectors=("of", "the"))
    _, found = joined(documents, rule, folder)
    expected: dict[tuple[str, ...], int] = {}
    for document in documents:
        for i, word in enumerate(document):
            for j in range(i + 1, min(i + 4, len(document))):
                between = document[i + 1 : j]
                if word in "abcd" and document[j] in "abcd" and word and document[j] and {*between} <= {"of", "the"}:
                    parts = (word, *between, document[j])
                    expected[parts] = expected.get(parts, 0) + 1
    counted = {tuple(parts): count for _, parts, number, count, _ in found.rows if number == 1}
    assert counted == expected


def test_the_sketch_never_loses_a_frequent_pair(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sketch of two places everything collides, and the result is the same."""
    random = np.random.default_rng(1)
    documents = [[*random.choice(list("pqrstuv"), 30)] for _ in range(40)]
    rule = PhraseRule(threshold=0.0, min_count=5)
    expected = joined(documents, rule, folder)[1].rows
    monkeypatch.setattr("driftword.preparing.pairs.SKETCH_BITS", 1)
    assert joined(documents, rule, folder)[1].rows == expected
