"""The report: one file with the pages of the explorer that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftword as dw
from conftest import grouped_model, random_model
from driftword import explore as dw_explore
from driftword.basics.errors import ExistsError, OptionError
from driftword.pages import offline_report
from driftword.pages.offline_report import report


@pytest.mark.slow
def test_a_report_is_one_file_that_fetches_nothing(small_model: dw.Model, small: dw.Corpus, tmp_path: Path) -> None:
    out = report(small_model, out=tmp_path / "new" / "r.html", corpus=small, words=["ship", "wheat"], n=3, min_count=1)
    page = out.read_text()
    changed = dw.drift(small_model, n=3, min_count=1)["word"].to_list()
    words = {"ship", "wheat", *changed}
    for word in words:
        assert page.count(f'id="word-{word}"') == 1
        assert f'href="#word-{word}"' in page
        passages = embedded(page)["pages"][word]["passages"]
        counts = small_model.counts[:, small_model.word_id(word)]
        assert {t for t, *_ in passages} == set(np.flatnonzero(counts).tolist())
        assert all(keyword.lower() == word for _, _, keyword, *_ in passages)
        path = dw_explore.displacement(small_model, word)["distance"]
        assert embedded(page)["pages"][word]["distance"] == pytest.approx(path.to_list(), abs=6e-4)
    of_senses = sum(dw.senses(small_model, word, corpus=small).height > 1 for word in words)
    assert page.partition('id="data">')[0].count('<svg class="figure') == 1 + 6 * len(words) + of_senses
    assert page.count('<path class="interval s0"') == len(words) + of_senses
    assert page.count('<svg class="sparkline"') == 3  # one for each of the words that changed most
    assert page.count("<noscript>") == len(words)
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def embedded(page: str) -> Any:
    """Return what the scripts of a report read."""
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


@pytest.mark.slow
def test_it_needs_no_web_server() -> None:
    code = (
        "import sys, driftword.pages.offline_report; "
        "print([name for name in ('fastapi', 'starlette', 'uvicorn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(("missing", "status"), [(("fastapi", "starlette", "uvicorn"), 0), (("jinja2",), 2)])
def test_the_command_needs_jinja_alone(
    small_model: dw.Model, tmp_path: Path, missing: tuple[str, ...], status: int
) -> None:
    arguments = ["driftword", "report", str(small_model.path), "-n", "2", "-o", str(tmp_path / "r.html")]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({missing})); sys.argv = {arguments}; "
        "from driftword.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert (tmp_path / "r.html").exists() == (status == 0)
    if status:
        assert "The report needs jinja2; install it with: pip install 'driftword[report]'" in done.stderr


def test_no_file_of_the_users_is_replaced(small_model: dw.Model, tmp_path: Path) -> None:
    data, page = tmp_path / "data.csv", tmp_path / "page.html"
    data.write_text("mine")
    page.write_text("mine")
    with pytest.raises(OptionError, match="does not end in .html"):
        report(small_model, out=data, n=1, overwrite=True)
    with pytest.raises(ExistsError, match="already exists; pass `overwrite=True` to replace it, or give another `out`"):
        report(small_model, out=page, n=1)
    assert data.read_text() == page.read_text() == "mine"
    assert "driftword" in report(small_model, out=page, n=1, overwrite=True).read_text()


def test_it_runs_no_script_but_its_own(small_model: dw.Model, tmp_path: Path) -> None:
    page = report(small_model, out=tmp_path / "r.html", words=["ship"], n=0).read_text()
    policy = unescape(page.split('Content-Security-Policy" content="')[1].split('"')[0])
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_it_has_the_neighbours_in_every_slice(small_model: dw.Model, tmp_path: Path) -> None:
    page = report(small_model, out=tmp_path / "r.html", words=["ship", "court"], n=0).read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    for word in ("ship", "court"):
        expected = dw.neighbors(small_model, word, at="all", n=10)
        for t, label in enumerate(small_model.slices.labels):
            neighbors = [data["words"][number] for number in data["pages"][word]["neighbors"][t]]
            assert neighbors == expected.filter(pl.col("slice") == label)["word"].to_list()


def test_texts_stay_out_where_they_may_not_be_copied(small_model: dw.Model, small: dw.Corpus, tmp_path: Path) -> None:
    quiet = report(small_model, out=tmp_path / "q.html", corpus=small, words=["ship"], n=0, passages=False)
    assert "<mark>" not in quiet.read_text()
    with pytest.raises(OptionError, match="No word was named"):
        report(small_model, out=tmp_path / "x.html", n=0)
    with pytest.raises(OptionError, match="No word meets these conditions"):
        report(small_model, out=tmp_path / "x.html", min_count=10**6)
    with pytest.raises(OptionError, match="`out` is empty, which is not a path"):
        report(small_model, out="", n=1)
    with pytest.raises(OptionError, match="'/' is not the name of a file"):
        report(small_model, out="/", n=1)
    assert not (tmp_path / "x.html").exists()


def test_long_histories_are_thinned_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that occurs in hundreds of slices gets no more lines than fit, from all of its time."""
    days = [f"{year}-{month:02}-10" for year in range(1990, 2010) for month in range(1, 13)]
    corpus = dw.prepare(
        [(f"the sea and the ship {'abcdefgh'[i % 8]}", day) for i, day in enumerate(days)],
        out=tmp_path / "c", slices="1mo", min_count=1, phrases=False, subsample=None,
    )  # fmt: skip
    model = dw.fit(corpus, dw.Spec(dim=3, context=2, rounds=1), passes=1, out=tmp_path / "m")
    monkeypatch.setattr(offline_report, "_MAX_PASSAGES", 100)
    page = report(model, out=tmp_path / "r.html", corpus=corpus, words=["ship"], n=0).read_text()
    data = embedded(page)
    lines = [data["labels"][t] for t, *_ in data["pages"]["ship"]["passages"]]
    assert 60 <= len(lines) <= 100
    assert lines[0] < "1990-04"
    assert lines[-1] > "2009-09"


def test_words_that_look_like_scripts_stay_words(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    model = random_model([evil, "plain", "__proto__"])
    page = report(model, out=tmp_path / "r.html").read_text()
    assert "<script>alert" not in page
    assert page.count("<script") == 2
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert set(data["pages"]) == set(model.words)


@pytest.mark.slow
def test_groups_are_in_the_report_and_hardly_make_it_longer(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    model = grouped_model([evil, "without", "tiny", *(f"group {i}" for i in range(27))], slices=60)
    page = report(model, out=tmp_path / "r.html", words=["ship", "wheat"], n=0).read_text()
    assert "<script>alert" not in page
    assert page.count("<h2>By group</h2>") == 2
    assert "6 of 30 groups, those with the most text" in page
    assert "Choose groups" not in page
    model._groups = {}
    plain = report(model, out=tmp_path / "p.html", words=["ship", "wheat"], n=0).read_text()
    assert "By group" not in plain
    assert len(page) < len(plain) + 2 * 20_000
