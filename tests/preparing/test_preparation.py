from __future__ import annotations

import filecmp
import json
import os
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import driftword as dw
from conftest import letters, needs_data
from driftword.basics.errors import DriftwordError, OptionError, SourceError, StoreError


def same_bytes(a: Path, b: Path) -> bool:
    names = sorted(file.name for file in a.iterdir())
    if names != sorted(file.name for file in b.iterdir()):
        return False
    return filecmp.cmpfiles(a, b, names, shallow=False)[1:] == ([], [])


def spelled(corpus: dw.Corpus) -> list[str]:
    return [corpus.words[i] for i in corpus.tokens]


BEASTS = ["ant", "bee", "cat", "dog", "elk", "fox", "the", "of", "1945", "!"]
ragged = st.lists(
    st.tuples(
        st.lists(st.sampled_from(BEASTS), max_size=80).map(" ".join),
        st.integers(1900, 1906),
    ),
    min_size=1,
    max_size=30,
)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ragged, st.booleans(), st.sampled_from(["1y", "3y", "equal:1", "1900,1903,1907"]), st.integers(0, 5))
def test_invariants_on_ragged_corpora(
    tmp_path_factory: pytest.TempPathFactory, documents: list[tuple[str, int]], phrases: bool, slices: str, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("ragged")
    options: dict[str, Any] = {
        "slices": slices,
        "phrases": phrases,
        "phrase_min_count": 3,
        "seed": seed,
        "min_count": 1,
    }
    try:
        corpus = dw.prepare(documents, out=folder / "a", **options)
    except SourceError as error:
        assert "empty text" in str(error) or "No word occurs" in str(error)
        assert list(folder.iterdir()) == []
        return
    expected = Counter(word for text, _ in documents for word in text.split() if word.isalpha())
    found = Counter(word for token in spelled(corpus) for word in token.split(" "))
    assert found == expected
    assert corpus.offsets[0] == 0
    assert corpus.offsets[-1] == len(corpus.tokens)
    assert (np.diff(corpus.offsets) > 0).all()
    assert corpus.counts.sum() == len(corpus.tokens)
    token_slice = np.repeat(corpus.chunk_slice, np.diff(corpus.offsets))
    for t in range(len(corpus.slices)):
        there = np.bincount(corpus.tokens[token_slice == t], minlength=len(corpus.words))
        assert there.tolist() == corpus.counts[t].tolist()
    assert (np.diff(corpus.chunk_slice) >= 0).all()
    assert sum(corpus.split_sizes().values()) == len(corpus.tokens)
    kept = [text for text, _ in documents if text.strip()]
    texts = corpus.documents.collect()["text"].to_list()
    assert texts == kept
    for document in np.unique(corpus.chunk_document):
        chunks = np.flatnonzero(corpus.chunk_document == document)
        ids = corpus.tokens[corpus.offsets[chunks[0]] : corpus.offsets[chunks[-1] + 1]]
        words = [word for i in ids for word in corpus.words[i].split(" ")]
        assert words == [word for word in texts[document].split() if word.isalpha()]
    dw.prepare(documents, out=folder / "b", **options)
    assert same_bytes(folder / "a", folder / "b")


@pytest.mark.slow
def test_batches_do_not_change_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = list(letters(90))
    dw.prepare(documents, out=tmp_path / "one")
    monkeypatch.setattr("driftword.sources.limits.BATCH_BYTES", 4_000)
    monkeypatch.setattr("driftword.sources.limits.BATCH_ROWS", 7)
    monkeypatch.setattr("driftword.preparing.id_stream.BATCH_TOKENS", 500)
    dw.prepare(documents, out=tmp_path / "many")
    assert same_bytes(tmp_path / "one", tmp_path / "many")


def test_documents_keep_their_other_columns(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "when": ["1900", "bad", "1902", "1999"],
            "words": ["ship sail ship", "ship", "sail ship", "ship"],
            "slice": ["x", "y", "z", "w"],
            "speaker": ["A", "B", "C", "D"],
        }
    )
    corpus = dw.prepare(
        frame, text="words", time="when", slices=[1900, 1910], out=tmp_path / "c", skip_bad_dates=True, min_count=1
    )
    table = corpus.documents.collect()
    assert table.columns == ["text", "date", "slice", "when", "slice_", "speaker"]
    assert table["speaker"].to_list() == ["A", "C"]
    assert table["slice"].to_list() == ["1900s", "1900s"]
    report = corpus.report
    assert (report.bad_dates, report.outside_slices, report.documents) == (1, 1, 2)
    assert report.bad_date_examples == ((2, "bad"),)


