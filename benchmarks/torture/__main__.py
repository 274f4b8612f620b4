"""Run the attacks and print what became of them; the exit status is 1 if any went wrong."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections.abc import Iterator

from machine import describe
from torture import __doc__ as about
from torture.arena import Arena, Part
from torture.corruption import Corruption
from torture.disk import Disk
from torture.faults import Faults
from torture.inputs import Inputs
from torture.kills import Kills
from torture.replaced import Replaced
from torture.requests import Requests
from torture.resealed import Resealed
from torture.verdicts import WRONG, ProgressBar, Tally
from torture.writers import Writers

PARTS: dict[str, type[Part]] = {
    part.name: part for part in (Kills, Corruption, Resealed, Inputs, Writers, Replaced, Disk, Faults, Requests)
}


def main() -> None:
    options = read_options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(describe("numba", "fastapi", "uvicorn"))
    print(f"seed      {options.seed}, scale {options.scale:g}", end="\n\n", flush=True)
    tally = Tally(options.seed)
    arena = Arena.open(options.seed)
    try:
        run(arena, tally, options)
    except KeyboardInterrupt:
        tally.note("interrupted: this is what was seen until then")
    finally:
        arena.close()
    print(tally.table())
    for line in tally.notes:
        print(f"note: {line}")
    for line in tally.wrong:
        print(f"WRONG {line}")
    sys.exit(1 if tally.wrong else 0)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("torture", description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--only", default=",".join(PARTS), help=f"parts to run, separated by commas: {', '.join(PARTS)}"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases to try (default 1)")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes, shared out over the parts")
    parser.add_argument("--seed", type=int, default=0, help="seed of all cases (default 0)")
    parser.add_argument("--case", type=int, help="try this one case of a part again")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only {min(unknown)} is not a part; choose from {', '.join(PARTS)}")
    return options


def run(arena: Arena, tally: Tally, options: argparse.Namespace) -> None:
    """Run the chosen parts, each within its share of the time that is left."""
    names = options.only.split(",")
    end = time.monotonic() + options.minutes * 60 if options.minutes else None
    for i, name in enumerate(names):
        now = time.monotonic()
        until = None if end is None else now + max(0.0, end - now) / (len(names) - i)
        run_part(PARTS[name](arena), tally, options, until)


def run_part(part: Part, tally: Tally, options: argparse.Namespace, until: float | None) -> None:
    cases: Iterator[int] | range = range(max(1, round(part.default * options.scale)))
    if options.case is not None:
        cases = range(options.case, options.case + 1)
    bar, done, wrong = ProgressBar(part.name, len(cases)), 0, 0
    try:
        for number in cases:
            if until is not None and time.monotonic() > until:
                tally.note(f"{part.name}: {done:,} of {len(cases):,} cases in the time given")
                break
            verdict = part.case(number, random.Random(f"{options.seed} {part.name} {number}"))
            tally.add(part.name, number, verdict)
            done, wrong = done + 1, wrong + (verdict.outcome == WRONG)
            bar.update(done, wrong)
        for verdict in part.conclusions():
            tally.add(part.name, done, verdict)
    finally:
        bar.update(done, wrong, last=True)
        for line in part.notes():
            tally.note(f"{part.name}: {line}")
        part.close()


if __name__ == "__main__":
    main()
