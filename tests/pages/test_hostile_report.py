"""A report of hostile texts in a real browser: nothing in them runs, and nothing leaves the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import driftword as dw
from conftest import DESK, letters, new_context

pytestmark = pytest.mark.slow

TRAP = "window.trapped=(window.trapped||0)+1"
HOSTILE = [
    f"<script>{TRAP}</script>", f"</script><script>{TRAP}</script>", f"<img src=x onerror={TRAP}>",
    f'"><svg onload="{TRAP}">', f"' autofocus onfocus='{TRAP}' x='", f"javascript:{TRAP}",
    f"]]><script>{TRAP}</script>",
    f"--><script>{TRAP}</script>", f"</title></style></textarea><script>{TRAP}</script>", "{{7*7}}{%raw%}", "${7*7}",
    f"<iframe srcdoc='<script>parent.{TRAP}</script>'>", "<link rel=stylesheet href=//127.0.0.1:9/x>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>", "__proto__", "constructor", "\u202egnp.exe\u202c",
    "</data>&lt;script&gt;", "\x00\x1b[31m\x08", "=HYPERLINK(1)",
]  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts whose words, columns, names of files and titles are all hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            "text": [*text.split()[:40], *HOSTILE], "date": date, "author": HOSTILE[i % len(HOSTILE)],
            HOSTILE[0]: HOSTILE[1], HOSTILE[3]: HOSTILE[2],
        }
        for i, (text, date) in enumerate(letters())
    ]  # fmt: skip
    corpus = dw.prepare(
        pl.DataFrame(rows), out=folder / "x<img src=x onerror=alert(1)>.corpus", group="author", phrases=False,
        subsample=None, min_count=1,
    )  # fmt: skip
    model = dw.fit(corpus, dw.Spec(dim=4), passes=2, out=folder / "m")
    known = [word for word in HOSTILE if word in model.word_index]
    assert len(known) > 10
    return dw.report(model, known, out=folder / "report.html", n=5, title=HOSTILE[1], min_count=1, skip=0)


def test_nothing_in_hostile_texts_runs(chromium: Any, report: Path) -> None:
    context = new_context(chromium, viewport=DESK)
    page = context.new_page()
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(report.as_uri())
    seen = 0
    links = page.locator("a[href^='#']")
    for number in range(min(links.count(), 60)):
        links.nth(number).dispatch_event("click")
        seen += 1
    for field in page.locator("input[type=search]").all():
        for text in HOSTILE:
            field.fill(text)
            field.press("Enter")
    page.wait_for_timeout(300)
    assert seen > 10
    assert page.evaluate("window.trapped") is None
    assert problems == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.url.startswith("file:")
    assert page.locator("script").count() == 2
    assert (
        page.locator("iframe, link[rel=stylesheet], meta[http-equiv=refresh], [onerror], [onload], [onfocus]").count()
        == 0
    )
    context.close()
