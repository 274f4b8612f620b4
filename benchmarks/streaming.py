"""Does a text that does not fit into memory take longer to fit, and is the model as good?

    python benchmarks/streaming.py un.corpus [free=256,1024] [passes=3] [model=static] [seed=0]

Every fit runs in a process of its own: one with all memory, then others whose data may grow by so many megabytes and no
more (``ulimit -d``). *Pieces* is how often the text of a pass, as it would be in memory, is larger than what may be
there at once. Words a second are those of whole passes, reading included; L is that of the validation text.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import driftword as dw
from driftword.engines.array_engine import ArrayEngine
from machine import describe


def fit(folder: str, spec: dw.Spec, *, passes: int, seed: int, free: int | None) -> dict[str, float]:
    """Fit a model; `free` is how many megabytes more this process may take."""
    corpus = dw.Corpus.open(folder)
    dw.fit(corpus, spec, passes=1, engine="cpu", show_progress=False, seed=seed)  # compiles
    if free is not None:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData:"))
        limit = int(line.split()[1]) * 1024 + free * (1 << 20)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    pieces = corpus.expected_tokens() / ArrayEngine.capacity(None)  # type: ignore[arg-type]
    model = dw.fit(corpus, spec, passes=passes, engine="cpu", show_progress=False, seed=seed, patience=passes)
    seconds = sum(entry["seconds"] for entry in model.history)
    words = sum(entry["words"] for entry in model.history)
    return {"pieces": pieces, "rate": words / seconds, "L": model.history[-1]["L"]}


def main() -> None:
    options = dict(argument.split("=", 1) for argument in sys.argv[2:])
    spec = dw.Spec(model=options.get("model", "static"))
    passes, seed = int(options.get("passes", "3")), int(options.get("seed", "0"))
    if "child" in options:
        free = None if options["child"] == "all" else int(options["child"])
        print(json.dumps(fit(sys.argv[1], spec, passes=passes, seed=seed, free=free)))
        return
    print(describe(), end="\n\n")
    print("memory left      pieces   k words/s   of all memory       L")
    whole = 0.0
    for free in ("all", *options.get("free", "1024,256").split(",")):
        command = [sys.executable, __file__, *sys.argv[1:], f"child={free}"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        whole = whole or found["rate"]
        name = "all" if free == "all" else f"{free} MB"
        print(
            f"{name:15}{found['pieces']:8.1f}{found['rate'] / 1e3:12.0f}{found['rate'] / whole:16.2f}{found['L']:11.4f}"
        )


if __name__ == "__main__":
    main()
