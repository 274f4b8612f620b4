"""Take the pictures of the explorer that these pages show; needs Chromium.

python docs/pictures.py SOTU.model UN.model PLAYS.model

The models are those of docs/gallery.md, each with its corpus and the test of all words.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, sync_playwright

import driftword as dw
from driftword.web.app import make_app

HERE = Path(__file__).parent
WIDE, PHONE = (1100, 1000), (390, 780)  # CSS pixels
TITLES = ("the State of the Union", "the United Nations General Debates", "German plays")
# File, the number of the model, address, and size.
PICTURES = [
    ("explorer-start", 0, "/", WIDE),
    ("explorer", 0, "/word/transit", (1100, 1180)),
    ("compare", 0, "/compare?words=peace,war,security", (1100, 820)),
    ("phone-start", 0, "/", PHONE),
    ("phone-word", 0, "/word/transit", PHONE),
    ("gallery-un", 1, "/", WIDE),
    ("gallery-plays", 2, "/", WIDE),
]


def main() -> None:
    """Serve each model on this machine and take its pictures, light and dark."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        for number, path in enumerate(sys.argv[1:]):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            model = dw.Model.open(path)
            app = make_app(model, model.open_corpus(), title=TITLES[number])
            server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
            thread = threading.Thread(target=server.run)
            thread.start()
            while not server.started:
                time.sleep(0.05)
            for name, of, address, size in PICTURES:
                if of == number:
                    take(browser, f"http://127.0.0.1:{port}{address}", name, size)
            server.should_exit = True
            thread.join()
        browser.close()


def take(browser: Browser, address: str, name: str, size: tuple[int, int]) -> None:
    """Write ``name.png`` and ``name-dark.png``, a phone's with twice as many pixels."""
    for scheme, suffix in (("light", ""), ("dark", "-dark")):
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
            device_scale_factor=2 if size == PHONE else 1,
        )
        page.goto(address, wait_until="networkidle")
        page.wait_for_timeout(1500)
        page.screenshot(path=HERE / f"{name}{suffix}.png")
        page.close()


if __name__ == "__main__":
    main()
