"""The texts behind a word: passages, filters by metadata, and whole documents."""

from __future__ import annotations

import io
import re
from html import unescape

import polars as pl
import pytest
from fastapi.testclient import TestClient

import driftword as dw
from conftest import letters
from driftword.pages import passage_content
from driftword.web.app import make_app

LOCAL = "http://127.0.0.1"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dw.Corpus:
    rows = [(text, when, "Ada" if i % 2 else "Bob <i>") for i, (text, when) in enumerate(letters(90))]
    table = pl.DataFrame(rows, schema=["text", "date", "writer"], orient="row")
    return dw.prepare(table, out=tmp_path_factory.mktemp("texts") / "c", subsample=None)


@pytest.fixture(scope="module")
def reader(corpus: dw.Corpus) -> TestClient:
    model = dw.fit(corpus, dw.Spec(dim=4, context=4, rounds=2, prior_precision=0.1), passes=2)
    return TestClient(make_app(model, corpus), base_url=LOCAL)


def test_a_text_is_shown_whole_with_its_word_marked(reader: TestClient, corpus: dw.Corpus) -> None:
    rows = corpus.documents.collect().to_dicts()
    for document in (0, 7, 89):
        page = reader.get(f"/text/{document}", params={"word": "ship"})
        assert page.status_code == 200
        shown = re.search(r'<div class="text">(.*?)</div>', page.text, re.DOTALL)
        assert shown is not None
        assert unescape(re.sub("<[^>]+>", "", shown[1])) == rows[document]["text"]
        expected = len(re.findall(r"\bship\b", rows[document]["text"], re.IGNORECASE))
        assert re.findall(r'<mark id="hit-(\d+)">', page.text) == [str(i + 1) for i in range(expected)]
        assert "<i>" not in page.text
        twin = reader.get(f"/text/{document}.json", params={"word": "ship"}).json()
        assert "".join(piece["text"] for piece in twin["pieces"]) == rows[document]["text"]
        assert twin["about"] == {"writer": rows[document]["writer"]}
    assert "numbered from 0 to 89" in reader.get("/text/90", params={"word": "ship"}).text
    assert reader.get("/text/x", params={"word": "ship"}).status_code == 422
    assert reader.get("/text/1", params={"word": "shipp"}).status_code == 404


def test_long_texts_are_truncated(corpus: dw.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_content, "MAX_CHARACTERS", 100)
    content = passage_content.full_text(corpus, 0, "ship")
    assert content["truncated"]
    assert sum(len(piece["text"]) for piece in content["pieces"]) == 100


def test_pages_say_how_many_occurrences_there_are(reader: TestClient, corpus: dw.Corpus) -> None:
    for writer in ("Ada", "Bob <i>"):
        texts_of = corpus.documents.filter(pl.col("writer") == writer).collect()["text"]
        expected = sum(len(re.findall(r"\bship\b", text, re.IGNORECASE)) for text in texts_of)
        page = reader.get("/word/ship", params={"where": f"writer={writer}"}).text
        assert f"8 of {expected:,} occurrences" in page
    page = reader.get("/word/ship", params={"passages_n": 200}).text
    assert re.search(r"<code>driftword passages CORPUS ship -n \d+</code> prints all of them", page)
    assert "Show more" not in page


def test_every_passage_leads_to_its_occurrence_in_the_text(reader: TestClient) -> None:
    page = reader.get("/word/ship", params={"passages_n": 40}).text
    lines = re.findall(r'…([^<]*)<mark>[^<]*</mark>.*?href="(/text/\d+\?word=ship)#hit-(\d+)"', page, re.DOTALL)
    assert len(lines) == 40 + 6  # and three that show each side of what changed
    for left, address, hit in lines[::7]:
        before = re.sub("<[^>]+>", "", reader.get(address).text.partition(f'<mark id="hit-{hit}">')[0])
        assert before.endswith(left)


