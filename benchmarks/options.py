"""Which options predict held-out text best? Fits every combination of those given.

    python benchmarks/options.py sotu.corpus model=static,dynamic prior_precision=0.1,1,3 passes=10

Each line is one fit: its options, the best validation score with L_pos in brackets,
the pass that reached it, and the score after every pass. `passes`, `seed`, `threads`,
`patience`, `reproducible`, `engine` and `device` are options of `fit`, all others are options of `Spec`.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from typing import Any

import driftword as dw
from machine import describe

FIT_OPTIONS = ("passes", "seed", "threads", "patience", "reproducible", "engine", "device")


def parse_value(text: str) -> Any:
    """Read a number or a truth value; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_arguments(arguments: list[str]) -> dict[str, list[Any]]:
    """Read arguments such as ``passes=5,10``: the values of each name."""
    pairs = (argument.partition("=") for argument in arguments)
    return {name: [parse_value(value) for value in values.split(",")] for name, _, values in pairs}


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    corpus = dw.Corpus.open(sys.argv[1])
    given = parse_arguments(sys.argv[2:])
    for combination in itertools.product(*given.values()):
        options = dict(zip(given, combination, strict=True))
        begin = time.perf_counter()
        spec = dw.Spec(**{name: v for name, v in options.items() if name not in FIT_OPTIONS})
        model = dw.fit(corpus, spec, **{name: v for name, v in options.items() if name in FIT_OPTIONS})
        best = next(entry for entry in model.history if entry["pass"] == model.best_pass)
        scores = " ".join(f"{entry['L']:.3f}" for entry in model.history)
        shown = " ".join(f"{name}={v}" for name, v in options.items())
        print(
            f"{shown:70} L {best['L']:.4f} ({best['L_pos']:.4f}) pass {best['pass']}/{len(model.history)}"
            f"   {scores}   {time.perf_counter() - begin:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
