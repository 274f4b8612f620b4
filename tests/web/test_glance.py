"""Change at a glance in a real browser: timeline, crosshair, journey, completions, choices; and checks of quality."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import driftword as dw
from conftest import DESK, PHONE, PICTURES, new_context, serving, with_changes
from driftword import explore
from driftword.pages.offline_report import report
from driftword.web.app import make_app

pytestmark = pytest.mark.slow

sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

CHANGES = {"ship": "1853", "wheat": "1855", "court": "1855", "harbour": "1857", "judge": "1852"}
PAGES = (
    "/", "/?since=1855&until=1855", "/word/ship", "/compare?words=ship,wheat", "/words?like=ha*", "/text/0?word=ship",
    "/comparisons", "/axis?words=captain&low=wheat&high=ship", "/between?from=1850&to=1858", "/search?q=shpi",
    "/?kind=name", "/word/ship/senses", "/word/ship/concordance", "/word/ship/company",
)  # fmt: skip


@pytest.fixture(scope="module")
def tested(small_model: dw.Model) -> dw.Model:
    """A model of which a test found a few words to have changed; in so small a vocabulary none is left out."""
    return with_changes(small_model, CHANGES)


@pytest.fixture(scope="module")
def address(tested: dw.Model, small: dw.Corpus) -> Iterator[str]:
    with serving(make_app(tested, small)) as here:
        yield here


def places(page: Any, selector: str) -> tuple[dict[str, float], list[float]]:
    """Return the box of a figure, and where its slices are in the window."""
    svg = page.locator(selector)
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    scale = box["width"] / float(svg.get_attribute("viewBox").split()[2])
    return box, [box["x"] + float(x) * scale for x in svg.get_attribute("data-x").split()]


def test_a_period_is_chosen_by_dragging_by_a_click_and_by_keys(page: Any) -> None:
    sync_api.expect(page.locator(".answers li")).to_have_count(5)
    box, x = places(page, ".when svg")
    foot = box["y"] + box["height"] - 40 * box["width"] / 760
    page.mouse.move(x[2], foot)
    page.mouse.down()
    page.mouse.move(x[4], foot)
    page.mouse.move(x[5], foot)
    page.mouse.up()
    sync_api.expect(page.locator("#changed")).to_have_text("Words that changed from 1852 to 1855")
    sync_api.expect(page.locator(".answers li")).to_have_count(4)
    assert page.url.endswith("/?since=1852&until=1855#changed")
    page.get_by_role("link", name="All periods").click()
    sync_api.expect(page.locator(".answers li")).to_have_count(5)
    box, x = places(page, ".when svg")
    page.mouse.click(x[7], box["y"] + box["height"] - 40 * box["width"] / 760)
    sync_api.expect(page.locator("#changed")).to_have_text("Words that changed in 1857")
    sync_api.expect(page.locator(".answers li")).to_have_count(1)
    page.locator(".when .slice-link.pinned").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#changed")).to_have_text("Words that changed in 1856")
    sync_api.expect(page.get_by_text("No significant change is dated to this period.")).to_be_visible()


def test_one_line_goes_through_all_figures_and_passages_follow(page: Any, tested: dw.Model) -> None:
    page.goto("/word/ship")
    page.locator("path.interval.s0").wait_for(state="attached")  # how sure the line is comes after the page
    box, x = places(page, ".trajectory svg")
    page.mouse.move(x[6], box["y"] + box["height"] / 2)
    count = page.locator("svg[data-x]").count()
    assert count >= 4
    sync_api.expect(page.locator(".crosshair")).to_have_count(count)
    distance = explore.displacement(tested, "ship")["distance"][6]
    sync_api.expect(page.locator(".trajectory .values")).to_have_text(f"1856: {float(f'{distance:.3g}'):g}")
    sync_api.expect(page.locator(".neighbors-panel q").first).to_contain_text("1856")
    sync_api.expect(page.locator(".neighbors-panel q mark").first).to_have_text("ship", ignore_case=True)
    page.mouse.move(5, 5)
    sync_api.expect(page.locator(".crosshair")).to_have_count(0)
    page.locator(".trajectory .values-table summary").click()
    table = page.locator(".trajectory .values-table table")
    assert table.locator("tbody tr").count() == 10
    assert table.locator("tbody tr").nth(6).locator("td").inner_text() == f"{float(f'{distance:.4g}'):g}"
    box, x = places(page, ".stream")
    page.mouse.move(x[3], box["y"] + (22 + 34 + 8) * box["width"] / 760)
    first = explore.journey(tested, "ship")["anchors"][0]
    sync_api.expect(page.locator(".stream-figure .values")).to_contain_text(f"1853: {first['word']}")


def test_a_word_moves_along_its_journey(chromium: Any, address: str) -> None:
    context = new_context(chromium, viewport=DESK, base_url=address)
    page = context.new_page()
    page.goto("/word/ship")
    dot, slider = page.locator(".map .here"), page.get_by_role("slider", name="Time")
    end = float(dot.get_attribute("cx"))
    slider.focus()
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    sync_api.expect(page.locator(".player output")).to_have_text("1850")
    start = float(dot.get_attribute("cx"))
    assert start < end
    assert slider.get_attribute("aria-valuetext") == "1850"
    page.get_by_role("button", name="Play").click()
    sync_api.expect(page.get_by_role("button", name="Pause")).to_be_visible()
    sync_api.expect(page.locator(".player output")).to_have_text("1859")
    sync_api.expect(page.get_by_role("button", name="Play")).to_be_visible()
    context.close()
    still = new_context(chromium, viewport=DESK, base_url=address, reduced_motion="reduce")
    page = still.new_page()
    page.goto("/word/ship")
    sync_api.expect(page.get_by_role("slider", name="Time")).to_be_visible()
    sync_api.expect(page.get_by_role("button", name="Play")).to_be_hidden()
    still.close()


def test_words_are_completed_and_enter_takes_the_best(page: Any) -> None:
    box = page.get_by_label("Word", exact=True)
    box.press_sequentially("har", delay=20)
    options = page.get_by_role("option")
    sync_api.expect(options.first).to_contain_text("times")
    assert options.first.locator("svg path").get_attribute("d").startswith("M")
    page.keyboard.press("Enter")
    sync_api.expect(page.get_by_role("heading", level=1)).to_have_text("harbour")
    box = page.get_by_label("Word", exact=True)
    box.press_sequentially("ca", delay=20)
    page.wait_for_timeout(500)  # until nothing more comes
    sync_api.expect(options).not_to_have_count(0)
    wanted = options.nth(1).get_attribute("data-word")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    sync_api.expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    sync_api.expect(page.get_by_role("heading", level=1)).to_have_text(wanted)
    page.goto("/comparisons")
    field = page.get_by_label("Two to six words")
    field.fill("ship, whea")
    field.press_sequentially("t", delay=20)
    page.get_by_role("option", name="wheat").click()
    assert field.input_value() == "ship, wheat"


def test_choices_of_passages_apply_at_once_and_say_what_they_hold(page: Any, small: dw.Corpus) -> None:
    page.goto("/word/ship")
    counts = small.counts[:, small.word_id("ship")]
    options = page.locator("select[name=passages_at]").locator("option").all_inner_texts()
    assert options == ["all", *(f"{label} ({n})" for label, n in zip(small.slices.labels, counts, strict=True) if n)]
    page.locator("select[name=passages_at]").select_option("1853")
    sync_api.expect(page.get_by_role("heading", name="Passages, 1853")).to_be_visible()


def test_a_text_opens_with_its_occurrence_a_third_down(page: Any) -> None:
    page.goto("/word/ship?passages_n=40")
    page.get_by_role("link", name="Read the full text").nth(20).click()
    hit = page.locator("mark:target")
    hit.wait_for()
    assert "ship" in hit.inner_text().lower()
    back = page.locator(".text-head a").first
    assert back.get_attribute("href").startswith("/word/ship?passages_at=")
    ups = page.get_by_role("link", name="next occurrence")
    if ups.count():
        ups.first.click()
        sync_api.expect(page.locator("mark:target")).to_have_attribute("id", "hit-2")


def test_a_page_stays_when_the_explorer_stops_or_its_model_is_replaced(
    chromium: Any, small_model: dw.Model, small: dw.Corpus, tmp_path: Path
) -> None:
    shutil.copytree(str(small_model.path), tmp_path / "m")
    context = new_context(chromium, viewport=DESK)
    page = context.new_page()
    with serving(make_app(dw.Model.open(tmp_path / "m"), small)) as here:
        page.goto(f"{here}/word/ship")
        shutil.rmtree(tmp_path / "m")
        dw.fit(small, dw.Spec(dim=4, rounds=1), passes=2, out=tmp_path / "m")
        page.locator(".trajectory .slice-link").nth(4).click()
        sync_api.expect(page.get_by_role("alert")).to_contain_text("have been replaced or damaged")
        sync_api.expect(page.get_by_role("heading", level=1)).to_have_text("ship")
    page.locator(".trajectory .slice-link").nth(5).click()
    sync_api.expect(page.get_by_role("alert")).to_contain_text("The explorer does not answer")
    sync_api.expect(page.get_by_role("heading", level=1)).to_have_text("ship")
    context.close()


#: The size of the smallest text of all figures, as it is on the screen.
SMALLEST_TEXT = """() => Math.min(99, ...[...document.querySelectorAll("svg.figure text")]
  .filter((text) => text.getClientRects().length && getComputedStyle(text).display !== "none")
  .map((text) => parseFloat(getComputedStyle(text).fontSize)
    * text.ownerSVGElement.getBoundingClientRect().width / text.ownerSVGElement.viewBox.baseVal.width))"""


@pytest.mark.parametrize(
    ("size", "scheme"),
    [(DESK, "light"), (PHONE, "dark"), ({"width": 320, "height": 700}, "light")],
    ids=["desk-light", "phone-dark", "narrow-light"],
)
def test_no_rule_of_accessibility_is_broken(chromium: Any, address: str, size: dict[str, int], scheme: str) -> None:
    context = new_context(chromium, viewport=size, color_scheme=scheme, base_url=address)
    page = context.new_page()
    for path in (
        PAGES if size in (DESK, PHONE) else ("/", "/word/ship", "/compare?words=ship,wheat", "/text/0?word=ship")
    ):
        page.goto(path)
        if path == "/word/ship":
            page.locator("path.interval.s0").wait_for(state="attached")
            page.locator(".values-table summary").first.click()
        found = axe.Axe().run(page)
        assert found.violations_count == 0, (path, size, scheme, found.generate_report())
        assert page.evaluate(SMALLEST_TEXT) >= 11.9, path
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= size["width"], path
        if PICTURES:
            page.screenshot(
                path=Path(PICTURES) / f"glance-{scheme}-{size['width']}-{PAGES.index(path)}.png", full_page=True
            )
    context.close()


SHIFT = """() => new Promise((resolve) => {
  let shift = 0;
  const add = (list) => list.getEntries().forEach((one) => { if (!one.hadRecentInput) shift += one.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(shift), 400);
})"""


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_pages_are_small_and_do_not_jump(chromium: Any, address: str, size: dict[str, int]) -> None:
    context = new_context(chromium, viewport=size, base_url=address)
    page = context.new_page()
    sent: list[int] = []
    page.on("response", lambda response: sent.append(int(response.headers.get("content-length", 0))))
    for path in ("/", "/word/ship", "/compare?words=ship,wheat"):
        sent.clear()
        page.goto(path)
        if path != "/":
            page.locator("path.interval.s0").wait_for(state="attached")
        assert page.evaluate(SHIFT) < 0.001, path
        assert sum(sent) < 150_000, path
    context.close()


def test_a_report_opens_its_pages_one_by_one(chromium: Any, tested: dw.Model, small: dw.Corpus, tmp_path: Path) -> None:
    file = report(tested, out=tmp_path / "r.html", corpus=small, words=list(CHANGES), n=10, min_count=1)
    context = new_context(chromium, viewport=DESK, offline=True, accept_downloads=True)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.goto(file.as_uri())
    count = "document.querySelectorAll('*').length"
    before = page.evaluate(count)
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    box, x = places(page, ".when svg")
    page.mouse.click(x[5], box["y"] + box["height"] - 40 * box["width"] / 760)
    sync_api.expect(page.locator("#changed")).to_have_text("Words that changed in 1855")
    sync_api.expect(page.locator(".in-slice li")).to_have_count(3)
    sync_api.expect(page.locator(".in-slice li").first).to_contain_text("2 of 2 significant words")
    box, x = places(page, ".when svg")  # which moves as the list above it changes
    page.mouse.click(x[5], box["y"] + box["height"] - 40 * box["width"] / 760)
    sync_api.expect(page.locator(".in-slice")).to_have_count(0)
    box, x = places(page, ".when svg")
    page.mouse.move(x[2], box["y"] + box["height"] - 40 * box["width"] / 760)
    page.mouse.down()
    page.mouse.move(x[4], box["y"] + box["height"] - 40 * box["width"] / 760)
    page.mouse.move(x[5], box["y"] + box["height"] - 40 * box["width"] / 760)
    page.mouse.up()
    sync_api.expect(page.locator("#changed")).to_have_text("Words that changed from 1852 to 1855")
    sync_api.expect(page.locator(".in-slice li").first).to_contain_text("4 of 4 significant words")
    page.get_by_role("button", name="All periods").click()
    sync_api.expect(page.locator("#changed")).to_have_text("The words that changed most")
    page.locator("#compare-form input").fill("ship, wheat, nothing")
    page.get_by_role("button", name="Compare").click()
    sync_api.expect(page.locator("#compared path.observed")).to_have_count(2)
    sync_api.expect(page.locator("#compared")).to_contain_text("Not in this report: nothing.")
    for form, begin in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saved:
            page.locator("#compared").get_by_role("button", name=f"this figure as {form}").click()
        assert Path(saved.value.path()).read_bytes().startswith(begin)
    page.locator(".answers a", has_text="ship").first.click()
    section = page.locator("section.page.current")
    sync_api.expect(section.get_by_role("heading", level=1)).to_have_text("ship")
    sync_api.expect(section.locator("path.interval.s0")).to_have_count(1)
    sync_api.expect(section.get_by_role("slider", name="Time")).to_be_visible()
    assert section.locator(".passages li mark").count() > 2
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate(count) < before + 1500
    assert page.locator("section.page .columns").count() == 2  # neighbours and equivalents of this word, and no other
    assert problems == []
    plain = new_context(chromium, viewport=DESK, java_script_enabled=False)
    page = plain.new_page()
    page.goto(file.as_uri() + "#word-ship")
    sync_api.expect(page.get_by_role("heading", name="ship", exact=True, level=1)).to_be_visible()
    plain.close()
    context.close()


def test_the_proof_of_a_change_is_one_click_away(chromium: Any, address: str) -> None:
    """Nothing must be scrolled on a laptop: the start page has a passage of either side, a word's page three."""
    context = new_context(chromium, viewport={"width": 1440, "height": 900}, base_url=address)
    page = context.new_page()
    page.goto("/")
    first = page.locator(".answers li").first
    seen = [*first.locator("mark").all()]
    assert len(seen) == 2
    assert all(bottom(line) <= 900 for line in seen)
    word = first.locator("h3 a").inner_text()
    first.locator("h3 a").click()
    sync_api.expect(page.get_by_role("heading", level=1)).to_have_text(word)
    sides = page.locator(".finding .pair > div")
    sync_api.expect(sides).to_have_count(2)
    for side in sides.all():
        passages = side.locator(".proof li").all()
        assert len(passages) == 3
        assert all(bottom(passage) <= 900 for passage in passages)
        assert all(word in passage.locator("mark").inner_text().lower() for passage in passages)
    assert page.evaluate("scrollY") == 0
    context.close()


def bottom(part: Any) -> float:
    """Return where a part of the page ends, in pixels from the top of the window."""
    box = part.bounding_box()
    return float(box["y"] + box["height"])
