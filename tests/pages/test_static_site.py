"""The report as a folder: a page for each word, found by search, and nothing that leads nowhere."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import driftword as dw
from conftest import PATIENCE, new_context, with_changes
from driftword.basics.errors import ExistsError, OptionError
from driftword.pages import offline_report
from driftword.pages.static_site import MARK, file_names


@pytest.fixture(scope="module")
def site(small_model: dw.Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dw.report(small_model, "ship", out=tmp_path_factory.mktemp("site") / "letters", n=5, site=True)


def listed(site: Path) -> dict[str, str]:
    """Return the file of each word that can be searched."""
    first, _, rest = (site / "words.js").read_text(encoding="utf-8").partition("\n")
    assert f"{first}\n" == MARK
    return dict(json.loads(rest.removeprefix("globalThis.siteWords = ").rstrip(";\n")))


def test_every_word_has_a_page_and_every_link_leads_to_one(site: Path) -> None:
    words = listed(site)
    assert "ship" in words
    assert len(words) >= 5
    assert {path.name for path in site.iterdir()} == {"index.html", "site.js", "style.css", "words", "words.js"}
    assert {f"words/{path.name}" for path in (site / "words").iterdir()} == set(words.values())
    for page in [site / "index.html", *(site / "words").iterdir()]:
        html = page.read_text(encoding="utf-8")
        links = [unescape(link) for link in re.findall(r'(?:href|src)="([^"#]+)', html) if not link.startswith("data:")]
        assert links
        for link in links:
            assert (page.parent / unquote(link)).is_file(), (page.name, link)
        assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")
        data = json.loads(html.split('id="data">')[1].split("</script>")[0])
        assert len(data["pages"]) == (page.name != "index.html")
    assert 'content="ship: ' in (site / words["ship"]).read_text(encoding="utf-8")


def test_as_many_words_have_a_page_as_are_significant(
    small_model: dw.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offline_report, "_WORDS", 1)
    model = with_changes(small_model, {"ship": "1853", "wheat": "1855", "court": "1857"})
    assert len(listed(dw.report(model, out=tmp_path / "three", corpus=small_model.open_corpus(), site=True))) == 3
    assert len(listed(dw.report(small_model, out=tmp_path / "one", site=True))) == 1


def test_files_of_words_do_not_collide() -> None:
    names = file_names(["and/or", "and or", "..", "和平", "戦", "Con", "CON", "a" * 300])
    assert len({name.lower() for name in names.values()}) == len(names)
    assert all(re.fullmatch(r"words/[a-z0-9-]{1,64}\.html", name) for name in names.values())


def test_only_a_site_is_replaced(small_model: dw.Model, site: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    for folder in (tmp_path / "mine", tmp_path / "mine" / "thesis.txt"):
        with pytest.raises(ExistsError, match="already exists"):
            dw.report(small_model, out=folder, n=1, site=True)
        with pytest.raises(OptionError, match="is not a site that driftword wrote"):
            dw.report(small_model, out=folder, n=1, site=True, overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "mine"
    made = dw.report(small_model, "wheat", out=tmp_path / "made", n=0, site=True)
    assert list(listed(made)) == ["wheat"]
    dw.report(small_model, "ship", out=made, n=0, site=True, overwrite=True)
    assert list(listed(made)) == ["ship"]
    assert not (made / "words" / "wheat.html").exists()


def test_it_works_from_disk(chromium: Any, site: Path) -> None:
    context = new_context(chromium, viewport={"width": 390, "height": 844})
    page, problems = context.new_page(), list[str]()
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((site / "index.html").as_uri())
    page.locator("#q").fill("shpi")
    page.locator("#q").press("Enter")
    page.wait_for_url("**/words/ship.html", timeout=PATIENCE)
    assert page.title() == f"ship · {page.locator('.home').inner_text().lower()}"
    page.locator(".trajectory .slice-link[data-slice='1855']").dispatch_event("click")
    page.get_by_role("heading", name="Passages, 1855").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto(page.url)  # someone else opens the address
    page.locator(".columns section[data-slice='1855']").wait_for()
    page.get_by_role("link", name="All words").click()
    page.wait_for_url("**/index.html")
    context.close()
    assert problems == []
