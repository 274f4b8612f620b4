"""The explorer and the report under a finger: slices are narrower than it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import driftword as dw
from conftest import PHONE, columns
from driftword.pages.offline_report import report

sync_api = pytest.importorskip("playwright.sync_api")


def test_a_finger_slides_over_slices_and_keeps_one(chromium: Any, address: str) -> None:
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True, base_url=address)
    page = context.new_page()
    page.goto("/word/ship?at=1850&at=1859")
    boxes = {
        year: page.locator(f".trajectory .slice-link[data-slice='{year}']").bounding_box() for year in (1853, 1856)
    }
    (x, y), (far, _) = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes.values())
    near, shown = page.locator(".neighbors-panel"), page.url
    page.touchscreen.tap(x, y)
    near.get_by_text("1853").wait_for()
    touch = context.new_cdp_session(page)
    for kind, points in [
        ("touchStart", [{"x": x, "y": y}]),
        *(("touchMove", [{"x": x + (far - x) * i / 8, "y": y}]) for i in range(1, 9)),
        ("touchEnd", []),
    ]:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    near.get_by_text("1856").wait_for()
    assert page.url == shown  # nothing is kept yet
    page.wait_for_timeout(400)  # or the browser takes it for a part of the same gesture
    near.get_by_role("button", name="Pin").tap()
    page.get_by_role("heading", name="Passages, 1856").wait_for()
    assert columns(page) == ["1850", "1856", "1859"]
    page.touchscreen.tap(x, y)
    near.get_by_text("1853").wait_for()
    page.touchscreen.tap(x, y)  # once more
    page.get_by_role("heading", name="Passages, 1853").wait_for()
    assert columns(page) == ["1850", "1853", "1856", "1859"]
    context.close()


def test_fingers_reach_the_other_figures_and_put_slices_away(chromium: Any, address: str) -> None:
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True, base_url=address)
    page = context.new_page()
    page.goto("/")
    page.locator(".slice-link[data-slice='1855']").tap()  # of the pace of language
    page.wait_for_url("**/slice/1855")
    page.goto("/word/ship?at=1850&at=1856&at=1859&passages_at=1856")
    strip = page.locator(".trajectory .slice-link[data-slice='1856']")
    strip.tap()
    page.wait_for_timeout(400)
    strip.tap()
    sync_api.expect(page.locator("#neighbours + .columns h3")).to_have_count(2)
    assert columns(page) == ["1850", "1859"]
    context.close()


def test_a_finger_keeps_a_slice_of_a_report(chromium: Any, small_model: dw.Model, tmp_path: Path) -> None:
    file = report(small_model, tmp_path / "report.html", words=["ship"], n=0)
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True, offline=True)
    page = context.new_page()
    page.goto(f"{file.as_uri()}#word-ship")
    heads = page.locator("section.page.current .columns").first.locator("h3")
    before = heads.all_inner_texts()
    year = next(year for year in range(1850, 1860) if str(year) not in before)
    strip = page.locator(f".trajectory .slice-link[data-slice='{year}']")
    near = page.locator("section.page.current .neighbors-panel")
    strip.tap()
    sync_api.expect(near).to_contain_text(f"{year} ")
    sync_api.expect(near.get_by_role("button")).to_have_text("Pin")
    assert heads.all_inner_texts() == before
    strip.tap()
    sync_api.expect(near.get_by_role("button")).to_have_text("Remove")
    assert heads.all_inner_texts() == sorted([*before, str(year)])
    near.get_by_role("button").tap()
    sync_api.expect(near.get_by_role("button")).to_have_text("Pin")
    assert heads.all_inner_texts() == before
    context.close()
