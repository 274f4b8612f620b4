"""The explorer's pages: right, safe, and readable without a script."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import asdict
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient
from polars.testing import assert_frame_equal

import driftword as dw
from driftword.errors import OptionError
from driftword.web.app import make_app, open_corpus
from driftword.web.report import write_report

EVIL = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def model(small: dw.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dw.Model:
    out = tmp_path_factory.mktemp("web") / "small.model"
    return dw.fit(small, dw.Spec(dim=8, context=4, rounds=2, prior_precision=0.1), passes=3, out=out)


@pytest.fixture(scope="module")
def reader(model: dw.Model, small: dw.Corpus) -> TestClient:
    return TestClient(make_app(model, open_corpus(model, None)))


def test_the_start_page_shows_the_words_that_changed(reader: TestClient, model: dw.Model) -> None:
    for metric in ("absolute", "cosine"):
        page = reader.get("/", params={"metric": metric, "n": 5})
        assert page.status_code == 200
        table = dw.drift(model, n=5, metric=metric, min_count=5)
        assert all(f'href="/word/{word}"' in page.text for word in table["word"])
        assert reader.get("/index.json", params={"metric": metric, "n": 5}).json()["drift"] == table.to_dicts()


def test_a_word_page_leads_to_neighbours_figures_and_texts(reader: TestClient, model: dw.Model) -> None:
    page = reader.get("/word/ship", params={"at": ["1850", "1859"], "text": "1853"})
    assert page.status_code == 200
    near = dw.neighbors(model, "ship", at=["1850", "1859"])
    assert all(word in unescape(page.text) for word in near["word"])
    assert page.text.count("<mark>") >= 1
    twin = reader.get("/word/ship.json", params={"at": ["1850", "1859"]}).json()
    assert [row["word"] for column in twin["neighbors"] for row in column["words"]] == near["word"].to_list()
    assert twin["counts"] == np.asarray(model.counts)[:, model.word_id("ship")].tolist()
    figure = reader.get("/word/ship/trajectory.svg")
    assert figure.headers["content-type"] == "image/svg+xml"
    assert figure.text.startswith("<svg")
    assert reader.get("/word/ship/map.png").content.startswith(b"\x89PNG")
    assert reader.get("/word/ship/passages.json", params={"at": "1853"}).json()[0]["keyword"].lower() == "ship"


def test_tables_come_as_csv_too(reader: TestClient, model: dw.Model) -> None:
    table = pl.read_csv(io.BytesIO(reader.get("/drift.csv", params={"n": 7}).content))
    assert_frame_equal(table, dw.drift(model, n=7, min_count=5), check_dtypes=False)
    near = pl.read_csv(io.BytesIO(reader.get("/word/ship.csv", params={"at": "1850"}).content))
    assert near["word"].to_list() == dw.neighbors(model, "ship", at=1850)["word"].to_list()


def test_the_command_listens_here_alone_and_says_where(model: dw.Model) -> None:
    command = [sys.executable, "-m", "driftword", "explore", str(model.path), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split(" at ")[1].split(" ")[0]
        assert address.startswith("http://127.0.0.1:")
        for _ in range(100):
            try:
                page = urllib.request.urlopen(address, timeout=5).read().decode()
                break
            except OSError:
                time.sleep(0.1)
        assert "How words changed" in page
        port = address.rstrip("/").rpartition(":")[2]
        again = subprocess.run([*command[:-1], port], capture_output=True, text=True, check=False)
        assert again.returncode == 2
        assert f"port {port} cannot be used" in again.stderr
    finally:
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=20)
    assert "Traceback" not in complaint


def test_searching_forgives_and_completes(reader: TestClient) -> None:
    found = reader.get("/search", params={"q": " SHIP "}, follow_redirects=False)
    assert (found.status_code, found.headers["location"]) == (303, "/word/ship")
    lost = reader.get("/search", params={"q": "harbor"})
    assert lost.status_code == 404
    assert "did you mean 'harbour'" in unescape(lost.text)
    assert "harbour" in reader.get("/suggest.json", params={"q": "harb"}).json()


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/word/unicorn", 404), ("/word/unicorn.json", 404), ("/word/ship?at=1700", 404), ("/word/ship?n=0", 422),
        ("/word/ship?n=100000", 422), ("/?metric=taxi", 422), ("/nothing", 404), ("/static/../app.py", 404),
        ("/static/..%2fapp.py", 404), ("/word/ship/pie.svg", 422), ("/word/ship/map.exe", 422),
        ("/word/..%2f..%2fetc%2fpasswd", 404), ("/word/ship?" + "&".join(f"at={1850 + i}" for i in range(10)) * 2, 422),
        ("/?min_count=-1", 422), ("/?n=x", 422),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_in_a_sentence(reader: TestClient, address: str, status: int) -> None:
    answer = reader.get(address)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    if ".json" in address:
        assert set(answer.json()) == {"error"}


def test_words_and_texts_that_look_like_pages_stay_text() -> None:
    rho = np.random.default_rng(0).normal(size=(4, 3, 3)).astype(np.float32)
    corpus = {"words": [EVIL, "b&c", "plain"], "slices": dw.Slices.from_labels([1990, 1991, 1992, 1993])}
    meta = {"spec": asdict(dw.Spec(dim=3)), "history": [], "provenance": {"corpus_path": None, "seed": 0}}
    model = dw.Model(rho, rho[0], corpus={**corpus, "counts": np.full((4, 3), 9)}, meta=meta)
    reader = TestClient(make_app(model))
    for address in ("/", "/word/plain", "/word/b%26c"):
        page = reader.get(address)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    assert "The corpus is not where it was" in reader.get("/word/plain").text
    assert reader.get("/word/plain/passages.json").json() == []


def test_assets_may_be_kept_for_ever(reader: TestClient) -> None:
    page = reader.get("/").text
    style = page.split('rel="stylesheet" href="')[1].split('"')[0]
    answer = reader.get(style)
    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]


def test_a_corpus_that_is_another_is_refused(model: dw.Model, tmp_path: Path) -> None:
    other = dw.prepare([("a b c d " * 30, 1900)], out=tmp_path / "c", min_count=1)
    with pytest.raises(OptionError, match="is not the corpus"):
        open_corpus(model, other.path)
    assert json.loads(json.dumps(model.info()))["words"] == len(model.words)


def test_a_report_is_one_file_that_fetches_nothing(model: dw.Model, small: dw.Corpus, tmp_path: Path) -> None:
    out = write_report(model, tmp_path / "new" / "r.html", corpus=small, words=["ship", "wheat"], n=3, min_count=1)
    page = out.read_text()
    changed = dw.drift(model, n=3, min_count=1)["word"].to_list()
    for word in {"ship", "wheat", *changed}:
        assert page.count(f'id="word-{word}"') == 1
        assert f'href="#word-{word}"' in page
    assert page.count("data:image/svg+xml") == 2 * len({"ship", "wheat", *changed})
    assert "<mark>ship</mark>" in page.lower()
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)
    policy = unescape(page.split('Content-Security-Policy" content="')[1].split('"')[0])
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    quiet = write_report(model, tmp_path / "q.html", corpus=small, words=["ship"], n=0, passages=False).read_text()
    assert "<mark>" not in quiet
    with pytest.raises(OptionError, match="no word"):
        write_report(model, tmp_path / "x.html", n=0)
    assert not (tmp_path / "x.html").exists()