def test_what_the_figures_show_is_one_table(reader: TestClient) -> None:
    table = pl.read_csv(io.BytesIO(reader.get("/word/ship/time.csv", params={"others": "wheat"}).content))
    assert table.columns == ["slice", "count", "per_million", "step", "distance", "similarity to wheat"]
    twin = reader.get("/word/ship.json", params={"others": "wheat"}).json()
    assert table["count"].to_list() == twin["counts"]
    assert table["similarity to wheat"].to_list() == pytest.approx(twin["figures"]["similarity"]["series"][0]["values"])
    words = pl.read_csv(io.BytesIO(reader.get("/compare.csv", params={"words": "ship,wheat"}).content))
    change = reader.get("/compare.json", params={"words": "ship,wheat"}).json()["figures"]["change"]["series"]
    for one in change:
        found = words.filter(pl.col("word") == one["name"])["distance from its first attested slice"].to_list()
        assert found == pytest.approx(one["values"])


def test_a_suggestion_leads_to_the_corrected_page(reader: TestClient) -> None:
    page = reader.get("/compare", params={"words": "wheat,shipp"})
    assert page.status_code == 404
    assert 'href="/compare?words=wheat%2Cship"' in page.text
    page = reader.get("/word/wheat", params={"others": "shipp", "at": ["1851", "1853"], "path": "x"}).text
    assert 'href="/word/wheat?others=ship&amp;at=1851&amp;at=1853"' in page
    assert 'href="/word/wheat">Try again' in page
    assert "Try again" not in reader.get("/word/shipp", params={"at": "1851"}).text
    page = reader.get("/text/5", params={"word": "shipp"}).text
    assert ('href="/text/5?word=ship"' in page, "Try again" in page) == (True, False)
    off = "//elsewhere.example/x?y=1"
    assert 'href="//' not in reader.get(LOCAL + off).text
    assert 'href="/word/ship"' in reader.get("/search", params={"q": "shipp"}).text
    assert 'href="/word/harbour"' in reader.get("/search", params={"q": "harb"}).text
    many = reader.get("/word/wheat", params={"at": [str(1850 + i % 10) for i in range(13)]})
    assert (many.status_code, "Choose at most 12 slices at once." in many.text) == (422, True)


def test_without_texts_there_is_nothing_to_read() -> None:
    corpus = dw.Corpus.from_ids(
        ["a", "b"], [0, 1] * 50, [0, 50, 100], chunk_slice=[0, 1], chunk_split=[0, 0], slices=[1900, 1901]
    )
    model = dw.fit(corpus, dw.Spec(dim=2), passes=1)
    other = TestClient(make_app(model, corpus), base_url=LOCAL)
    assert "Read the full text" not in other.get("/word/a").text
    assert other.get("/text/0", params={"word": "a"}).status_code == 422


def test_choices_have_the_counts_of_a_plain_search(corpus: dw.Corpus) -> None:
    """Count in the texts, document by document, what each slice and each writer has under the other choices."""
    columns = passage_content.filter_columns(corpus)
    assert columns.columns == ["writer"]
    documents = corpus.documents.collect().to_dicts()
    found = [len(re.findall(r"\bship\b", row["text"], re.IGNORECASE)) for row in documents]

    def plain(key: str, **chosen: str) -> dict[str, int]:
        counts: dict[str, int] = {}
        for row, n in zip(documents, found, strict=True):
            if n and all(str(row[name]) == value for name, value in chosen.items()):
                counts[str(row[key])] = counts.get(str(row[key]), 0) + n
        return counts

    some = documents[0]
    for at, writer in (("", None), (some["slice"], None), ("", some["writer"]), (some["slice"], some["writer"])):
        where = {"writer": writer} if writer else {}
        by_slice, by_column = passage_content.choices(corpus, "ship", columns, at, where)
        assert by_slice == plain("slice", **where)
        assert by_column == {"writer": plain("writer", **({"slice": at} if at else {}))}
    assert passage_content.choices(None, "ship", columns, "", {}) == ({}, {})
