"""How fast and how small is `prepare`?

Prepares the UN General Debates without phrases, with phrases, and four copies of them,
each in a process of its own. Compares with the pipeline of most research code: Python's
`re`, a `Counter` and lists of ids. Run with ``make bench``.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from machine import DATA, describe

SOURCE = DATA / "un_general_debates.parquet"


def plain_python(out: Path) -> int:
    """Tokenise, count and encode as a straightforward script would; return how many tokens were read."""
    word = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
    texts = pl.read_parquet(SOURCE, columns=["text"])["text"].to_list()
    documents = [word.findall(text.lower()) for text in texts]
    counts = Counter(token for document in documents for token in document)
    ids = {token: i for i, (token, _) in enumerate(counts.most_common(25_000))}
    encoded = np.array([ids[token] for document in documents for token in document if token in ids], dtype=np.uint16)
    np.save(out / "ids.npy", encoded)
    return sum(counts.values())


def driftword(out: Path, *, phrases: bool, copies: int) -> int:
    """Prepare several copies of the text; return how many tokens were read."""
    import driftword as dw

    source = SOURCE
    if copies > 1:
        source = out / "copies"
        source.mkdir()
        for i in range(copies):
            (source / f"{i}.parquet").symlink_to(SOURCE.absolute())
    corpus = dw.prepare(source, text="text", time="year", out=out / "un.corpus", phrases=phrases, show_progress=False)
    return corpus.report.tokens_read


RUNS: dict[str, Callable[[Path], int]] = {
    "re + Counter": plain_python,
    "driftword, no phrases": lambda out: driftword(out, phrases=False, copies=1),
    "driftword, phrases": lambda out: driftword(out, phrases=True, copies=1),
    "driftword, phrases, 4 copies": lambda out: driftword(out, phrases=True, copies=4),
}


def run_one(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        tokens = RUNS[name](Path(folder))
        seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"tokens": tokens, "seconds": seconds, "peak": peak}))


def main() -> None:
    if len(sys.argv) == 2:
        run_one(sys.argv[1])
        return
    print(describe(), end="\n\n")
    if not SOURCE.exists():
        print(f"skipped: {SOURCE} does not exist; set DRIFTWORD_DATA to the folder that holds it")
        return
    header = f"{'tokens':>13}{'seconds':>9}{'M tokens/s':>12}{'peak GiB':>10}{'speed ratio':>13}"
    print(f"{'UN General Debates 1946-2022':30}{header}")
    base = 0.0
    for name in RUNS:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
        row = json.loads(done.stdout)
        rate = row["tokens"] / row["seconds"] / 1e6
        base = base or rate
        cells = f"{row['tokens']:>13,}{row['seconds']:>9.1f}{rate:>12.2f}{row['peak']:>10.2f}{rate / base:>12.1f}x"
        print(f"{name:30}{cells}", flush=True)


if __name__ == "__main__":
    main()
