"""The explorer's pages: right, safe, and readable without a script."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import zipfile
from dataclasses import replace
from fnmatch import fnmatch
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient
from polars.testing import assert_frame_equal

import driftword as dw
from conftest import grouped_model, letters, random_model
from driftword import explore
from driftword.basics.errors import OptionError, StoreError
from driftword.explore.before_and_after import CLEARLY_NEARER
from driftword.storage import store
from driftword.web.app import STORE_ERROR, make_app

HERE = "http://127.0.0.1"
EVIL = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def reader(small_model: dw.Model) -> TestClient:
    return TestClient(make_app(small_model, small_model.open_corpus()), base_url=HERE)


def csv(reader: TestClient, address: str, **options: Any) -> pl.DataFrame:
    answer = reader.get(address, params=options)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/csv")
    return pl.read_csv(io.BytesIO(answer.content))


def test_the_start_page_shows_the_words_that_changed(reader: TestClient, small_model: dw.Model) -> None:
    for metric in ("absolute", "cosine"):
        page = reader.get("/", params={"metric": metric, "n": 5})
        assert page.status_code == 200
        table = dw.drift(small_model, n=5, metric=metric, min_count=5)
        assert all(f'href="/word/{word}"' in page.text for word in table["word"])
        twin = reader.get("/index.json", params={"metric": metric, "n": 5}).json()
        assert [{name: row[name] for name in table.columns} for row in twin["table"]] == table.to_dicts()
        for row in twin["table"]:
            for at, column in (("1850", "neighbors_first"), ("1859", "neighbors_last")):
                assert row[column] == dw.neighbors(small_model, row["word"], at=at, n=6)["word"].to_list()
                assert ", ".join(f'<a href="/word/{word}">{word}</a>' for word in row[column]) in page.text


def test_the_table_can_be_sorted_by_its_columns(reader: TestClient, small_model: dw.Model) -> None:
    by_word = csv(reader, "/index.csv", sort="word", n=8)
    assert by_word["word"].is_sorted()
    assert csv(reader, "/index.csv", sort="count_last", n=8)["count_last"].is_sorted(descending=True)
    assert set(by_word["word"]) == set(dw.drift(small_model, n=8, min_count=5)["word"])
    page = reader.get("/", params={"sort": "word"}).text
    assert re.search(r'<th scope="col" aria-sort="ascending"><a href="/\?sort=word', page)


def test_a_word_page_leads_to_neighbours_figures_and_texts(reader: TestClient, small_model: dw.Model) -> None:
    page = reader.get("/word/ship", params={"at": ["1850", "1859"], "passages_at": "1853", "others": "wheat,court"})
    assert page.status_code == 200
    neighbors = dw.neighbors(small_model, "ship", at=["1850", "1859"])
    assert all(word in unescape(page.text) for word in neighbors["word"])
    assert page.text.count("<mark>") >= 1
    twin = reader.get("/word/ship.json", params={"at": ["1850", "1859"], "others": "wheat,court"}).json()
    assert [row["word"] for column in twin["neighbors"] for row in column["words"]] == neighbors["word"].to_list()
    assert twin["counts"] == np.asarray(small_model.counts)[:, small_model.word_id("ship")].tolist()
    lines = {one["name"]: one["values"] for one in twin["figures"]["similarity"]["series"]}
    tables = {other: dw.similarity(small_model, "ship", other) for other in ("wheat", "court")}
    assert lines == {other: table["similarity"].to_list() for other, table in tables.items()}
    distances = explore.displacement(small_model, "ship")["distance"].to_list()
    assert twin["figures"]["trajectory"]["series"][0]["values"] == distances
    elsewhere = [row["word"] for row in twin["equivalents"][0]["words"]]
    assert elsewhere == dw.equivalents(small_model, "ship", at="1859", to="1850", n=5)["word"].to_list()


@pytest.mark.slow
def test_only_change_points_of_high_rank_are_listed(reader: TestClient, small_model: dw.Model) -> None:
    seen = set()
    for word in small_model.words:
        table = dw.changes(small_model, word, n=3)
        unusual = sorted(table.filter(pl.col("rank") >= 0.9)["slice"])
        rows = reader.get(f"/word/{word}.json").json()["changes"]
        assert [row["slice"] for row in rows] == unusual
        page = reader.get(f"/word/{word}").text
        assert [
            label for label in small_model.slices.labels if f"<b>{label}</b>: the word changed more" in page
        ] == unusual
        assert ("No change point" in page) == (not unusual)
        seen.add(len(unusual) > 0)
        counts = small_model.counts[:, small_model.word_id(word)]
        edges = [0, *(small_model.slices.index(label) for label in unusual), None]
        parts = [int(counts[begin:end].sum()) for begin, end in pairwise(edges)]
        assert [(row["count_before"], row["count_after"]) for row in rows] == list(pairwise(parts))
    assert seen == {True, False}


@pytest.mark.slow
def test_what_entered_and_what_left_is_marked(reader: TestClient, small_model: dw.Model) -> None:
    marked = 0
    for word in small_model.words:
        found = reader.get(f"/word/{word}.json", params={"at": ["1850", "1859"], "n": 5}).json()["neighbors"]
        if len(found) < 2:
            continue  # it does not occur in one of them
        first, last = found
        for here, other, mark in ((first, last, "left"), (last, first, "entered")):
            there = [row["word"] for row in other["words"]]
            clearly = other["words"][-1]["similarity"] + CLEARLY_NEARER  # nearer than any word that is not there can be
            for row in here["words"]:
                assert row[mark] == (row["word"] not in there and row["similarity"] >= clearly)
                marked += row[mark]
        assert not any(row["entered"] for row in first["words"])
        assert not any(row["left"] for row in last["words"])
    assert marked


def test_every_slice_of_a_trajectory_leads_to_its_passages(reader: TestClient) -> None:
    page = reader.get("/word/ship", params={"at": ["1850", "1859"]}).text
    figure = page.split('<figure class="trajectory"')[1].split("</figure>")[0]
    links = dict(re.findall(r'<a class="slice-link[^"]*" href="([^"]+)" data-slice="(\d+)"', figure))
    assert sorted(links.values()) == [str(year) for year in range(1850, 1860)]
    addresses = {label: unescape(address) for address, label in links.items()}
    pinned = reader.get(addresses["1853"])
    assert re.findall(r"<h3>(\d{4})", pinned.text)[:3] == ["1850", "1853", "1859"]
    assert "Passages, 1853" in pinned.text
    listed = pinned.text.partition('id="passages"')[2]
    assert set(re.findall(r'<li data-slice="(\d+)"', listed)) == {"1853"}
    removed = unescape(re.findall(r'<a class="slice-link pinned" href="([^"]+)" data-slice="1853"', pinned.text)[0])
    assert re.findall(r"<h3>(\d{4})", reader.get(removed).text)[:2] == ["1850", "1859"]


@pytest.mark.slow
def test_a_year_names_the_slice_that_holds_it(tmp_path: Path) -> None:
    corpus = dw.prepare(letters(), slices="5y", out=tmp_path / "c", subsample=None)
    model = dw.fit(corpus, dw.Spec(dim=4, rounds=1), passes=2, out=tmp_path / "m")
    page = TestClient(make_app(model, corpus), base_url=HERE).get("/word/ship", params={"passages_at": "1857"}).text
    assert "Passages, 1855-1859" in page
    assert f"8 of {int(model.counts[1][model.word_id('ship')])} occurrences" in page


def test_pointing_at_a_slice_asks_for_its_neighbours(reader: TestClient, small_model: dw.Model) -> None:
    answer = reader.get("/word/ship/neighbors.json", params={"at": "1855", "n": 4}).json()
    assert answer["neighbors"] == dw.neighbors(small_model, "ship", at=1855, n=4)["word"].to_list()
    assert answer["count"] == int(small_model.counts[5][small_model.word_id("ship")])


@pytest.mark.slow
def test_passages_can_be_chosen_by_metadata(tmp_path: Path) -> None:
    rows = [{"text": text, "date": day, "port": ["hull", "bristol"][i % 2]} for i, (text, day) in enumerate(letters())]
    pl.DataFrame(rows).write_parquet(tmp_path / "letters.parquet")
    corpus = dw.prepare(tmp_path / "letters.parquet", out=tmp_path / "c", subsample=None)
    model = dw.fit(corpus, dw.Spec(dim=4, rounds=1), passes=1, out=tmp_path / "m")
    reader = TestClient(make_app(model, corpus), base_url=HERE)
    page = reader.get("/word/ship", params={"where": "port=hull"}).text
    assert '<option value="port=hull" selected>' in page
    assert "port hull" in page
    assert "port bristol" not in page.partition('id="passages"')[2]
    lines = csv(reader, "/word/ship/passages.csv", where="port=bristol", at="1853", n=50)
    assert set(lines["port"]) <= {"bristol"}
    assert set(lines["slice"].cast(str)) <= {"1853"}
    assert reader.get("/word/ship", params={"where": "colour=red"}).status_code == 422


def test_words_are_compared_through_time(reader: TestClient, small_model: dw.Model) -> None:
    page = reader.get("/compare", params={"words": "ship, wheat,court"})
    assert page.status_code == 200
    assert page.text.count("<svg") == 3
    table = csv(reader, "/compare.csv", words="ship,wheat,court")
    similarity = table.filter(pl.col("word") == "wheat")["similarity to ship"]
    assert similarity.to_list() == pytest.approx(dw.similarity(small_model, "ship", "wheat")["similarity"].to_list())
    counts = small_model.counts[:, small_model.word_id("court")].tolist()
    assert table.filter(pl.col("word") == "court")["count"].to_list() == counts
    for words in ("ship", "ship,ship", ",".join(small_model.words[:7])):
        assert reader.get("/compare", params={"words": words}).status_code == 422


def test_words_lie_on_an_axis_of_meaning(reader: TestClient, small_model: dw.Model) -> None:
    asked = {"words": "captain", "low": "wheat,barn", "high": "ship"}
    assert "Between wheat, barn and ship" in reader.get("/axis", params=asked).text
    table = csv(reader, "/axis.csv", **asked)
    expected = dw.towards(small_model, "captain", low=["wheat", "barn"], high="ship")
    assert table["position"].to_list() == pytest.approx(expected["position"].to_list())
    assert reader.get("/axis", params={**asked, "high": "barn"}).status_code == 422
    forms = reader.get("/axis", params={"words": "captain"})  # has the other fields to fill in
    assert forms.url.path == "/comparisons"
    assert 'name="low"' in forms.text


def test_slices_are_compared_and_followed(reader: TestClient, small_model: dw.Model) -> None:
    table = csv(reader, "/between.csv", **{"from": "1851", "to": "1855", "n": 6, "metric": "cosine"})
    expected = dw.drift(small_model, between=("1851", "1855"), n=6, metric="cosine", min_count=5)
    labels = {"first": pl.String, "last": pl.String}  # CSV does not tell years from numbers
    assert_frame_equal(table.select(expected.columns).cast(labels), expected, check_dtypes=False)
    moved = reader.get("/slice/1853.json", params={"n": 6}).json()["table"]
    assert [row["word"] for row in moved] == dw.movers(small_model, at=1853, n=6)["word"].to_list()
    page = reader.get("/slice/1853").text
    assert 'href="/slice/1852" rel="prev"' in page
    assert 'href="/slice/1854" rel="next"' in page
    assert reader.get("/slice/1850").status_code == 422
    assert csv(reader, "/between.csv", **{"from": "1855", "to": "1851", "n": 6, "metric": "cosine"}).equals(table)
    assert reader.get("/between", params={"from": "1855", "to": "1855"}).status_code == 422
    assert reader.get("/comparisons").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        "/figure/tokens", "/word/ship/figure/trajectory", "/word/ship/figure/movement",
        "/word/ship/figure/frequency", "/word/ship/figure/similarity", "/word/ship/print/trajectory",
        "/word/ship/print/map", "/print/drift", "/compare/figure/similarity?words=ship,wheat",
        "/compare/figure/change?words=ship,wheat", "/axis/figure/axis?words=captain&low=wheat&high=ship",
    ],
)  # fmt: skip
def test_figures_come_as_svg_and_png(reader: TestClient, address: str) -> None:
    path, _, query = address.partition("?")
    drawn = reader.get(f"{path}.svg?{query}")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert drawn.text.startswith("<svg")
    assert reader.get(f"{path}.png?{query}").content.startswith(b"\x89PNG")
    assert reader.get(f"{path}.exe?{query}").status_code == 422
    policy = drawn.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline';")  # its own style
    assert "script" not in policy
    ElementTree.fromstring(drawn.text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trajectory", "stream", "journey", "frequency", "similarity"])
def test_figures_come_with_their_values_and_how_they_were_made(reader: TestClient, name: str) -> None:
    page = "/word/ship"
    values = csv(reader, f"{page}/figure/{name}.csv")
    content = reader.get(f"{page}.json").json()
    if name == "stream":
        assert values["similarity"].to_list() == [value for row in content["stream"] for value in row["similarity"]]
    elif name == "journey":
        assert values.select("x", "y").rows()[:3] == [tuple(place) for place in content["journey"]["path"][:3]]
    else:
        series = content["figures"][name]["series"]
        assert values["value"].to_list() == [value for one in series for value in one["values"]]
        assert values["line"].unique(maintain_order=True).to_list() == [one["name"] for one in series]
    packed = reader.get(f"{page}/figure/{name}.zip")
    assert packed.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        assert archive.namelist() == ["figure.svg", "figure.png", "values.csv", "README.md"]
        assert archive.read("figure.svg").decode() == reader.get(f"{page}/figure/{name}.svg").text
        assert pl.read_csv(archive.read("values.csv")).equals(values)
        about = archive.read("README.md").decode()
    assert content["cite"] in about
    assert f"`{page}`" in about
    assert "| made by |" in about


def test_the_company_of_two_sides_is_what_collocates_returns(reader: TestClient, small_model: dw.Model) -> None:
    found = dw.collocates(small_model, "ship")
    page = reader.get("/word/ship/company.json").json()
    assert page["table"]
    assert [row["log_ratio"] for row in page["table"]] == sorted(row["log_ratio"] for row in page["table"])
    for row in page["table"]:
        own = found.row(by_predicate=pl.col("word") == row["word"], named=True)
        later = own["side"] == "after"
        counts = (own["count_other"], own["count"]) if later else (own["count"], own["count_other"])
        assert (row["count_first"], row["count_second"]) == counts
        assert row["q"] == own["q"]
        assert row["log_ratio"] == pytest.approx(own["log_ratio"] if later else -own["log_ratio"], abs=1e-3)
    periods = {"first": "1850", "first_end": "1852", "second": "1857", "second_end": "1859"}
    shown = reader.get("/word/ship/company", params=periods)
    assert ">1850 to 1852</h2>" in shown.text
    between = dw.collocates(small_model, "ship", between=((1850, 1852), (1857, 1859)))
    table = csv(reader, "/word/ship/company.csv", **periods)
    assert set(table["word"]) <= set(between["word"])
    assert table["count_first"].sum() > 0
    for wrong in (
        {"first": "1850"},
        {**periods, "groups": ["a", "b"]},
        {"groups": ["a", "b"]},
        {**periods, "first_end": "1858"},
    ):
        assert reader.get("/word/ship/company", params=wrong).status_code == 422


def test_searching_forgives_and_completes(reader: TestClient, small_model: dw.Model) -> None:
    found = reader.get("/search", params={"q": " SHIP "}, follow_redirects=False)
    assert (found.status_code, found.headers["location"]) == (303, "/word/ship")
    lost = reader.get("/search", params={"q": "harbor"})
    assert lost.status_code == 404
    assert "did you mean 'harbour'" in unescape(lost.text)
    assert '<a href="/word/harbour">harbour</a>' in lost.text
    assert reader.get("/suggest.json", params={"q": "harb"}).json() == ["harbour"]
    assert "harbour" in reader.get("/suggest.json", params={"q": "habror"}).json()
    assert reader.get("/suggest.json", params={"q": " "}).json() == []
    found = reader.get("/completions.json", params={"q": "harb"}).json()
    distances = explore.displacement(small_model, "harbour")["distance"].to_list()
    assert [(one["word"], one["count"]) for one in found] == [
        ("harbour", int(small_model.vocabulary.totals[small_model.word_id("harbour")]))
    ]
    assert found[0]["distance"] == pytest.approx(distances, abs=6e-4)
    assert reader.get("/completions.json").json() == []
    begun = reader.get("/search", params={"q": "harb"}, follow_redirects=False)
    assert begun.headers["location"] == "/word/harbour"


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/word/unicorn", 404), ("/word/unicorn.json", 404), ("/word/ship?at=1700", 404), ("/word/ship?n=0", 422),
        ("/word/ship?n=100000", 422), ("/?metric=taxi", 422), ("/nothing", 404), ("/static/../app.py", 404),
        ("/static/..%2fapp.py", 404), ("/word/ship/figure/pie.svg", 422),
        ("/word/ship/figure/pie.csv", 422), ("/word/ship/figure/pie.html", 422), ("/word/ship/print/map.exe", 422),
        ("/word/..%2f..%2fetc%2fpasswd", 404), ("/word/ship?" + "&".join(f"at={1850 + i}" for i in range(10)) * 2, 422),
        ("/?min_count=-1", 422), ("/?n=x", 422), ("/?sort=colour", 422), ("/compare?words=ship", 422),
        ("/?kind=verb", 422), ("/slice/1700", 404),
        ("/word/ship/neighbors.json", 422), ("/word/ship?others=" + ",".join("abcdefg"), 422),
        ("/word/ship?passages_at=1700", 404), ("/search?q=" + "x" * 1000, 422),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_in_a_sentence(reader: TestClient, address: str, status: int) -> None:
    answer = reader.get(address)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    if ".json" in address:
        assert answer.json()["error"]
    else:
        assert "<h1>" in answer.text


def test_no_page_has_a_figure_of_another_name(reader: TestClient) -> None:
    pages = ["", "/slice/1851", "/compare", "/axis", "/between", "/words"]
    for page in [*pages, "/word/ship", *(f"/word/ship/{part}" for part in ("company", "senses", "concordance"))]:
        for form in ("svg", "csv", "html"):
            answer = reader.get(f"{page}/figure/pie.{form}?words=ship,wheat&low=wheat&high=ship&like=s*")
            assert answer.status_code == 422, (page, form)
            assert "this page has no figures" in answer.text or "choose one of" in answer.text, (page, form)


def test_errors_show_code_without_backticks(small_model: dw.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OptionError("`words` has a `; pass `n=3`, not 'a`b'")

    monkeypatch.setattr("driftword.pages.content.compare", fail)
    reader = TestClient(make_app(small_model), base_url=HERE)
    message = "words has a `; pass n=3, not 'a`b'"
    assert f"<p>{message}.</p>" in unescape(reader.get("/compare?words=ship,wheat").text)
    assert reader.get("/compare.json?words=ship,wheat").json() == {"error": message, "suggestions": []}


@pytest.mark.slow
def test_words_and_texts_that_look_like_pages_stay_text() -> None:
    reader = TestClient(make_app(random_model([EVIL, "b&c", 'a"b', "plain"])), base_url=HERE)
    evil = f"/compare?words=plain,{EVIL}"
    for address in ("/", "/word/plain", "/word/b%26c", "/word/a%22b", evil, "/slice/1991", "/between", "/comparisons"):
        page = reader.get(address)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    assert "<script>alert" not in reader.get(f"/compare/figure/similarity.svg?words=plain,{EVIL}").text
    assert "<script>alert" not in reader.get("/search", params={"q": EVIL.upper()}).text
    assert "The corpus was not found" in reader.get("/word/plain").text
    assert reader.get("/word/plain/passages.json").json() == []


ODD = [
    "and/or",
    ".",
    "..",
    "x.json",
    "index.csv",
    "constructor",
    "__proto__",
    "a\x01b",
    "50%",
    "%2e",
    "a?b#c",
    "~x",
    "plain",
]


@pytest.mark.slow
def test_every_word_can_be_reached_and_drawn() -> None:
    """Words from other tokenizers may look like paths, files, or what JavaScript has in every object."""
    model = random_model(ODD)
    reader = TestClient(make_app(model), base_url=HERE)
    links = re.findall(r'<th scope="row" data-value="[^"]*"><a href="([^"]+)"', reader.get("/?n=200").text)
    assert len(links) == len(ODD)
    found = [unescape(re.findall(r"<h1>(.*?)</h1>", reader.get(unescape(link)).text)[0]) for link in links]
    assert sorted(found) == sorted(word.replace("\x01", "") for word in ODD)
    for word in ODD:
        where = reader.get("/search", params={"q": word}, follow_redirects=False).headers["location"]
        assert reader.get(f"{where}/figure/trajectory.svg").status_code == 200
        assert reader.get(f"{where}/figure/trajectory.png").status_code == 200
    for address in ("/word/constructor/print/neighbors.svg", "/word/plain/print/trajectory.png", "/print/drift.svg"):
        assert reader.get(address).status_code == 200
    drawn = reader.get("/print/drift.svg").text
    assert "and/or" in drawn
    assert "ab" in drawn
    ElementTree.fromstring(drawn)


@pytest.mark.slow
def test_models_of_every_kind_have_pages() -> None:
    """Static ones, one slice, two slices, one word: what cannot be shown is left out, or the page says so."""
    words = ["one", "two", "three"]
    static, alone = random_model(words, moves=False), random_model(["alone"])
    for model in (static, alone, random_model(words, slices=1), random_model(words, slices=2)):
        reader = TestClient(make_app(model), base_url=HERE)
        for address in ("/", f"/word/{model.words[0]}", "/comparisons", "/index.json", f"/word/{model.words[0]}.json"):
            page = reader.get(address)
            assert page.status_code == 200, (address, model)
            if len(model.slices) < 3:  # there can be no change point, so nothing is said about one
                assert not re.search(r"kept its nearest|moved from|moved towards", page.text), (address, model)
    uncounted = TestClient(make_app(random_model(words, count=-1)), base_url=HERE)
    for address in ("/", "/word/one", "/slice/1991", "/compare?words=one,two", "/axis?words=one&low=two&high=three"):
        page = uncounted.get(address).text
        assert "<h1>" in page
        assert "None" not in page
        assert "-1 times" not in page
    reader = TestClient(make_app(static), base_url=HERE)
    assert "shows no change over time" in reader.get("/").text
    assert reader.get("/slice/1991").status_code == reader.get("/slice/1990").status_code == 422


def test_a_star_stands_for_any_letters(reader: TestClient, small_model: dw.Model) -> None:
    def found(like: str) -> list[str]:
        return [row["word"] for row in reader.get("/words.json", params={"like": like}).json()["table"]]

    for like in ("s*", "*s", "s*p", "*i*", "S*", "*", "ship", "*a*r*"):
        expected = [word for word in small_model.words if fnmatch(word, like.lower())]
        assert found(like) == expected[:30], like
    page = reader.get("/search", params={"q": "sh*"})
    assert page.url.path == "/words"
    assert '<a href="/word/ship">ship</a>' in page.text
    assert page.text.count('<svg class="sparkline"') == len(found("sh*"))
    lost = reader.get("/words", params={"like": "zzz*"})
    assert lost.status_code == 422
    assert "No word matches &#39;zzz*&#39;; give fewer letters before the *" in lost.text
    assert reader.get("/words", params={"like": "a*" * 100}).status_code == 422  # at once, however many stars
    assert csv(reader, "/words.csv", like="sh*").columns == ["word", "count"]
    static = TestClient(make_app(random_model(["one", "once"], moves=False)), base_url=HERE)
    assert '<a href="/word/once">once</a>' in static.get("/words?like=on*").text


def test_the_start_page_tells_what_changed(reader: TestClient, small_model: dw.Model) -> None:
    page, data = reader.get("/").text, reader.get("/index.json").json()
    ranked = [row["word"] for row in data["table"]]
    assert [row["word"] for row in data["answers"]] == ranked[:10]
    expected = explore.shifts(small_model, ranked[:10]).to_dicts()
    shown = [{name: row[name] for name in expected[0]} for row in data["answers"]]
    assert shown == json.loads(json.dumps(expected))
    frequency = dw.frequency(small_model, ranked[0])["per_million"].to_list()
    assert data["answers"][0]["per_million"] == frequency
    assert data["timeline"] is None  # nothing was tested
    for row in expected:
        sentence = f'<a href="/word/{row["word"]}">{row["word"]}</a> moved from '
        assert (sentence in page) == bool(row["before"])
        if row["before"]:
            told = page.split(sentence)[1].split("</p>")[0]
            assert re.findall(r"<i><a [^>]*>([^<]+)<", told) == row["before"] + row["after"]
            assert f"with the clearest break at {row['change']}" in told
            assert "(not tested)" in told  # and nothing more is claimed


def test_empty_tables_have_their_columns(reader: TestClient, small_model: dw.Model) -> None:
    assert csv(reader, "/index.csv", min_count=10**6).columns[:2] == dw.drift(small_model).columns[:2]


def test_saved_files_are_named_after_their_word(reader: TestClient) -> None:
    for address, name in (
        ("/word/ship/passages.csv", "ship-passages.csv"),
        ("/word/ship/figure/trajectory.png", "ship-trajectory.png"),
    ):
        assert reader.get(address).headers["content-disposition"] == f"inline; filename*=UTF-8''{name}"


def test_a_mistyped_comparison_can_be_corrected(reader: TestClient) -> None:
    lost = reader.get("/compare", params={"words": "ship; wehat"})
    assert lost.status_code == 404
    retry = unescape(re.findall(r'href="(/comparisons[^"]*)"', lost.text)[-1])
    assert 'value="ship; wehat"' in reader.get(retry).text


def test_assets_may_be_cached_for_ever(reader: TestClient) -> None:
    page = reader.get("/").text
    assets = re.findall(r'(?:rel="stylesheet" href|script src)="([^"]+)"', page)
    assert len(assets) == 4
    for asset in assets:
        answer = reader.get(asset)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]


def test_a_corpus_that_is_another_is_refused(small_model: dw.Model, tmp_path: Path) -> None:
    other = dw.prepare([("a b c d " * 30, 1900)], out=tmp_path / "c", min_count=1)
    with pytest.raises(OptionError, match="is not the corpus"):
        small_model.open_corpus(other.path)
    assert json.loads(json.dumps(small_model.info()))["words"] == len(small_model.words)


@pytest.mark.slow
@pytest.mark.parametrize("address", ["/word/ship", "/word/ship.json", "/?n=100", "/comparisons", "/index.csv"])
def test_replaced_files_are_said_without_a_path(
    small_model: dw.Model, address: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = TestClient(make_app(small_model), base_url=HERE)
    assert reader.get(address).status_code == 200
    error = StoreError(f"{small_model.path} was replaced; open it again")

    def check_current(_: object) -> None:
        raise error

    monkeypatch.setattr(dw.Model, "check_current", check_current)
    refused = reader.get(address)
    assert refused.status_code == 503
    assert STORE_ERROR in (refused.json()["error"] if ".json" in address else refused.text)
    assert str(small_model.path) not in refused.text + str(refused.headers)
    assert str(small_model.path) in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("what", ["model", "corpus"])
@pytest.mark.parametrize("how", ["replaced", "removed", "cut short"])
def test_no_quotation_is_shown_from_a_store_that_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, how: str
) -> None:
    """The texts of one generation must never appear under the names and dates of another."""
    monkeypatch.setattr(store, "_SMALL", 1000)  # the larger files are read when they are used
    corpus = dw.prepare(letters(), slices="1y", out=tmp_path / "corpus", phrases=False)
    model = dw.fit(corpus, dw.Spec(dim=4, context=2, rounds=1), passes=2, out=tmp_path / "model")
    reader = TestClient(make_app(model, corpus), base_url=HERE)
    assert reader.get("/word/ship?passages_n=3").status_code == 200
    path = tmp_path / what
    if how == "replaced" and what == "corpus":
        dw.prepare([(text.replace("Ship", "Barge"), day) for text, day in letters()], out=path, overwrite=True)
    elif how == "replaced":
        dw.fit(corpus, model.spec, passes=2, seed=1, out=path, overwrite=True)
    elif how == "removed":
        shutil.rmtree(path)
    else:
        os.truncate(max(path.iterdir(), key=lambda file: file.stat().st_size), 1000)
    for address in ("/word/ship?passages_n=3", "/word/wheat", "/word/ship/passages.json"):
        refused = reader.get(address)
        assert refused.status_code == 503
        assert STORE_ERROR in refused.text
        assert str(tmp_path) not in refused.text


def test_a_damaged_file_is_said_without_a_path(small_model: dw.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("/home/someone/letters.corpus is damaged; prepare it again")

    monkeypatch.setattr("driftword.pages.content.compare", fail)
    reader = TestClient(make_app(small_model), base_url=HERE)
    for ending in ("", ".json", ".csv"):
        refused = reader.get(f"/compare{ending}?words=ship,wheat")
        assert refused.status_code == 503
        assert "someone" not in refused.text


@pytest.mark.slow
def test_no_page_shows_where_files_are(small_model: dw.Model) -> None:
    corpus_path = small_model.provenance.corpus_path
    assert corpus_path is not None
    assert small_model.path is not None
    for corpus in (None, small_model.open_corpus()):
        reader = TestClient(make_app(small_model, corpus), base_url=HERE)
        for address in ("/", "/index.json", "/word/ship", "/word/ship.json", "/text/3?word=ship", "/nothing", "/?n=0"):
            answer = reader.get(address)
            for folder in (small_model.path.parent, Path(corpus_path).parent, Path.home()):
                assert str(folder) not in answer.text + str(answer.headers)


@pytest.mark.slow
def test_a_word_is_shown_by_group() -> None:
    names = [EVIL, "without", "tiny", "fourth", "fifth", "sixth", "seventh"]
    model = grouped_model(names)
    reader = TestClient(make_app(model), base_url=HERE)
    twin = reader.get("/word/ship.json").json()
    shown = twin["groups"]["shown"]
    assert shown == [EVIL, "fourth", "fifth", "sixth", "seventh", "without"]  # by amount of text
    table = explore.group_displacement(model, "ship", shown)
    lines = {one["name"]: one["values"] for one in twin["figures"]["groups"]["series"]}
    for name in shown:
        here = table.filter(pl.col("group") == name)
        assert lines[name] == ([None] * 4 if name == "without" else here["distance"].to_list())
    rows = {row["group"]: row for row in twin["groups"]["table"]}
    assert rows["without"] == {"group": "without", "total": 0, "count": 0, "neighbors": None}
    at = twin["groups"]["slice"]
    assert rows["fourth"]["neighbors"] == dw.neighbors(model, "ship", at=at, group="fourth")["word"].to_list()
    assert rows["fourth"]["count"] == 57

    page = reader.get("/word/ship")
    assert "<script>alert" not in page.text
    assert "6 of 7 groups" in page.text
    chosen = {"groups": ["tiny", "without"], "groups_at": "1991"}
    page = reader.get("/word/ship", params=chosen).text
    assert "count in 1991" in page
    assert "does not occur in its training text" in page
    assert 'name="groups" value="tiny" checked' in page
    assert 'name="groups" value="fourth">' in page
    assert '<input type="hidden" name="groups" value="tiny">' in page  # in the other forms
    times = csv(reader, "/word/ship/time.csv", **chosen)
    assert times["distance in tiny"].is_not_null().to_list() == [False, True, False, False]
    assert times["distance in without"].is_null().all()
    svg = reader.get("/word/ship/figure/groups.svg", params=chosen)
    assert "tiny" in "".join(ElementTree.fromstring(svg.text).itertext())
    page = reader.get("/word/ship", params={"groups": "without"}).text
    assert "The word does not occur in the training text of without." in page
    for wrong, status, message in (
        ({"groups": "up"}, 422, "There is no group 'up'"),
        ({"groups": list("abcdefg")}, 422, "Choose at most 6 groups at once"),
        ({"groups_at": "1700"}, 404, "1700"),
    ):
        answer = reader.get("/word/ship.json", params=wrong)
        assert answer.status_code == status
        assert message in answer.json()["error"]


@pytest.mark.slow
def test_passages_of_a_group_are_one_click_away(tmp_path: Path) -> None:
    rows = [{"text": text, "date": day, "by": f"{'AB'[i % 2]} & co"} for i, (text, day) in enumerate(letters(40))]
    corpus = dw.prepare(pl.DataFrame(rows), out=tmp_path / "c", slices="5y", group="by", subsample=None)
    model = dw.fit(corpus, dw.Spec(dim=4, context=4, rounds=1), passes=2, out=tmp_path / "m")
    reader = TestClient(make_app(model, corpus), base_url=HERE)
    page = reader.get("/word/ship").text
    links = [unescape(link) for link in re.findall(r'href="([^"]+)" data-in-place>Read passages</a></td>', page)]
    assert len(links) == 2
    for link, name in zip(links, re.findall(r'<th scope="row" title="([AB] &amp; co)"', page), strict=True):
        twin = reader.get(link.partition("#")[0].replace("/word/ship", "/word/ship.json")).json()
        assert {row["about"]["by"] for row in twin["passages"]} == {unescape(name)}
        assert {row["slice"] for row in twin["passages"]} == {twin["groups"]["slice"]}


@pytest.mark.slow
def test_every_group_has_a_band(tmp_path: Path) -> None:
    rows = [{"text": text, "date": day, "by": f"{'AB'[i % 2]} & co"} for i, (text, day) in enumerate(letters(40))]
    corpus = dw.prepare(pl.DataFrame(rows), out=tmp_path / "c", slices="5y", group="by", subsample=None)
    model = dw.fit(corpus, dw.Spec(dim=4, context=4, rounds=1), passes=2, out=tmp_path / "m")
    reader = TestClient(make_app(model, corpus), base_url=HERE)
    addresses = re.search(r'data-band="([^"]*group[^"]*)"', reader.get("/word/ship").text)
    assert addresses is not None
    bands = [reader.get(unescape(one)).json() for one in addresses[1].split()]
    lines = reader.get("/word/ship.json").json()["figures"]["groups"]["series"]
    assert [band["group"] for band in bands] == [line["name"] for line in lines] == ["A & co", "B & co"]
    for band, line in zip(bands, lines, strict=True):
        for low, value, high in zip(band["low"], line["values"], band["high"], strict=True):
            assert (low is None) == (value is None) == (high is None)
            assert value is None or low - 1e-4 <= value <= high + 1e-4
    all_text = reader.get("/word/ship/band.json").json()
    assert all_text["group"] is None
    assert all_text["high"] not in [band["high"] for band in bands]
    assert reader.get("/word/ship/band.json", params={"group": "C"}).status_code == 422


def test_a_model_without_groups_has_no_trace_of_them(reader: TestClient) -> None:
    page = reader.get("/word/ship")
    assert "roup" not in re.sub(r'role="group"', "", page.text)
    assert reader.get("/word/ship", params={"groups": "x", "groups_at": "1850"}).text == page.text
    assert not [name for name in reader.get("/word/ship.json").json() if "group" in name]


def test_a_page_begins_with_what_changed_and_its_proof(reader: TestClient, small_model: dw.Model) -> None:
    page = reader.get("/word/ship").text
    found = reader.get("/word/ship/finding.json").json()
    assert found["sentence"].startswith("ship: ")
    assert not found["significant"]  # this model was not tested
    assert "nothing is proven" in found["sentence"]
    assert page.index('class="finding"') < page.index('class="trajectory"')
    assert "No change of this word is proven." in page
    for side in ("before", "after"):
        rows = found["passages"][side]
        assert len(rows) == 3
        assert all(row["keyword"].casefold() == "ship" for row in rows)
        assert rows[0]["document"] != rows[1]["document"]
    table = reader.get("/word/ship/collocates.json").json()
    assert {row["side"] for row in table} <= {"before", "after"}
    assert reader.get("/word/ship/collocates.csv").text.startswith("word,side,count")
    assert reader.get("/word/shpi/finding.json").status_code == 404
    with TestClient(make_app(small_model, None), base_url="http://localhost") as alone:
        assert 'class="finding"' not in alone.get("/word/ship").text
        assert alone.get("/word/ship/finding.json").json() is None
        assert "corpus was not found" in alone.get("/word/ship/collocates.json").text


def test_the_first_page_says_what_is_unusual_about_the_text(small_model: dw.Model, small: dw.Corpus) -> None:
    assert small.path is not None
    odd = dw.Corpus.open(small.path)
    odd.report = replace(odd.report, outside_vocabulary={str(1850 + i): 0.4 if i == 3 else 0.1 for i in range(10)})
    with TestClient(make_app(small_model, odd), base_url="http://localhost") as reader:
        page = reader.get("/").text
        assert "in 1853 up to 40% of the words are outside the vocabulary, elsewhere about 10%" in page
        assert len(reader.get("/index.json").json()["warnings"]) == 1
    with TestClient(make_app(small_model, small), base_url="http://localhost") as reader:
        assert 'class="warning"' not in reader.get("/").text


def test_a_concordance_is_in_order_and_leads_to_the_texts(reader: TestClient) -> None:
    page = reader.get("/word/ship/concordance", params={"sort": "right", "n": 12})
    assert page.status_code == 200
    rows = reader.get("/word/ship/concordance.json", params={"sort": "right", "n": 12}).json()["table"]
    assert len(rows) == 12
    following = [row["right"].split()[0].casefold() for row in rows if row["right"].split()]
    assert following == sorted(following)
    table = csv(reader, "/word/ship/concordance.csv", sort="right", n="12")
    assert table["keyword"].to_list() == [row["keyword"] for row in rows]
    link = re.search(r'href="(/text/[^"]+)"', page.text)
    assert link is not None
    assert "<mark" in reader.get(unescape(link[1]).partition("#")[0]).text
    assert "/word/ship/concordance" in reader.get("/word/ship").text
    one = reader.get("/word/ship/concordance.json", params={"at": "1850", "sort": "date"}).json()
    assert {row["slice"] for row in one["table"]} == {"1850"}
    assert reader.get("/word/ship/concordance?sort=colour").status_code == 422
    assert reader.get("/word/shipp/concordance").status_code == 404
