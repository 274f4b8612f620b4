"""How quickly does the explorer start and answer, alone and with fifty readers? Give a model directory.

    python benchmarks/explorer.py un.model

Starts `driftword explore` as a user would, reachable from this machine only. Measures the time to the first
start page. Then one reader opens 200 pages of words, one after another, drawn at random from the 5,000 most
frequent, points at slices, and waits for bands of uncertainty, which pages load after they are shown; then twenty and
fifty readers open pages at once for forty seconds, each spending two to eight seconds on a page; then fifty for twenty
seconds without a pause; then ten who read, while eight others ask heavy questions (figures for print, hundreds of
passages and neighbours) without a pause. Prints the median, the 95th percentile and the slowest time, what pages weigh
compressed, and the memory of the server: its own, and what it has mapped of the files of the model and the corpus.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import quote

import numpy as np

import driftword as dw
from machine import describe


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe("fastapi", "uvicorn"), end="\n\n")
    model = dw.Model.open(sys.argv[1])
    frequent = np.argsort(-np.asarray(model.counts).sum(axis=0))[:5000]
    words = [quote(model.words[v], safe="") for v in frequent]
    begin = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "driftword", "explore", sys.argv[1], "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        first_address = server.stdout.readline().split(" at ")[1].split(" ")[0]
        listening = time.perf_counter() - begin
        address, _, token = first_address.partition("/?token=")
        address = address.rstrip("/")
        get(f"{address}/comparisons?token={token}")
        answering = time.perf_counter() - begin
        get(f"{address}/")
        print(f"started    listening after {listening:.2f} s, answering after {answering:.2f} s, "
              f"start page shown after {time.perf_counter() - begin:.2f} s")  # fmt: skip
        picks = random.Random(0)
        get(f"{address}/word/{words[0]}")
        print_times("one reader", [get(f"{address}/word/{picks.choice(words)}") for _ in range(200)])
        print_times("start page", [get(f"{address}/") for _ in range(20)])
        weights = [weight(f"{address}/word/{word}") for word in words[:2000:100]]
        assets = re.findall(r'(?:href|src)="(/static/[^"]+)"', text_of(f"{address}/"))
        print(f"weight     a word's page {np.median(weights) / 1e3:.0f} kB (largest of {len(weights)} "
              f"{max(weights) / 1e3:.0f} kB), the start page {weight(f'{address}/') / 1e3:.0f} kB, "
              f"styles and scripts {sum(weight(address + asset) for asset in assets) / 1e3:.0f} kB")  # fmt: skip
        last = quote(model.slices.labels[-1])
        print_times(
            "pointing at a slice", [get(f"{address}/word/{word}/neighbors.json?at={last}") for word in words[:50]]
        )
        print_times("bands", [get(f"{address}/word/{word}/band.json") for word in words[300:320]])
        print_times("20 readers who read", crowd(address, words, readers=20, seconds=40, pause=(2, 8)))
        print_times("50 readers who read", crowd(address, words, readers=50, seconds=40, pause=(2, 8)))
        print_times("50 without a pause", crowd(address, words, readers=50, seconds=20, pause=(0, 0)))
        heavy = heavy_questions(words[:500], model.slices.labels)
        print_times("10 beside heavy ones", crowd(address, words, readers=10, seconds=40, pause=(0.5, 2), heavy=heavy))
        status = Path(f"/proc/{server.pid}/status").read_text()
        own, mapped = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) / 1e6 for name in ("RssAnon", "RssFile"))
        size = sum(file.stat().st_size for file in Path(sys.argv[1]).iterdir()) / 1e9
        print(f"memory     {own:.2f} GB its own, {mapped:.2f} GB mapped from files; the model's files {size:.2f} GB")
    finally:
        server.terminate()
        server.wait(10)


BROWSER = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))  # remembers the token


def get(address: str) -> float:
    """Return how long a request takes; it must succeed."""
    begin = time.perf_counter()
    with BROWSER.open(address, timeout=60) as response:
        response.read()
        assert response.status == 200
    return time.perf_counter() - begin


def weight(address: str) -> int:
    """Return how many bytes of an answer go through the network, compressed."""
    with BROWSER.open(urllib.request.Request(address, headers={"Accept-Encoding": "gzip"}), timeout=60) as response:
        return len(response.read())


def text_of(address: str) -> str:
    """Return a page."""
    with BROWSER.open(address, timeout=60) as response:
        return response.read().decode()


def heavy_questions(words: list[str], labels: Sequence[str]) -> Callable[[random.Random], str]:
    """Return a function that draws an address which takes long to compute."""
    many = "&".join(f"at={quote(label)}" for label in labels[:: max(1, len(labels) // 12)][:12])
    forms = (
        "/word/{word}/print/neighbors.png", "/word/{word}/print/map.svg", "/word/{word}/figure/trajectory.png",
        "/word/{word}/passages.json?n={n}", "/word/{word}?passages_n={n}", "/word/{word}?n={n}&" + many,
        "/print/drift.png?n={n}", "/?metric=farthest&n={n}",
    )  # fmt: skip
    return lambda picks: picks.choice(forms).format(word=picks.choice(words), n=picks.randint(100, 200))


def crowd(
    address: str, words: list[str], *, readers: int, seconds: float, pause: tuple[float, float],
    heavy: Callable[[random.Random], str] | None = None,
) -> list[float]:  # fmt: skip
    """Return the times of all requests of several readers at once, while eight others may ask heavy questions."""
    times: list[float] = []
    end = time.monotonic() + seconds

    def read(number: int) -> None:
        picks = random.Random(f"{number} {seconds}")  # not words whose pages are cached already
        time.sleep(picks.uniform(0, pause[1]))
        while time.monotonic() < end:
            times.append(get(f"{address}/word/{picks.choice(words)}"))
            time.sleep(picks.uniform(*pause))

    def ask_heavy(number: int) -> None:
        picks = random.Random(number)
        while heavy is not None and time.monotonic() < end:
            get(address + heavy(picks))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
    threads += [threading.Thread(target=ask_heavy, args=(number,)) for number in range(8 if heavy else 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def print_times(name: str, times: list[float]) -> None:
    median, p95, slowest = (1000 * np.quantile(times, share) for share in (0.5, 0.95, 1))
    print(f"{name:<20}{len(times):5} pages, median {median:6.0f} ms, p95 {p95:6.0f} ms, slowest {slowest:6.0f} ms")


if __name__ == "__main__":
    main()