def test_words_broken_over_lines_are_mended(tmp_path: Path) -> None:
    texts = ["self-rule cooperation"] * 3 + ["self-\nrule coop-\neration", "un-\nseen"]
    corpus = dw.prepare([(text, 1900) for text in texts], out=tmp_path / "c", phrases=False, min_count=1)
    assert Counter(spelled(corpus)) == {"self-rule": 4, "cooperation": 4, "unseen": 1}
    line = corpus.passages("cooperation", n=9).filter(pl.col("keyword") != "cooperation")
    assert line["keyword"].to_list() == ["coop- eration"]


def test_a_tokenizer_of_the_users(tmp_path: Path) -> None:
    pairs = [("das/rote/Haus", 1900), ("ein/Haus/und/noch/ein/Haus", 1901)]
    corpus = dw.prepare(pairs, out=tmp_path / "c", tokens=lambda text: text.split("/"), phrases=False, min_count=1)
    assert spelled(corpus) == ["das", "rote", "Haus", "ein", "Haus", "und", "noch", "ein", "Haus"]
    assert corpus.passages("Haus", at=1901)["left"].to_list() == ["ein/", "ein/Haus/und/noch/ein/"]


def test_stopwords_and_keep_are_spelled_like_the_text(tmp_path: Path) -> None:
    corpus = dw.prepare(
        list(letters()),
        out=tmp_path / "c",
        stopwords=["The", "AND"],
        keep=["Sailor", "Unicorn"],
        vocabulary=5,
        phrases=False,
    )
    assert "the" not in corpus.words
    assert "sailor" in corpus.words
    assert len(corpus.words) == 5
    assert corpus.report.keep_missing == ("unicorn",)


def test_stopwords_and_keep_are_spelled_like_lists_of_words_that_are_noticed(tmp_path: Path) -> None:
    pairs = [(["The", "ship", "left", "the", "Harbour"], 1900), (["The", "ship"], 1901)]
    frame = pl.DataFrame({"text": [text for text, _ in pairs], "year": [year for _, year in pairs]})
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": words, "year": 1900}) + "\n" for words, _ in pairs))
    for i, source in enumerate((pairs, frame, tmp_path / "a.jsonl")):
        options = {"min_count": 2, "phrases": False, "stopwords": ["The"], "keep": ["Harbour", "Unicorn"]}
        corpus = dw.prepare(source, out=tmp_path / f"c{i}", **options)
        assert sorted(corpus.words) == ["Harbour", "ship"]
        assert corpus.report.keep_missing == ("Unicorn",)
        assert (corpus.options.stopwords, corpus.options.keep) == (("The",), ("Harbour", "Unicorn"))


