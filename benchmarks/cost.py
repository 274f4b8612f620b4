"""Is what `driftword plan` says what a corpus takes, and does it grow with the text?

    python benchmarks/cost.py --words 1e7,1e8,1e9 --gpus 1
    python benchmarks/cost.py --words 1e7 --significance 1e7 --core-speed 0.6

Makes synthetic text (documents of 500 words, as frequent as Zipf's law has it, 100 years, 100,000 words), prepares it,
fits two passes, of which the second is dynamic, and tests all words where the text has at most ``--significance``
words. Every stage runs in a process of its own, with kernels compiled and Python started before its clock; memory is
the peak of that process. The plan is made from the numbers of words, of the vocabulary and of slices alone. The
exponents say how each stage grows from one size to the next: 1 is in proportion.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from machine import describe

VOCABULARY, SLICES, PER_DOCUMENT, PASSES = 100_000, 100, 500, 2
_FILE = 40_000  # documents
_STAGES = {
    "prepare": ("prepare",),
    "fit": ("fit: text", "fit: prior", "fit: exchanges", "fit: scores", "fit: start and model"),
    "significance": ("significance",),
}


def write_text(folder: Path, words: float, seed: int = 0) -> None:
    """Write CSV files of dated documents; every word has six letters, so that this is quick."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)
    ranks = np.arange(VOCABULARY)
    spelled = np.full((VOCABULARY, 7), ord(" "), dtype=np.uint8)
    scattered = ranks * 48_271 % 26**6  # no two alike, since these have no factor in common
    for place in range(6):
        spelled[:, place] = letters[scattered // 26**place % 26]
    share = np.cumsum(1 / (ranks + 2.7))
    share /= share[-1]
    documents = int(words / PER_DOCUMENT)
    for number, first in enumerate(range(0, documents, _FILE)):
        n = min(_FILE, documents - first)
        ids = np.searchsorted(share, rng.random((n, PER_DOCUMENT)), side="right")
        rows = np.full((n, 11 + PER_DOCUMENT * 7 + 1), ord("\n"), dtype=np.uint8)
        years = rng.integers(1900, 1900 + SLICES, n)
        for i, power in enumerate((1000, 100, 10, 1)):
            rows[:, i] = ord("0") + years // power % 10
        rows[:, 4:11] = np.frombuffer(b"-01-01,", dtype=np.uint8)
        rows[:, 11:-1] = spelled[ids].reshape(n, -1)
        with (folder / f"{number:05}.csv").open("wb") as file:
            file.write(b"date,text\n")
            rows.tofile(file)


def prepare(source: str, out: str) -> None:
    """Prepare a folder of CSV files."""
    import driftword as dw

    dw.prepare(source, text="text", time="date", vocabulary=VOCABULARY, out=out, overwrite=True, show_progress=False)


def fit(corpus: str, out: str, gpus: int) -> None:
    """Fit two passes."""
    import driftword as dw

    engine = "torch" if gpus else "cpu"
    dw.fit(corpus, dw.Spec(), passes=PASSES, engine=engine, out=out, overwrite=True, show_progress=False)


def significance(model: str) -> None:
    """Test all words."""
    import driftword as dw

    dw.significance(model, seed=int(time.time()), show_progress=False)


def run_stage(stage: str, folder: Path, gpus: int) -> None:
    """Do one stage in this process, after a small one that compiles kernels; print what it took as JSON."""
    tasks = {
        "prepare": lambda at: prepare(str(at / "text"), str(at / "text.corpus")),
        "fit": lambda at: fit(str(at / "text.corpus"), str(at / "text.model"), gpus),
        "significance": lambda at: significance(str(at / "text.model")),
    }
    tasks[stage](folder.parent / "small")
    begin = time.perf_counter()
    tasks[stage](folder)
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}))


def measure(stage: str, folder: Path, gpus: int) -> dict[str, float]:
    """Do one stage in a process of its own."""
    command = [sys.executable, __file__, "--stage", stage, "--folder", str(folder), "--gpus", str(gpus)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure every size, and print each stage beside its plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", default="1e7,1e8")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--core-speed", type=float, default=1.0)
    parser.add_argument("--significance", type=float, default=1e8, help="the largest text whose words are tested")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that random words cannot be predicted
    if options.stage:
        run_stage(options.stage, options.folder, options.gpus)
        return
    import driftword as dw

    print(describe(), end="\n\n")
    print(
        "| words | stage | seconds | planned | of plan | exponent | GB | planned |\n|---|---|---|---|---|---|---|---|"
    )
    sizes = [float(n) for n in options.words.split(",")]
    before: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        small = Path(place, "small")
        write_text_and_fit(small, options.gpus)
        for words in sizes:
            folder = Path(place, f"{words:.0e}")
            folder.mkdir()
            write_text(folder / "text", words)
            planned = dw.plan(
                tokens=words, vocabulary=VOCABULARY, slices=SLICES, passes=PASSES, gpus=options.gpus,
                core_speed=options.core_speed,
            )  # fmt: skip
            for stage, parts in _STAGES.items():
                if stage == "significance" and words > options.significance:
                    continue
                took = measure(stage, folder, options.gpus)
                rows = planned.filter(planned["stage"].is_in(parts))
                seconds, memory = float(rows["seconds"].sum()), float(rows["memory_gb"].max())  # type: ignore[arg-type]
                exponent = ""
                if stage in before:
                    size, earlier = before[stage]
                    exponent = f"{math.log(took['seconds'] / earlier) / math.log(words / size):.2f}"
                before[stage] = words, took["seconds"]
                times = f"{took['seconds']:.1f} | {seconds:.1f} | {took['seconds'] / seconds:.2f}"
                print(
                    f"| {words:,.0f} | {stage} | {times} | {exponent} | {took['gb']:.1f} | {memory:.1f} |", flush=True
                )
            for left in ("text", "text.corpus"):
                subprocess.run(["rm", "-rf", str(folder / left)], check=True)


def write_text_and_fit(folder: Path, gpus: int) -> None:
    """Make the small text on which every process compiles its kernels."""
    folder.mkdir()
    write_text(folder / "text", 1e6)
    prepare(str(folder / "text"), str(folder / "text.corpus"))
    fit(str(folder / "text.corpus"), str(folder / "text.model"), gpus)


if __name__ == "__main__":
    main()
