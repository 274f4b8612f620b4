"""The explorer and the report under a finger: slices are narrower than it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import driftword as dw
from conftest import PHONE, columns, new_context
from driftword.pages.offline_report import report

pytestmark = pytest.mark.slow

sync_api = pytest.importorskip("playwright.sync_api")


def test_a_finger_slides_over_slices_and_pins_one(chromium: Any, address: str) -> None:
    context = new_context(chromium, viewport=PHONE, has_touch=True, is_mobile=True, base_url=address)
    page = context.new_page()
    page.goto("/word/ship?at=1850&at=1859")

    def place(year: int) -> tuple[float, float]:
        page.locator(".trajectory svg").scroll_into_view_if_needed()
        box = page.locator(f".trajectory .slice-link[data-slice='{year}']").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    (x, y), (far, _) = place(1853), place(1856)
    panel, address_before = page.locator(".neighbors-panel"), page.url
    page.touchscreen.tap(x, y)
    panel.get_by_text("1853", exact=True).wait_for()
    touch = context.new_cdp_session(page)
    begin = time.time()
    slide = [x + (far - x) * i / 8 for i in range(9)]
    for i, at in enumerate([*slide, far, far, None]):
        kind = "touchEnd" if at is None else "touchMove" if i else "touchStart"
        points = [] if at is None else [{"x": at, "y": y + i % 2}]
        # A fifth of a second between events, however fast they are sent. The finger rests before it is lifted;
        # otherwise the browser takes the slide for a fling, and the next tap only stops that.
        event = {"type": kind, "touchPoints": points, "timestamp": begin + i / 5}
        touch.send("Input.dispatchTouchEvent", event)
    panel.get_by_text("1856", exact=True).wait_for()
    assert page.url == address_before  # nothing is pinned yet
    panel.get_by_role("button", name="Pin").tap()
    page.get_by_role("heading", name="Passages, 1856").wait_for()
    assert columns(page) == ["1850", "1856", "1859"]
    x, y = place(1853)
    page.touchscreen.tap(x, y)
    panel.get_by_text("1853", exact=True).wait_for()
    page.touchscreen.tap(x, y)  # once more
    page.get_by_role("heading", name="Passages, 1853").wait_for()
    assert columns(page) == ["1850", "1853", "1856", "1859"]
    context.close()


def test_fingers_reach_the_other_figures_and_remove_slices(chromium: Any, address: str) -> None:
    context = new_context(chromium, viewport=PHONE, has_touch=True, is_mobile=True, base_url=address)
    page = context.new_page()
    page.goto("/word/ship?at=1850&at=1856&at=1859&passages_at=1856")
    link = page.locator(".trajectory .slice-link[data-slice='1856']")
    link.tap()
    link.tap()
    sync_api.expect(page.locator("#neighbours + .columns h3")).to_have_count(2)
    assert columns(page) == ["1850", "1859"]
    context.close()


def test_a_finger_pins_a_slice_of_a_report(chromium: Any, small_model: dw.Model, tmp_path: Path) -> None:
    file = report(small_model, out=tmp_path / "report.html", words=["ship"], n=0)
    context = new_context(chromium, viewport=PHONE, has_touch=True, is_mobile=True, offline=True)
    page = context.new_page()
    page.goto(f"{file.as_uri()}#word-ship")
    headings = page.locator("section.page.current .columns").first.locator("h3")
    before = headings.all_inner_texts()
    year = next(year for year in range(1850, 1860) if str(year) not in before)
    link = page.locator(f".trajectory .slice-link[data-slice='{year}']")
    panel = page.locator("section.page.current .neighbors-panel")
    link.tap()
    sync_api.expect(panel).to_contain_text(f"{year} ")
    sync_api.expect(panel.get_by_role("button")).to_have_text("Pin")
    assert headings.all_inner_texts() == before
    link.tap()
    sync_api.expect(panel.get_by_role("button")).to_have_text("Remove")
    assert headings.all_inner_texts() == sorted([*before, str(year)])
    panel.get_by_role("button").tap()
    sync_api.expect(panel.get_by_role("button")).to_have_text("Pin")
    assert headings.all_inner_texts() == before
    context.close()
