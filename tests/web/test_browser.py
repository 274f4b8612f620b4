"""The explorer and the report in a real browser: Playwright drives the Chromium of this machine."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import driftword as dw
from conftest import DESK, PHONE, PICTURES, columns, grouped_model, new_context, serving
from driftword.pages.content import neighbor_columns
from driftword.pages.offline_report import report
from driftword.web.app import make_app

pytestmark = pytest.mark.slow

sync_api = pytest.importorskip("playwright.sync_api")


def test_a_word_is_found_with_a_typo(page: Any) -> None:
    page.get_by_label("Word", exact=True).press_sequentially("habour", delay=20)
    sync_api.expect(page.get_by_role("option", name="harbour")).to_be_visible()
    page.keyboard.press("Escape")
    sync_api.expect(page.get_by_role("listbox")).to_be_hidden()
    page.get_by_role("button", name="Search").click()
    title = page.get_by_role("heading", level=1)
    sync_api.expect(title).to_have_text("Not found")
    page.get_by_role("link", name="harbour").click()
    sync_api.expect(title).to_have_text("harbour")


def test_slices_show_their_neighbours_and_can_be_pinned(page: Any, small_model: dw.Model, address: str) -> None:
    page.goto("/word/ship")
    page.locator(".trajectory .slice-link[data-slice='1855']").hover()
    panel = page.locator(".neighbors-panel")
    panel.get_by_text("1855", exact=True).wait_for()
    for word in dw.neighbors(small_model, "ship", at=1855)["word"]:
        assert word in panel.inner_text()
    before = columns(page)
    unpinned = next(str(year) for year in range(1850, 1860) if str(year) not in before)
    page.evaluate("window.same = true")
    page.locator(f".trajectory .slice-link[data-slice='{unpinned}']").click()
    page.get_by_role("heading", name=f"Passages, {unpinned}").wait_for()
    assert columns(page) == sorted([*before, unpinned])
    assert page.evaluate("window.same") is True  # the page was not loaded again
    assert {line.get_attribute("data-slice") for line in page.locator(".passages li").all()} == {unpinned}

    pinned = page.url
    assert f"at={unpinned}" in pinned
    other = page.context.new_page()  # someone else opens the address
    other.goto(pinned)
    assert columns(other) == columns(page)
    assert other.locator(".passages").inner_text() == page.locator(".passages").inner_text()

    page.locator(f".trajectory .slice-link[data-slice='{unpinned}']").click()
    sync_api.expect(page.locator("#neighbours + .columns h3")).to_have_count(len(before))
    page.go_back()
    page.get_by_role("heading", name=f"Passages, {unpinned}").wait_for()
    assert columns(page) == sorted([*before, unpinned])


def test_the_keyboard_leads_from_slice_to_slice(page: Any) -> None:
    page.goto("/word/ship?at=1852")
    page.locator(".trajectory .slice-link[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".neighbors-panel").get_by_text("1853", exact=True).wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Passages, 1853").wait_for()
    assert columns(page) == ["1852", "1853"]
    assert page.evaluate("document.activeElement.dataset.slice") == "1853"
    for key, year in (("Home", 1850), ("End", 1859)):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.slice") == str(year)
    page.keyboard.press("Space")
    page.get_by_role("heading", name="Passages, 1859").wait_for()
    assert columns(page) == ["1852", "1853", "1859"]


def test_a_passage_is_reached_from_a_list_of_neighbours(page: Any, small: dw.Corpus) -> None:
    page.goto("/word/ship?at=1850&at=1856")
    page.get_by_role("link", name="Read passages").nth(1).click()
    page.get_by_role("heading", name="Passages, 1856").wait_for()
    page.evaluate("document.querySelector('main').same = true")
    page.get_by_role("link", name="passages", exact=True).first.click()
    page.wait_for_url("**#passages")
    assert page.evaluate("document.querySelector('main').same") is True  # nothing was fetched again
    line = page.locator(".passages li").first
    texts = small.documents.filter(slice="1856").collect()["text"].to_list()
    assert any(line.inner_text().split("…")[1].strip() in text for text in texts)
    assert line.locator("mark").inner_text().lower() == "ship"


def test_the_measure_is_switched_and_the_table_downloaded(page: Any, small_model: dw.Model) -> None:
    page.get_by_label("Rank by").select_option("relative")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**metric=relative**")  # the table is there as soon as its address is
    expected = dw.drift(small_model, n=30, metric="relative", min_count=5)
    first = page.locator("table.drift tbody th").first
    assert first.inner_text() == expected["word"][0]
    with page.expect_download() as download:
        page.evaluate("document.querySelector('a[href*=\"index.csv\"]').setAttribute('download', '')")
        page.get_by_role("link", name="CSV").click()
    table = pl.read_csv(io.BytesIO(Path(download.value.path()).read_bytes()))
    labels = {"first": pl.String, "last": pl.String}  # CSV does not tell years from numbers
    assert_frame_equal(table.select(expected.columns).cast(labels), expected, check_dtypes=False)
    page.get_by_role("link", name="word", exact=True).click()
    page.wait_for_url("**sort=word**")
    assert first.inner_text() == min(expected["word"])


def test_the_address_changes_with_the_page_and_late_responses_are_dropped(page: Any) -> None:
    def shown() -> tuple[str, str, str | None]:
        """Return the measure in the address, that of the table to download, and whether another page is awaited."""
        table = page.locator("a[href*='index.csv']").get_attribute("href")
        address, download = (re.findall(r"metric=(\w+)", text)[0] for text in (page.url, table))
        return address, download, page.locator("main").get_attribute("aria-busy")

    page.evaluate(RECORD_RESPONSES)
    routes: list[Any] = []
    page.route("**metric=relative**", lambda route: routes.append(route))  # answered when the test says so
    start, download = page.url, page.locator("a[href*='index.csv']").get_attribute("href")
    page.get_by_label("Rank by").select_option("relative")
    with page.expect_request("**metric=relative**"):
        page.get_by_role("button", name="Show").click()
    assert page.locator("main").get_attribute("aria-busy") == "true"
    assert page.url == start
    assert page.locator("a[href*='index.csv']").get_attribute("href") == download
    page.get_by_label("Rank by").select_option("cosine")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**metric=cosine**")
    with response_handled(page, "metric=relative"):
        routes[0].continue_()
    assert shown() == ("cosine", "cosine", None)

    page.unroute("**metric=relative**")
    page.get_by_label("Rank by").select_option("relative")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**metric=relative**")
    page.route("**metric=cosine**", lambda route: routes.append(route))
    with page.expect_request("**metric=cosine**"):
        page.go_back()
    page.go_forward()  # before the page there has come
    with response_handled(page, "metric=cosine"):
        routes[1].continue_()
    assert shown() == ("relative", "relative", None)


def test_pages_can_be_read_without_scripts(chromium: Any, address: str) -> None:
    context = new_context(chromium, java_script_enabled=False, base_url=address)
    page = context.new_page()
    page.goto("/word/ship?at=1850")
    page.locator(".trajectory .slice-link[data-slice='1857']").click()
    page.wait_for_url("**at=1857**")
    assert columns(page) == ["1850", "1857"]
    assert page.locator(".passages mark").count() > 0
    page.get_by_label("Word", exact=True).fill("wheat")
    page.get_by_role("button", name="Search").click()
    sync_api.expect(page.get_by_role("heading", level=1)).to_have_text("wheat")
    context.close()


@pytest.mark.parametrize("path", ["/", "/word/ship", "/compare?words=ship,wheat", "/slice/1853", "/comparisons"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_can_be_read_in_the_dark(chromium: Any, address: str, path: str, scheme: str) -> None:
    check_page(chromium, address, path, scheme)


def test_a_word_of_many_groups_is_shown_safely(chromium: Any) -> None:
    names = ["<script>document.title = 'evil'</script>", '"><img src=x onerror=alert(1)>', "tiny", "A" * 150]
    model = grouped_model([*names, *(f"group {i}, {{{{ 7*7 }}}}" for i in range(26))])
    with serving(make_app(model)) as address:
        for scheme in ("light", "dark"):
            check_page(chromium, address, "/word/ship", scheme)
        context = new_context(chromium, viewport=DESK, base_url=address)
        page = context.new_page()
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto("/word/ship")
        assert page.title().startswith("ship")
        assert page.locator("#groups ~ table tbody tr").count() == 6
        page.get_by_text("Choose groups").click()
        page.set_viewport_size(PHONE)  # with long names
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        checked = page.locator("input[name=groups]:checked")
        while checked.count():
            checked.first.uncheck()
        for name in names[:2]:
            page.locator(f"input[name=groups][value={json.dumps(name)}]").check()
        page.locator("select[name=groups_at]").select_option("1991")
        page.locator("form[action$='#groups']").get_by_role("button", name="Show").click()
        page.wait_for_url("**groups_at=1991**")
        rows = page.locator("#groups ~ table tbody th").all_inner_texts()
        assert rows == names[:2]
        assert "does not occur in its training text" in page.locator("#groups ~ table tbody tr").nth(1).inner_text()
        assert errors == []
        context.close()


def check_page(chromium: Any, address: str, path: str, scheme: str) -> None:
    """A page is not wider than a phone, has enough contrast, and names for all that can be filled in."""
    context = new_context(chromium, viewport=PHONE, color_scheme=scheme, base_url=address)
    page = context.new_page()
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    faint = page.evaluate(CONTRAST)
    assert faint == []
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
        ".filter(e => !e.labels.length && !e.ariaLabel).length"
    )
    assert unnamed == 0
    if PICTURES:
        name = path.strip("/").replace("/", "-").partition("?")[0] or "start"
        page.screenshot(path=Path(PICTURES) / f"phone-{scheme}-{name}.png", full_page=True)
    context.close()


def test_readers_need_not_wait(page: Any) -> None:
    page.goto("/word/ship?at=1850&at=1859")
    routes: list[Any] = []
    # The first responses come after all the clicks.
    page.route("**/word/ship?**", lambda route: routes.append(route) if len(routes) < 3 else route.continue_())
    for year in (1852, 1854, 1856):
        with page.expect_request("**/word/ship?**"):
            page.locator(f".trajectory .slice-link[data-slice='{year}']").click()
    for route in routes:
        route.continue_()
    page.get_by_role("heading", name="Passages, 1856").wait_for()
    assert columns(page) == ["1850", "1852", "1854", "1856", "1859"]
    page.locator(".trajectory .slice-link[data-slice='1853']").dblclick()
    page.get_by_role("heading", name="Passages, 1853").wait_for()
    assert "1853" in columns(page)


def test_the_focus_stays_where_the_reader_was(page: Any) -> None:
    focused = "[document.activeElement.tagName, document.activeElement.textContent.trim()]"
    page.get_by_role("link", name="word", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=word**")
    assert page.evaluate(focused) == ["A", "word"]
    page.get_by_label("Rank by").select_option("cosine")
    page.get_by_role("button", name="Show").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**metric=cosine**")
    assert page.evaluate(focused) == ["BUTTON", "Show"]
    assert "sort=word" in page.url  # and so does the order
    page.goto("/word/ship?at=1850&at=1856")
    page.get_by_role("link", name="Read passages").nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**passages_at=1856**")
    assert page.evaluate(focused) == ["H2", "Passages, 1856"]
    assert page.locator("#status").inner_text().startswith("ship")
    page.get_by_role("link", name="remove 1850").focus()
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#neighbours + .columns h3")).to_have_count(1)
    assert page.evaluate(focused) == ["H2", "Neighbours"]


def test_what_is_cited_is_what_is_shown(page: Any) -> None:
    page.goto("/between?from=1851&to=1855")
    page.locator("select[name=to]").select_option("1858")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**to=1858**")
    assert "Change from 1851 to 1858." in page.locator("footer").inner_text()
    assert page.locator("footer").count() == 1


def test_a_whole_text_is_read(page: Any, small: dw.Corpus) -> None:
    page.goto("/word/ship?at=1850&at=1859&passages_at=1859")
    line = page.locator(".passages li").last
    said = line.inner_text().split("…")[1].strip()
    left = line.locator("mark").evaluate("e => e.previousSibling.textContent")
    line.get_by_role("link", name="Read the full text").click()
    page.wait_for_url("**/text/**")
    text = page.locator(".text").inner_text()
    assert text in small.documents.filter(slice="1859").collect()["text"].to_list()
    assert said in text
    target = page.locator("mark:target")
    assert target.inner_text().lower() == "ship"
    before = target.evaluate(
        "e => { const r = document.createRange(); r.setStart(e.parentNode, 0); r.setEndBefore(e); return r.toString() }"
    )
    assert before.endswith(left.removeprefix("…"))


#: Makes a page record the addresses of responses after it has handled them: `setTimeout` runs when it has.
RECORD_RESPONSES = """() => {
  const fetchResponse = window.fetch;
  window.handled = [];
  window.fetch = async (...request) => {
    const response = await fetchResponse(...request);
    for (const method of ["text", "json"]) {
      const read = response[method].bind(response);
      response[method] = async () => {
        const body = await read();
        setTimeout(() => window.handled.push(response.url));
        return body;
      };
    }
    return response;
  };
}"""


@contextmanager
def response_handled(page: Any, part: str) -> Iterator[None]:
    """Wait until the page has handled a response from an address with this part."""
    page.evaluate("window.handled = []")
    yield
    page.wait_for_function("part => window.handled.some((url) => url.includes(part))", arg=part)


#: Texts whose contrast to the page is below 4.5, as WCAG asks for.
CONTRAST = """() => {
  const light = (c) => {
    const parts = c.match(/[\\d.]+/g).map((v) => Number(v) / 255);
    const [r, g, b] = parts.map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const inked = (e) => e instanceof SVGElement ? getComputedStyle(e).fill : getComputedStyle(e).color;
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll('main *, header *, footer *')]
    .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
    .filter((e) => !e.closest('select, input, button, mark, title'))
    .map((e) => [e.outerHTML.slice(0, 80), light(inked(e))])
    .map(([text, ink]) => [text, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)])
    .filter(([, contrast]) => contrast < 4.5);
}"""


def test_a_late_response_does_not_win_over_the_pointer(page: Any) -> None:
    page.goto("/word/ship")
    page.evaluate(RECORD_RESPONSES)
    panel, routes = page.locator(".neighbors-panel"), []
    page.locator(".trajectory .slice-link[data-slice='1852']").hover()
    sync_api.expect(panel).to_contain_text("1852 ")
    page.route("**/neighbors.json?at=1857", lambda route: routes.append(route))
    with page.expect_request("**/neighbors.json?at=1857"):
        page.locator(".trajectory .slice-link[data-slice='1857']").hover()
    page.locator(".trajectory .slice-link[data-slice='1852']").hover()
    with response_handled(page, "neighbors.json?at=1857"):
        routes[0].continue_()
    assert panel.inner_text().startswith("1852 ")
    with page.expect_request("**/neighbors.json?at=1857"):
        page.locator(".trajectory .slice-link[data-slice='1857']").hover()
    page.locator("h1").hover()  # nothing else is pointed at, so the response still counts
    routes[1].continue_()
    sync_api.expect(panel).to_contain_text("1857 ")


def test_a_double_click_counts_once_and_two_clicks_twice(chromium: Any, small_model: dw.Model, tmp_path: Path) -> None:
    file = report(small_model, out=tmp_path / "report.html", words=["ship"], n=0)
    context = new_context(chromium, viewport=DESK, offline=True)
    page = context.new_page()
    page.goto(f"{file.as_uri()}#word-ship")
    headings = page.locator("section.page.current .columns").first.locator("h3")
    before = headings.all_inner_texts()
    year = next(str(year) for year in range(1850, 1860) if str(year) not in before)
    page.locator(".trajectory svg").scroll_into_view_if_needed()
    box = page.locator(f".trajectory .slice-link[data-slice='{year}']").bounding_box()
    point = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for pinned in (True, False, True, False):  # as fast as they come
        page.mouse.click(*point)
        assert (year in headings.all_inner_texts()) == pinned
    page.mouse.dblclick(*point)
    assert year in headings.all_inner_texts()
    page.mouse.dblclick(*point)
    assert headings.all_inner_texts() == before
    context.close()


def test_a_report_works_from_a_file_with_the_network_off(
    chromium: Any, small_model: dw.Model, small: dw.Corpus, tmp_path: Path
) -> None:
    words = ["ship", "wheat", "harbour", "court"]
    file = report(small_model, out=tmp_path / "report.html", corpus=small, words=words, n=3, min_count=1)
    context = new_context(chromium, viewport=DESK, offline=True)
    page = context.new_page()
    console_messages: list[str] = []
    page.on("console", lambda message: console_messages.append(message.text))
    page.on("pageerror", lambda error: console_messages.append(str(error)))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    assert page.get_by_role("heading", level=1).inner_text().startswith("How words changed")

    page.get_by_role("button", name="word").click()
    rows = page.locator("table.drift tbody th").all_inner_texts()
    assert rows == sorted(rows)

    page.get_by_label("Word", exact=True).fill("habrour")
    page.get_by_label("Word", exact=True).press("Enter")
    section = page.locator("section.page.current")
    sync_api.expect(section.get_by_role("heading", level=1)).to_have_text("harbour")
    page.wait_for_url("**#word-harbour")
    before = section.locator(".columns").first.locator("h3").all_inner_texts()
    slice_ = next(str(year) for year in range(1850, 1860) if str(year) not in before)
    link = section.locator(f".trajectory .slice-link[data-slice='{slice_}']")
    link.hover()
    for word in dw.neighbors(small_model, "harbour", at=slice_)["word"]:
        sync_api.expect(section.locator(".neighbors-panel")).to_contain_text(word)
    link.click()
    assert section.locator(".columns").first.locator("h3").all_inner_texts() == sorted([*before, slice_])
    shown = [line for line in section.locator(".passages li").all() if line.is_visible()]
    assert {line.get_attribute("data-slice") for line in shown} == {slice_}
    lists = [
        column.locator("li").all_inner_texts() for column in section.locator(".columns").first.locator("section").all()
    ]
    # The marks that the script makes are those of the explorer, but for similarities rounded to two digits.
    labels = sorted([*before, slice_])
    near = dw.neighbors(small_model, "harbour", at=labels)
    for column, lines in zip(neighbor_columns(labels, near.to_dicts()), lists, strict=True):
        assert [line.strip(" +−") for line in lines] == [row["word"] for row in column["words"]]
    marked = [(label, line) for label, lines in zip(labels, lists, strict=True) for line in lines if "+" in line]
    for label, line in marked:
        earlier = labels[labels.index(label) - 1]
        assert line.strip(" +−") not in near.filter(pl.col("slice") == earlier)["word"].to_list()
    page.wait_for_url(lambda url: url.endswith("".join(f"@{label}" for label in sorted([*before, slice_]))))
    other = context.new_page()  # someone else opens the address
    other.goto(page.url)
    there = other.locator("section.page.current .columns").first.locator("h3").all_inner_texts()
    assert there == sorted([*before, slice_])
    other.close()
    page.bring_to_front()
    section.get_by_role("link", name="passages", exact=True).click()
    sync_api.expect(section.get_by_role("heading", name=f"Passages, {slice_}")).to_be_visible()
    page.go_back()
    section = page.locator("section.page.current")
    section.locator(f".trajectory .slice-link[data-slice='{slice_}']").click()
    assert section.locator(".columns").first.locator("h3").all_inner_texts() == before

    page.get_by_label("Word", exact=True).fill("zzzzzz")
    page.get_by_label("Word", exact=True).press("Enter")
    sync_api.expect(page.locator("#search-status")).to_contain_text("is not among the")
    page.get_by_role("link", name="All words").locator("visible=true").click()
    sync_api.expect(page.get_by_role("heading", name="Words in this report")).to_be_visible()
    assert console_messages == []
    assert {url.partition(":")[0] for url in requests} <= {"file", "data"}
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / "report.png")
    context.close()
