from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import driftword as dw

pytest.importorskip("resource")

#: Its data may grow by so many bytes and no more, as after ``ulimit -d``.
FIT = """
import json, resource, sys
from pathlib import Path
import driftword as dw
from driftword.engines.array_engine import ArrayEngine

path, free = sys.argv[1], int(sys.argv[2])
corpus, seen = dw.Corpus.open(path), []
read = ArrayEngine.read
ArrayEngine.read = lambda self, corpus, plan: seen.append(plan.piece) or read(self, corpus, plan)
if free:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    limit = int(status["VmData"].split()[0]) * 1024 + free
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
model = dw.fit(corpus, dw.Spec(model="static", dim=16), passes=2, engine="cpu", threads=1)
print(json.dumps({"L": model.history[-1]["L"], "words": model.history[-1]["words"], "pieces": seen}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are read from /proc")
def test_a_text_larger_than_the_memory_left_is_read_in_pieces(sotu: dw.Corpus) -> None:
    """A fit under a limit of memory reads each of its pieces once a pass, and is as good as one with all memory."""
    alone, limited = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", FIT, str(sotu.path), str(free)], check=True, capture_output=True, text=True,
                env=dict(os.environ),
            ).stdout
        )
        for free in (0, 300 << 20)
    )  # fmt: skip
    assert alone["pieces"] == [[0, 1]] * 2
    assert len(limited["pieces"]) >= 20
    of = limited["pieces"][0][1]
    assert limited["pieces"][:of] == [[piece, of] for piece in range(of)]
    assert limited["words"] == alone["words"]
    assert limited["L"] == pytest.approx(alone["L"], abs=0.01)
