"""What became of each attack, and the table of all of them."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

#: An attack ends in one of these.
DETECTED: Final = "detected"  # refused in a sentence, with exit status 2
HARMLESS: Final = "harmless"  # the result is that of an undisturbed run
SURVIVED: Final = "survived"  # disturbed, and the next run put everything right
WRONG: Final = "WRONG"
SKIPPED: Final = "skipped"  # cannot be tried on this machine
OUTCOMES: Final = (DETECTED, HARMLESS, SURVIVED, WRONG)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one case: which attack it was, how it ended, and what was seen."""

    attack: str
    outcome: str
    seen: str = ""


@dataclass
class Tally:
    """The verdicts of all parts so far."""

    seed: int
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, part: str, case: int, verdict: Verdict) -> None:
        """Count a verdict; keep the line of a wrong one."""
        self.counts.setdefault(f"{part}: {verdict.attack}", Counter())[verdict.outcome] += 1
        if verdict.outcome == WRONG:
            again = f"--only {part} --seed {self.seed} --case {case}"
            self.wrong.append(f"{part}: {verdict.attack}: {verdict.seen}\n      again: {again}")
        elif verdict.outcome == SKIPPED:
            self.note(f"{part}: {verdict.attack} skipped: {verdict.seen}")

    def note(self, line: str) -> None:
        """Keep a line that is printed below the table, once."""
        if line not in self.notes:
            self.notes.append(line)

    def table(self) -> str:
        """Return the table, with a sum for each part and one for all."""
        width = max([len(name) for name in self.counts] + [20]) + 2
        head = f"{'attack':<{width}}{'tried':>8}" + "".join(f"{name:>10}" for name in OUTCOMES)
        lines = [head, "-" * len(head)]
        parts: dict[str, Counter[str]] = {}
        for name, counter in self.counts.items():
            lines.append(_row(name, counter, width))
            parts.setdefault(name.partition(":")[0], Counter()).update(counter)
        lines.append("-" * len(head))
        lines += [_row(f"all {part}", counter, width) for part, counter in parts.items()]
        lines.append(_row("all", sum(parts.values(), Counter()), width))
        return "\n".join(lines)


def _row(name: str, counter: Counter[str], width: int) -> str:
    tried = sum(counter[outcome] for outcome in OUTCOMES)
    return f"{name:<{width}}{tried:>8,}" + "".join(f"{counter[outcome] or '.':>10}" for outcome in OUTCOMES)


class ProgressBar:
    """One line that says how far a part is; without a terminal, a line at the end."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self.begin = self.shown = time.monotonic()
        self.live = sys.stderr.isatty()

    def update(self, done: int, wrong: int, *, last: bool = False) -> None:
        """Show that so many cases are done."""
        now = time.monotonic()
        if not last and (not self.live or now - self.shown < 0.2):
            return
        self.shown = now
        filled = round(30 * done / max(1, self.total))
        line = f"{self.name:<11}[{'#' * filled}{'.' * (30 - filled)}] {done:,}/{self.total:,}, {wrong} wrong"
        line += f", {now - self.begin:.0f} s"
        print(f"\r{line:<78}" if self.live else line, end="\n" if last else "", file=sys.stderr, flush=True)
