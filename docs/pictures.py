"""Take the pictures of the explorer that these pages show; needs Chromium.

python docs/pictures.py sotu.model

The model is that of docs/explorer.md, tested (`driftword significance sotu.model`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

import driftword as dw

HERE = Path(__file__).parent


def main() -> None:
    """Take a picture of the start page and of the page of *energy*, from a report, which looks the same."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    report = dw.report(sys.argv[1], out=HERE / "pictures.html", words=["energy"], n=60, title="the State of the Union")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1120, "height": 1180})
            page.goto(report.as_uri())
            page.screenshot(path=HERE / "explorer-start.png")
            page.locator(".answers a", has_text="energy").first.click()
            page.wait_for_timeout(500)
            page.screenshot(path=HERE / "explorer.png")
            browser.close()
    finally:
        report.unlink()


if __name__ == "__main__":
    main()
