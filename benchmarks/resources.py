"""How long until the dynamic model is better than any static one, and how much memory does a fit take?

    python benchmarks/resources.py un.corpus

Fits the static and the dynamic model with the defaults, each in a process of its own.
Prints its peak memory beside the limit that we set ourselves (2.2 times the size of rho,
plus a gigabyte), and how many seconds, validation included, the dynamic model took to
pass the best validation score of the static model.
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
    """Fit a model in this process; print its history and the peak memory as JSON."""
    import driftword as dw

    begin = time.perf_counter()
    fitted = dw.fit(dw.Corpus.open(corpus), dw.Spec(model=model), out=Path(folder) / model)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rho_bytes = int(np.prod(fitted.rho.shape)) * 4
    print(json.dumps({"history": fitted.history, "peak": peak, "rho": rho_bytes, "seconds": seconds}))


def main() -> None:
    if len(sys.argv) == 4:
        fit(*sys.argv[1:])
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(describe(), end="\n\n")
    results = {}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for model in ("static", "dynamic"):
            done = subprocess.run(
                [sys.executable, __file__, sys.argv[1], model, folder], capture_output=True, text=True, check=True
            )
            results[model] = json.loads(done.stdout)
    for model, facts in results.items():
        limit = 2.2 * facts["rho"] + 1e9
        best = max(entry["L"] for entry in facts["history"])
        print(
            f"{model:8} {len(facts['history'])} passes, {facts['seconds']:.0f} s, best validation L {best:.4f}; "
            f"peak {facts['peak'] / 1e9:.2f} GB, limit {limit / 1e9:.2f} GB (rho {facts['rho'] / 1e9:.2f} GB)"
        )
    goal = max(entry["L"] for entry in results["static"]["history"])
    history = results["dynamic"]["history"]
    for entry, seconds in zip(history, accumulate(e["seconds"] + e["scoring_seconds"] for e in history), strict=True):
        if entry["L"] > goal:
            print(f"dynamic passes the best static L after {seconds:.0f} s, in pass {entry['pass']}: {entry['L']:.4f}")
            break
    else:
        print("dynamic never passes the best static L")


if __name__ == "__main__":
    main()