def test_slices_too_small_to_hold_out_are_reported(tmp_path: Path) -> None:
    pairs = [("ship sail " * 400, 1900), ("ship sail", 1901), ("ship " * 600, 1903)]
    corpus = dw.prepare(pairs, out=tmp_path / "c", min_count=1, phrases=False)
    assert corpus.report.slices_without_held_out == ("1901",)
    assert corpus.info()["empty_slices"] == 1
    for year, splits in ((1900, {0, 1, 2}), (1901, {0}), (1903, {0, 1, 2})):
        assert set(corpus.chunk_split[corpus.chunk_slice == corpus.slices.index(year)]) == splits


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ([], {}, "The source has no rows"),
        ([("", 1900), (None, 1900), ("  ", 1900)], {}, "All 3 rows have an empty text"),
        ([("a b", "soon")], {}, r"1 document has a date in column 'date' that cannot be read \(row 1: 'soon'\)"),
        ([("a b", "soon")] * 9 + [("c", 1900)], {}, r"9 documents .*row 5: 'soon'\); pass `skip_bad_dates=True`"),
        ([("a b", None)] * 2, {"skip_bad_dates": True}, "row 1: empty.*none could be used"),
        ([("!!! 12", 1900)], {}, "No word occurs at least once"),
        ([("a b", 1900)], {"min_count": 5}, "No word occurs at least 5 times in 2 words of text"),
        ([("a b", 1900)], {"slices": "1950,1960"}, "Every document lies outside the slices"),
    ],
)
def test_text_that_makes_no_corpus(tmp_path: Path, source: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        dw.prepare(source, out=tmp_path / "c", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": 0}, "`vocabulary` is 0"),
        ({"min_count": 0}, "`min_count` is 0"),
        ({"phrase_threshold": 2}, "`phrase_threshold` is 2"),
        ({"seed": -1}, "`seed` is -1"),
        ({"subsample": "lots"}, "`subsample` is 'lots'"),
        ({"slices": "monthly"}, "`slices` is 'monthly', which is not understood"),
        ({"stopwords": "the"}, "`stopwords` is one string; it must be a list of words"),
        ({"keep": ["ship", 7]}, "`keep` holds 7; it must be a list of words"),
        ({"tokens": "spacy"}, "`tokens` is 'spacy'; choose one of words, whitespace, list"),
    ],
)
def test_options_out_of_range(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        dw.prepare([("a", 1900)], out=tmp_path / "c", **options)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_corpus_is_safe(tmp_path: Path) -> None:
    dw.prepare(list(letters()), out=tmp_path / "c")
    before = (tmp_path / "c" / "meta.json").read_bytes()
    with pytest.raises(StoreError, match="overwrite=True"):
        dw.prepare(list(letters()), out=tmp_path / "c")
    with pytest.raises(DriftwordError):
        dw.prepare([("a", "bad")], out=tmp_path / "c", overwrite=True)
    assert (tmp_path / "c" / "meta.json").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["c"]


def test_state_of_the_union(sotu: dw.Corpus) -> None:
    assert sotu.report.documents == 237
    assert sotu.slices.labels[0] == "1790-1794"
    assert sotu.n_tokens > 1_800_000
    assert {"united states", "social security", "health care", "secretary of state", "u.s."} <= set(sotu.words)
    assert not {"it is", "has been", "of the"} & set(sotu.words)
    texts = sotu.documents.select("text").collect()["text"]
    assert not texts.str.contains(r"(?i)\[(applause|laughter)\]").any()  # stage directions are no speech
    assert sotu.report.slices_without_held_out == ()


@pytest.mark.slow
def test_the_arxiv_corpus_of_the_authors(tmp_path: Path) -> None:
    held = np.load(needs_data("arxiv_ml.npz"), allow_pickle=False)
    splits = ("train", "valid", "test")
    ids = np.concatenate([held[s] for s in splits])
    lengths = np.concatenate([np.diff(held[f"{s}_offsets"]) for s in splits])
    corpus = dw.Corpus.from_ids(
        held["words"],
        ids,
        np.r_[0, np.cumsum(lengths)],
        chunk_slice=np.concatenate([np.searchsorted(held["years"], held[f"{s}_year"]) for s in splits]),
        chunk_split=np.repeat(splits, [len(held[f"{s}_year"]) for s in splits]),
        slices=held["years"].tolist(),
        raw_counts=held["raw_counts"],
        out=tmp_path / "arxiv.corpus",
    )
    for split in splits:
        chunks = list(corpus.chunks(split))
        assert len(chunks) == len(held[f"{split}_year"])
        assert np.concatenate(chunks).tolist() == held[split].tolist()
    assert corpus.slices.labels[0] == "2007"
    assert (corpus.raw_counts == held["raw_counts"]).all()


def prepared(tmp_path: Path, source: Any, **options: Any) -> dw.Corpus:
    return dw.prepare(source, out=tmp_path / "c", **{"min_count": 1, "phrases": False, **options})


def test_files_that_disagree_about_types(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    frames = [
        {"year": [1900, 1901], "text": ["a", "b"], "x": [1, 2]},
        {"year": [date(1975, 1, 1)], "text": ["c"], "x": [date(1975, 1, 1)]},
        {"year": [datetime(1980, 1, 1)], "text": ["d"], "x": [[1, 2]]},
        {"year": ["May 1990"], "text": ["e"], "x": [True], "file": ["mine"]},
    ]
    for i, frame in enumerate(frames):
        pl.DataFrame(frame).write_parquet(folder / f"{i}.parquet")
    corpus = prepared(tmp_path, folder, slices="10y")
    table = corpus.documents.collect()
    assert table["slice"].to_list() == ["1900s", "1900s", "1970s", "1980s", "1990s"]
    assert table["x"].to_list() == ["1", "2", "1975-01-01", "[1, 2]", "true"]
    assert table["file"].to_list()[-1] == "mine"
    pl.DataFrame({"when": [1900], "text": ["f"]}).write_parquet(folder / "5.parquet")
    with pytest.raises(SourceError, match="'5.parquet' has no column 'year'; it has: when, text, file"):
        prepared(tmp_path, folder, overwrite=True)


def test_columns_of_every_type_survive(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "text": ["a b", "c"],
            "a": [1900, 1901],
            "date": ["x", "y"],
            "date_": [1, 2],
            "slice": ["p", "q"],
            "bytes": [b"1", b"2"],
            "far": pl.Series([0, 10**7], dtype=pl.Int32).cast(pl.Date),
            "list": [[1], [2, 3]],
        }
    )
    corpus = prepared(tmp_path, frame, time="a")
    names = corpus.documents.collect_schema().names()
    assert names == ["text", "date", "slice", "a", "date__", "date_", "slice_", "bytes", "far", "list"]
    lines = corpus.passages("c")
    assert lines["far"].to_list() == [None]
    lines.write_csv()
    again = dw.prepare(corpus.documents.collect(), out=tmp_path / "again", min_count=1, phrases=False)
    assert again.fingerprint == corpus.fingerprint
    for kind in (pl.Duration, pl.List(pl.Int64), pl.Boolean):
        odd = pl.DataFrame({"text": ["a"], "year": pl.Series([None], dtype=kind)})
        with pytest.raises(SourceError, match="not dates; name another with `time`"):
            prepared(tmp_path / "no", odd)
    far = pl.DataFrame({"text": ["a", "b"], "date": pl.Series([10**7, 0], dtype=pl.Int32).cast(pl.Date)})
    with pytest.raises(SourceError, match="1 document has a date"):
        prepared(tmp_path / "no", far)
    assert prepared(tmp_path / "yes", far, skip_bad_dates=True).n_tokens == 1


def test_nested_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": {"title": "alpha"}, "year": 1900}')
    with pytest.raises(SourceError, match="Column 'text' holds .* which is not a list of words"):
        prepared(tmp_path, tmp_path / "a.jsonl")


def test_documents_outside_the_slices_count_for_nothing(tmp_path: Path) -> None:
    pairs = [("zebra zebra zebra", 1900), ("co-operation", 1900), ("hello zebra coop-\neration", 1950), ("!!!", 1950)]
    corpus = prepared(tmp_path, pairs, slices="1949,1951")
    assert dict(zip(corpus.words, corpus.counts[0].tolist(), strict=True)) == {"cooperation": 1, "hello": 1, "zebra": 1}
    with pytest.raises(SourceError, match="No word occurs at least 3 times in 3 words"):
        prepared(tmp_path / "no", pairs, slices="1949,1951", min_count=3)
    with pytest.raises(SourceError, match="No word occurs"):
        prepared(tmp_path / "no", [("!!!", 1900), ("hello", 1950)], slices="1900,1901")


def test_lists_of_words(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="`stopwords` is one string; it must be a list of words"):
        prepared(tmp_path, [("a", 1900)], stopwords="the")
    with pytest.raises(SourceError, match="The stopwords leave no word"):
        prepared(tmp_path, [("a", 1900)], stopwords=["A"])
    corpus = prepared(tmp_path, [("quick fox", 1900)] * 30, phrases=True, keep=["Fox", ""])
    assert "fox" in corpus.words


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    corpus = prepared(
        tmp_path,
        [("a b", 1900)],
        seed=np.int64(3),
        vocabulary=np.int64(5),
        subsample=np.float32(0.5),
        min_count=np.int8(1),
    )
    assert corpus.seed == 3
    for slices in (5, None):
        with pytest.raises(OptionError, match=f"`slices` is {slices}; write a number and a unit"):
            prepared(tmp_path / "no", [("a", 1900)], slices=slices)


def test_faults_of_a_tokenizer_are_not_blamed_on_the_disk(tmp_path: Path) -> None:
    def broken(text: str) -> list[str]:
        raise OSError("no model")

    with pytest.raises(SourceError, match="The tokenizer failed: no model"):
        prepared(tmp_path, [("a", 1900)], tokens=broken)


def test_any_folder_will_do(tmp_path: Path) -> None:
    corpus = dw.prepare([("a b", 1900)], out=tmp_path / "new" / "x[1] *" / "c", min_count=1)
    assert corpus.passages("a").height == 1
    with pytest.raises(SourceError):
        dw.prepare([], out=tmp_path / "fresh" / "deep" / "c")
    assert not (tmp_path / "fresh").exists()
    with pytest.raises(StoreError, match="is not valid UTF-8; rename it"):
        dw.prepare([("a", 1900)], out=os.fsdecode(b"caf\xe9"))


def test_dates_in_words_only_of_text_files(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "nodate.txt").write_text("words")
    message = "1 file has no certain date in its name or folder .'nodate.txt'.; pass `time_from_name`"
    with pytest.raises(SourceError, match=message):
        prepared(tmp_path, tmp_path / "t")


def test_uncertain_dates_in_names_need_a_pattern_and_a_format(tmp_path: Path) -> None:
    (tmp_path / "2022").mkdir()
    (tmp_path / "2022" / "06_05_2022.txt").write_text("words")
    message = "no certain date in its name or folder .'06_05_2022.txt'.; pass `time_from_name` .* `time_format`"
    with pytest.raises(SourceError, match=message):
        prepared(tmp_path, tmp_path / "2022")
    options = {"time_from_name": r"\d\d_\d\d_\d{4}", "time_format": "%d_%m_%Y", "slices": "1d"}
    corpus = prepared(tmp_path, tmp_path / "2022", **options)
    assert corpus.slices.labels[0] == "2022-05-06"


def test_documents_of_which_nothing_remains_are_counted(tmp_path: Path) -> None:
    texts = ["ship sail"] * 6 + ["1914 1918", "!!!", "σκάφος", "корабль"]
    corpus = prepared(tmp_path, [(text, 1900) for text in texts], min_count=3)
    assert (corpus.report.no_words, corpus.report.no_vocabulary, corpus.report.documents) == (2, 2, 10)
    assert corpus.info()["documents"] == 6
    left_out = corpus.summary()["left out"].splitlines()
    assert left_out[:2] == ["2 documents without any word", "2 documents without a word of the vocabulary"]


def test_polish_is_not_misread_but_reported(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    text = "Wszyscy ludzie rodzą się wolni i równi. " * 9
    (tmp_path / "t" / "1900.txt").write_bytes(text.encode("cp1250"))
    corpus = prepared(tmp_path, tmp_path / "t")
    assert corpus.report.detected_encodings == {}
    assert corpus.report.replaced_characters == 27
    assert "27 characters could not be decoded" in corpus.summary()["note"]
    assert "name it with `encoding`" in corpus.summary()["note"]


def test_the_report_says_which_encoding_was_read(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for year in (1900, 1901):
        (tmp_path / "t" / f"{year}.txt").write_bytes("Größe und Straße".encode("cp1252"))
    (tmp_path / "t" / "1902.txt").write_text("Größe und Straße", encoding="utf-8")
    corpus = prepared(tmp_path, tmp_path / "t")
    assert set(corpus.words) == {"größe", "und", "straße"}
    assert corpus.report.detected_encodings == {"windows-1252": 2}
    assert "2 files read as Windows-1252; if that is wrong, pass `encoding`" in corpus.summary()["note"]
    forced = prepared(tmp_path, tmp_path / "t", encoding="utf-8", overwrite=True)
    assert forced.report.detected_encodings == {}
    assert forced.report.replaced_characters == 6
    assert forced.options.encoding == "utf-8"


def test_two_digit_years_ask_for_a_format(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["ship", "sail"], "year": [85, 92]})
    with pytest.raises(SourceError, match='pass `time_format="%y"` if 85 means 1985'):
        prepared(tmp_path, frame)
    assert prepared(tmp_path, frame, time_format="%y").slices.labels[0] == "1985"
    some = [("ship", "1985"), ("sail", "92")]
    with pytest.raises(SourceError, match="row 2: '92'.*pass `time_format=\"%y\"`"):
        prepared(tmp_path / "no", some)


WORD_LISTS = [["ship", "New York", "Ship", ""], ["sail", "ship"], [], None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["polars", "pandas", "arrays", "arrow", "parquet", "ipc", "jsonl", "csv", "pairs"])
def test_lists_of_words_are_taken_as_they_are(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"text": WORD_LISTS, "year": [1900, 1901, 1902, 1903]})
    options: dict[str, Any] = {}
    source: Any = frame
    if kind in ("pandas", "arrow"):
        source = frame.to_pandas() if kind == "pandas" else frame.to_arrow()
    elif kind == "arrays":
        source = pd.DataFrame(
            {"text": [np.array(words, dtype=object) for words in WORD_LISTS[:3]], "year": [1900, 1901, 1902]}
        )
    elif kind == "pairs":
        source = [(words, 1900 + i) for i, words in enumerate(WORD_LISTS)]
    elif kind in ("parquet", "ipc", "jsonl"):
        source = tmp_path / f"a.{kind}"
        {"parquet": frame.write_parquet, "ipc": frame.write_ipc, "jsonl": frame.write_ndjson}[kind](source)
    elif kind == "csv":
        source = tmp_path / "a.csv"
        pl.DataFrame({"text": [json.dumps(words) for words in WORD_LISTS[:3]], "year": [1900, 1901, 1902]}).write_csv(
            source
        )
        options["tokens"] = "list"  # only a user can tell that text is a list
    corpus = prepared(tmp_path, source, **options)
    assert spelled(corpus) == ["ship", "New York", "Ship", "sail", "ship"]
    assert corpus.options.tokens == "list"
    assert corpus.report.numbers == 0
    assert corpus.passages("ship")["left"].to_list() == ["", "sail "]
    assert corpus.passages("New York")["keyword"].to_list() == ["New York"]
    assert corpus.passages("Ship")["left"].to_list() == ["ship New York "]


def test_phrases_in_lists_of_words(tmp_path: Path) -> None:
    rows = [(["the", "health", "care", "bill", f"w{i % 7}"], 1900) for i in range(60)]
    corpus = prepared(tmp_path, rows, phrases=True, phrase_threshold=0.1)
    phrase = next(word for word in corpus.words if "health care" in word)
    assert corpus.passages(phrase, n=3).height == 3


@pytest.mark.parametrize(
    ("texts", "tokens", "message"),
    [
        ([["a"]], "whitespace", "Column 'text' holds lists; if they are lists of words, pass `tokens=\"list\"`"),
        ([["a"]], str.split, "holds lists; if they are lists of words"),
        ([[1, 2]], "words", "holds lists of Int64, not of words; name another with `text`"),
        (["a b"], "list", "holds 'a b', which is not a list of words; .*leave `tokens` out"),
        ([1.5], "words", "holds Float64, not text; name another with `text`"),
    ],
)
def test_columns_that_are_not_what_tokens_says(tmp_path: Path, texts: list[Any], tokens: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        prepared(tmp_path, pl.DataFrame({"text": texts, "year": [1900]}), tokens=tokens)


def test_texts_and_lists_do_not_mix(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="Some items have a text and some a list of words"):
        prepared(tmp_path, [("a", 1900), (["b"], 1901)])


def test_facts_of_a_corpus_are_typed(tmp_path: Path) -> None:
    corpus = prepared(tmp_path, [("ship sail", 1900)], slices=[1900, date(1910, 1, 1)], seed=3)
    assert [entry.name for entry in corpus.inputs] == ["pairs"]
    assert len(corpus.inputs[0].sha256 or "") == 64
    assert corpus.options.slices == ("1900", "1910-01-01")
    assert (corpus.seed, corpus.citation, corpus.report.rows) == (3, None, 1)
    assert "numpy" in corpus.versions
