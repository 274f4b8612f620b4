"""How long until the dynamic model is better than any static one, and how much memory does a fit take?

    python benchmarks/resources.py un.corpus

Fits the static and the dynamic model with the defaults, each in a process of its own.
Prints the peak of its memory beside what is allowed (2.2 times the size of rho, and a
gigabyte), and the seconds, validation included, after which the dynamic model passed
the best validation score that the static model ever reached.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path

import numpy as np

from machine import describe


def fit(corpus: str, model: str, folder: str) -> None:
    """Fit in this process, and print the history and the peak of memory as JSON."""
    import driftword as dw

    begin = time.perf_counter()
    made = dw.fit(dw.Corpus.open(corpus), dw.Spec(model=model), out=Path(folder) / model)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = int(np.prod(made.rho.shape)) * 4
    print(json.dumps({"history": made.history, "peak": peak, "rho": size, "seconds": seconds}))


def main() -> None:
    if len(sys.argv) == 4:
        fit(*sys.argv[1:])
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    found = {}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for model in ("static", "dynamic"):
            done = subprocess.run(
                [sys.executable, __file__, sys.argv[1], model, folder], capture_output=True, text=True, check=True
            )
            found[model] = json.loads(done.stdout)
    for model, facts in found.items():
        allowed = 2.2 * facts["rho"] + 1e9
        best = max(entry["L"] for entry in facts["history"])
        print(
            f"{model:8} {len(facts['history'])} passes, {facts['seconds']:.0f} s, best validation L {best:.4f}; "
            f"peak {facts['peak'] / 1e9:.2f} GB, allowed {allowed / 1e9:.2f} GB (rho {facts['rho'] / 1e9:.2f} GB)"
        )
    goal = max(entry["L"] for entry in found["static"]["history"])
    history = found["dynamic"]["history"]
    for entry, seconds in zip(history, accumulate(e["seconds"] + e["scoring_seconds"] for e in history), strict=True):
        if entry["L"] > goal:
            print(f"dynamic passes the best static L after {seconds:.0f} s, in pass {entry['pass']}: {entry['L']:.4f}")
            break
    else:
        print("dynamic never passes the best static L")


if __name__ == "__main__":
    main()
