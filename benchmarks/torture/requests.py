"""Requests: an explorer is sent random and hostile requests, while another reader reads on.

Nothing may end in a 5xx, without an answer, or with a path of the server; memory stays within its bound, and the other
reader is served.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from torture.arena import Arena, Part, load
from torture.corpora import SYLLABLES, WORD, YEARS
from torture.explorer import Explorer, Response, leak
from torture.verdicts import DETECTED, HARMLESS, WRONG, Verdict

GENERATOR: Final = Path(__file__).parents[2] / "tests" / "web" / "hostile_requests.py"
ROUND: Final = 500  # cases that share one seed of the generator
GROWTH: Final = 512  # MB that the server may grow by
READER: Final = 1.0  # seconds that 95 of 100 pages of another reader may take
HALF_OPEN: Final = 300  # connections that are kept open, with half a request each


class Requests(Part):
    """Random and hostile requests: four of five are proper HTTP."""

    name = "requests"
    default = 25_000

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.explorer = self._start()
        self.begin_memory = self.peak_memory = self.explorer.memory()
        self.times: list[float] = []
        self.refused = 0
        self._open: list[socket.socket] = []
        self._rounds: dict[str, tuple[int, list[Any]]] = {}
        self._stop = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Send one request, or hold half of one."""
        if number % 200 == 0:
            self.peak_memory = max(self.peak_memory, self.explorer.memory())
        if number % 5 < 4:
            method, target, headers = self._take("random", number // 5 * 4 + number % 5)
            headers = {name: value for name, value in headers.items() if name.lower() != "host"}
            response = self.explorer.ask(method, target, headers)
            return self._judge("random", f"{method} {target[:150]!r} {headers}", response, must_answer=True)
        data = self._take("hostile", number // 5)
        if rng.random() < 0.3:
            self._hold(data[: max(1, len(data) // 2)])
            return self._judge("half-open", repr(data[:60]), None, must_answer=False)
        if rng.random() < 0.05:
            return self._judge("slow", repr(data[:60]), self._send_slowly(data), must_answer=False)
        response = self.explorer.send(data, timeout=0.5)  # most are never answered
        return self._judge("hostile", repr(data[:100]), response, must_answer=False)

    def conclusions(self) -> list[Verdict]:
        """Judge the memory of the server, and how the other reader fared."""
        self._stop.set()
        self._reader.join(30)
        self.peak_memory = max(self.peak_memory, self.explorer.memory())
        verdicts = []
        if self.peak_memory - self.begin_memory > GROWTH:
            seen = f"the server grew from {self.begin_memory:.0f} to {self.peak_memory:.0f} MB"
            verdicts.append(Verdict("memory", WRONG, seen))
        if self.times and self._p95() > READER:
            verdicts.append(Verdict("other reader", WRONG, f"p95 {self._p95():.2f} s"))
        if self.refused:
            verdicts.append(Verdict("other reader", WRONG, f"{self.refused} pages were not served"))
        return verdicts

    def notes(self) -> list[str]:
        """Say what memory and the other reader's pages were."""
        pages = (
            f"{len(self.times)} pages, p95 {self._p95():.2f} s, slowest {max(self.times):.2f} s" if self.times else ""
        )
        return [
            f"memory {self.begin_memory:.0f} MB, at most {self.peak_memory:.0f} MB; another reader: {pages or 'none'}"
        ]

    def close(self) -> None:
        """Stop the server and the other reader."""
        self._stop.set()
        self._reader.join(30)
        for connection in self._open:
            connection.close()
        self.explorer.close()

    def _start(self) -> Explorer:
        corpora = self.arena.corpora
        return Explorer(self.arena, corpora.model("large-1"), corpora.corpus("large-1"), self.arena.folder)

    def _judge(self, attack: str, sent: str, response: Response | None, *, must_answer: bool) -> Verdict:
        if not self.explorer.alive:
            outcome = self.explorer.running.wait(1)
            self.explorer = self._start()
            return Verdict(attack, WRONG, f"{sent}: the server ended: {outcome.fault() or outcome.sentence}")
        if response is None:
            return Verdict(attack, HARMLESS)
        if response.status >= 500:
            return Verdict(attack, WRONG, f"{sent}: status {response.status} after {response.seconds:.1f} s")
        if response.status == 0 and must_answer:
            return Verdict(attack, WRONG, f"{sent}: no answer within {response.seconds:.1f} s")
        if leaked := leak(response, self.arena.folder):
            return Verdict(attack, WRONG, f"{sent}: status {response.status} shows {leaked}")
        return Verdict(attack, DETECTED if response.status >= 400 else HARMLESS)

    def _hold(self, data: bytes) -> None:
        """Keep a connection open with half a request in it."""
        with contextlib.suppress(OSError):
            connection = self.explorer.connect(5)
            self._open.append(connection)
            connection.sendall(data)
        if len(self._open) > HALF_OPEN:
            self._open.pop(0).close()

    def _send_slowly(self, data: bytes) -> Response:
        begin = time.monotonic()
        with contextlib.suppress(OSError), self.explorer.connect(2) as connection:
            for byte in data[:40]:
                connection.sendall(bytes([byte]))
                time.sleep(0.01)
        return Response(0, "", b"", time.monotonic() - begin)

    def _read(self) -> None:
        """Read pages, as a reader does who knows nothing of the attack."""
        picks = random.Random(0)
        while not self._stop.is_set():
            word = "".join(picks.choices(SYLLABLES, k=picks.choice((2, 3))))
            response = self.explorer.get(f"/word/{picks.choice((word, WORD))}")
            if response.status in (200, 404):
                self.times.append(response.seconds)
            elif self.explorer.alive and not self._stop.is_set():
                self.refused += 1
                self.times.append(response.seconds)
            self._stop.wait(0.05)

    def _p95(self) -> float:
        return sorted(self.times)[int(0.95 * (len(self.times) - 1))]

    def _take(self, kind: str, position: int) -> Any:
        """Return the request at a position of the endless row of random or hostile ones."""
        number, index = divmod(position, ROUND)
        if self._rounds.get(kind, (-1, []))[0] != number:
            seed = 1000 * self.arena.seed + number
            self._rounds[kind] = number, list(itertools.islice(_requests(kind, seed), ROUND))
        return self._rounds[kind][1][index]


def _requests(kind: str, seed: int) -> Iterator[Any]:
    """Return random requests or hostile bytes, an endless row of each."""
    generator = load(GENERATOR)
    if kind == "hostile":
        return iter(generator.raw_requests(seed))
    words = [WORD, *("".join(pair) for pair in itertools.product(SYLLABLES, repeat=2))]
    return iter(generator.requests(seed, words, [str(year) for year in YEARS]))
