"""How large is a report, and how quickly does it open on a slow machine? Give a model directory.

    python benchmarks/report.py sotu.model

Writes a report of fifty words and opens it in Chromium, slowed down four times. Prints its size, the elements of the
opened page, when something was first painted, when the page could be used, how long after a click the page of a word
was there, and the longest time for which the page did not react. Three times, each in a new browser.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import driftword as dw
from machine import describe

SLOWER = 4
COUNT = "document.querySelectorAll('*').length"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
WATCH = """window.longest = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
}).observe({ type: "longtask", buffered: true });"""


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe("playwright"), end="\n\n")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = dw.report(sys.argv[1], out=Path(folder) / "report.html", n=50)
        print(f"size       {file.stat().st_size / 1e6:.1f} MB")
        for _ in range(3):
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page()
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            page.add_init_script(WATCH)
            page.goto(file.as_uri(), wait_until="load")
            page.wait_for_timeout(500)
            painted, loaded, elements = page.evaluate(PAINTED), page.evaluate(LOADED), page.evaluate(COUNT)
            longest = page.evaluate("window.longest")
            page.evaluate("window.longest = 0")
            opened = page.evaluate(
                """() => new Promise((resolve) => {
                  const begin = performance.now();
                  document.querySelector(".answers a").click();
                  const look = () => document.querySelector("section.page.current h1")
                    ? resolve(performance.now() - begin) : requestAnimationFrame(look);
                  requestAnimationFrame(look);
                })"""
            )
            page.wait_for_timeout(2000)
            busy, after = page.evaluate("window.longest"), page.evaluate(COUNT)
            print(
                f"opened     painted after {painted:.0f} ms, loaded after {loaded:.0f} ms (busy for {longest:.0f} ms "
                f"at once), {elements:,} elements"
            )
            print(f"a word     {opened:.0f} ms after the click (busy for {busy:.0f} ms at once), {after:,} elements")
            browser.close()


if __name__ == "__main__":
    main()
