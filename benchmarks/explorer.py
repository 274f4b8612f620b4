"""How quickly does the explorer start and answer, alone and with fifty readers? Give a model directory.

    python benchmarks/explorer.py un.model

Starts `driftword explore` as a user would, on this machine's loopback alone. Counts the seconds to the
first start page; then one reader opens 200 pages of words drawn at random among the 5,000 most frequent,
one after another; then fifty readers at once do, each reading two to eight seconds between pages, for
forty seconds; then fifty that do not pause, for twenty. Prints medians, the slowest of twenty (p95), and the
memory of the server: its own, and what it has mapped of the model's and the corpus's files.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
import time
import urllib.request
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
    common = np.argsort(-np.asarray(model.counts).sum(axis=0))[:5000]
    words = [quote(model.words[v], safe="") for v in common]
    begin = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "driftword", "explore", sys.argv[1], "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split(" at ")[1].split(" ")[0].rstrip("/")
        listening = time.perf_counter() - begin
        ask(f"{address}/comparisons")
        answering = time.perf_counter() - begin
        ask(f"{address}/")
        print(f"started    listening after {listening:.2f} s, answering after {answering:.2f} s, "
              f"start page shown after {time.perf_counter() - begin:.2f} s")  # fmt: skip
        picks = random.Random(0)
        ask(f"{address}/word/{words[0]}")
        tell("one reader", [ask(f"{address}/word/{picks.choice(words)}") for _ in range(200)])
        tell("start page", [ask(f"{address}/") for _ in range(20)])
        last = quote(model.slices.labels[-1])
        tell("pointing at a slice", [ask(f"{address}/word/{word}/neighbors.json?at={last}") for word in words[:50]])
        tell("50 readers who read", crowd(address, words, readers=50, seconds=40, pause=(2, 8)))
        tell("50 without a pause", crowd(address, words, readers=50, seconds=20, pause=(0, 0)))
        status = Path(f"/proc/{server.pid}/status").read_text()
        own, mapped = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) / 1e6 for name in ("RssAnon", "RssFile"))
        size = sum(file.stat().st_size for file in Path(sys.argv[1]).iterdir()) / 1e9
        print(f"memory     {own:.2f} GB its own, {mapped:.2f} GB mapped from files; the model's files {size:.2f} GB")
    finally:
        server.terminate()
        server.wait(10)


def ask(address: str) -> float:
    """Return how long an address takes to answer; it must answer well."""
    begin = time.perf_counter()
    with urllib.request.urlopen(address, timeout=60) as answer:
        answer.read()
        assert answer.status == 200
    return time.perf_counter() - begin


def crowd(address: str, words: list[str], *, readers: int, seconds: float, pause: tuple[float, float]) -> list[float]:
    times: list[float] = []
    end = time.monotonic() + seconds

    def read(number: int) -> None:
        picks = random.Random(f"{number} {seconds}")  # other words than those that are kept already
        time.sleep(picks.uniform(0, pause[1]))
        while time.monotonic() < end:
            times.append(ask(f"{address}/word/{picks.choice(words)}"))
            time.sleep(picks.uniform(*pause))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def tell(name: str, times: list[float]) -> None:
    middle, late = np.median(times) * 1000, np.quantile(times, 0.95) * 1000
    slowest = max(times) * 1000
    print(f"{name:<20}{len(times):5} pages, median {middle:6.0f} ms, p95 {late:6.0f} ms, slowest {slowest:6.0f} ms")


if __name__ == "__main__":
    main()
