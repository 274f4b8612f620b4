"""Storing, opening and replacing where the system can do no more than Windows; see `as_on_windows`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import as_on_windows, sys
from pathlib import Path
import numpy as np
import driftword as dw
from driftword.basics import process, system_calls
from driftword.storage import store
from driftword.storage.locks import lock_path, writer_lock

assert not system_calls.MOVES_OPEN_FILES and not system_calls.READS_AT_POSITION and system_calls.resource is None
assert process.available_cores() > 0 and process.available_memory() > 0
place, words, random = Path(sys.argv[1]), [f"word{i}" for i in range(60)], np.random.default_rng(0)
texts = [(" ".join(random.choice(words, 40)), 1850 + i % 10) for i in range(60)]
spec = dw.Spec(dim=4, context=2)

def refused(call, sentence):
    try:
        call()
    except dw.DriftwordError as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"{sentence} was not said")

# What is small is read at once, and closed.
corpus = dw.prepare(texts, out=place / "c", slices="2y")
dw.prepare(texts, out=place / "c", slices="2y", overwrite=True)

# What is large stays open: of this size, everything.
store._SMALL = 0
corpus = dw.Corpus.open(place / "c")
model = dw.fit(corpus, spec, passes=2, engine="reference", out=place / "m")
assert (dw.Model.open(place / "m").rho == model.rho).all()
assert corpus.passages("word3", n=2).height == 2
refused(lambda: dw.prepare(texts, out=place / "c", overwrite=True), "permission was denied, or a program has it open")
corpus.check_current()
dw.Corpus.open(place / "c")._store.verify()

# A test is kept in the model that it is about, which is open.
found = dw.significance(model, permutations=20)
assert dw.Model.open(place / "m").significance.table.height == found.height
dw.Model.open(place / "m")._store.verify()

# One writer at a time.
with writer_lock(place / "d"):
    from concurrent.futures import ThreadPoolExecutor
    other = ThreadPoolExecutor(1).submit(lambda: writer_lock(place / "d").__enter__())
    refused(other.result, "is being written by process")
assert not lock_path(place / "d").exists()
assert sorted(path.name for path in place.iterdir()) == ["c", "m", "m.log.jsonl"]
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what is open is looked up in /proc")
def test_prepare_fit_and_open_where_the_system_can_do_less(tmp_path: Path) -> None:
    path = str(Path(__file__).parent)
    code = f"import sys; sys.path.insert(0, {path!r})\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "done\n", done.stderr
