"""Replaced: a model and its corpus change under a reader who has them open.

Every answer is wholly of one generation, or a refusal in a sentence; no crash, no 500, no path of the server.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any, Final

from torture.arena import Arena, Part
from torture.corpora import FIT, PREPARE, WORD, must
from torture.explorer import Explorer, leak
from torture.folders import reset
from torture.processes import wait_until
from torture.verdicts import DETECTED, HARMLESS, WRONG, Verdict

WAYS: Final = ("overwrite", "mv", "copy in place", "remove", "truncate")
PAGES: Final = (
    "/", f"/word/{WORD}", f"/word/{WORD}.json", f"/word/{WORD}/passages.json", f"/word/{WORD}/passages.json?n=7",
    f"/word/{WORD}/neighbors.json?at=1993", "/text/3.json", "/text/11.json", "/slice/1992", "/index.json",
)  # fmt: skip

#: A reader in Python: opens both, says so, and asks until it is told to stop. Each answer is one line of JSON.
READER: Final = """
import hashlib, json, os, sys, time, traceback
import driftword as dw
model, corpus = dw.Model.open(sys.argv[1]), dw.Corpus.open(sys.argv[2])
word, stop = sys.argv[3], sys.argv[4]
questions = {
    "neighbors": lambda: dw.neighbors(model, word).to_dicts(),
    "drift": lambda: dw.drift(model, n=20).to_dicts(),
    "trajectory": lambda: dw.trajectory(model, word).to_dicts(),
    "vector": lambda: [model[word, 1993].tolist(), model[word, 1991].tolist()],
    "passages": lambda: corpus.passages(word, n=20).to_dicts(),
    "chunks": lambda: [chunk.tolist() for chunk in corpus.chunks("test")],
    "evaluate": lambda: dw.evaluate(model, corpus=corpus, engine="cpu", threads=1).to_dicts(),
}
def ask(name):
    try:
        answer = hashlib.sha256(repr(questions[name]()).encode()).hexdigest()
        return {"question": name, "answer": answer}
    except dw.DriftwordError as error:
        return {"question": name, "refused": str(error)}
    except Exception:
        return {"question": name, "error": traceback.format_exc().strip().splitlines()[-1]}
warm = sys.argv[5] == "warm"
if warm:
    for name in questions:
        print(json.dumps(ask(name)), flush=True)
print(json.dumps({"question": "ready"}), flush=True)
while True:
    last = os.path.exists(stop)
    for name in questions:
        print(json.dumps(ask(name)), flush=True)
    if last:
        break
    time.sleep(0.01)
"""


class Replaced(Part):
    """Stores that change under a reader."""

    name = "replaced"
    default = 60

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self.folder = arena.folder / "replaced"
        self._answers: dict[str, dict[str, set[str]]] = {}
        self._pages: dict[str, set[bytes]] = {}

    def case(self, number: int, rng: random.Random) -> Verdict:
        """Replace the stores in one way, under a reader in Python or under an explorer."""
        way, size = WAYS[number % len(WAYS)], rng.choice(("small", "large", "large"))
        if number // len(WAYS) % 2:
            return self._under_explorer(way, rng)
        return self._under_python(way, size, rng)

    def _under_python(self, way: str, size: str, rng: random.Random) -> Verdict:
        known = self._known_answers(size)
        attack = f"Python, {way}"
        folder = self._generation(size, 1)
        running = self._start_reader(folder, rng.choice(("warm", "cold")))
        if not wait_until(lambda: "ready" in _text(running.stdout) or running.ended.is_set(), 60):
            running.kill()
            return Verdict(attack, WRONG, "the reader never opened the stores")
        self._replace(way, size, folder, rng)
        (folder / "stop").touch()
        running.ended.wait(60)
        lines = [json.loads(line) for line in _text(running.stdout).splitlines()]
        outcome = running.wait(1)
        for line in lines:
            if "error" in line:
                return Verdict(attack, WRONG, f"{size}: {line['question']}: {line['error']}")
            if "answer" in line and line["answer"] not in known[line["question"]]:
                return Verdict(attack, WRONG, f"{size}: {line['question']}: an answer of neither generation")
        if fault := outcome.fault():
            return Verdict(attack, WRONG, f"{size}: the reader {fault}")
        return Verdict(attack, DETECTED if any("refused" in line for line in lines) else HARMLESS)

    def _under_explorer(self, way: str, rng: random.Random) -> Verdict:
        known = self._known_pages()
        attack = f"explorer, {way}"
        folder = self._generation("large", 1)
        explorer = Explorer(self.arena, folder / "model", folder / "corpus", folder)
        refused = False
        try:
            for page in rng.sample(PAGES, rng.randrange(4)):
                explorer.get(page)
            self._replace(way, "large", folder, rng)
            for page in rng.sample(PAGES, len(PAGES)) * 2:
                response = explorer.get(page)
                if not explorer.alive or response.status in (0, 500):
                    ended = "" if explorer.alive else f"; the server {explorer.running.wait(1).fault()}"
                    return Verdict(attack, WRONG, f"{page}: status {response.status}{ended}")
                if leaked := leak(response, self.arena.folder):
                    return Verdict(attack, WRONG, f"{page}: status {response.status} shows {leaked}")
                if response.status == 200 and page in known and response.body not in known[page]:
                    return Verdict(attack, WRONG, f"{page}: a page of neither generation")
                refused |= response.status == 503
        finally:
            explorer.close()
        return Verdict(attack, DETECTED if refused else HARMLESS)

    def _generation(self, size: str, number: int) -> Path:
        """Put a model and its corpus into the folder."""
        folder = reset(self.folder)
        shutil.copytree(self.arena.corpora.model(f"{size}-{number}"), folder / "model")
        shutil.copytree(self.arena.corpora.corpus(f"{size}-{number}"), folder / "corpus")
        return folder

    def _replace(self, way: str, size: str, folder: Path, rng: random.Random) -> None:
        corpora = self.arena.corpora
        stores = [("model", corpora.model(f"{size}-2")), ("corpus", corpora.corpus(f"{size}-2"))]
        if way == "overwrite":
            prepare = ["prepare", corpora.source(f"{size}-2"), "--out", "corpus", *PREPARE, "--overwrite"]
            fit = ["fit", corpora.corpus(f"{size}-2"), "--out", "model", *FIT, "--seed", "2", "--overwrite"]
            fit += ["--dim", "16", "--passes", "3"] if size == "large" else []
            must(self.arena.launcher, prepare, folder)
            must(self.arena.launcher, fit, folder)
            return
        for name, new in rng.sample(stores, rng.choice((1, 2, 2))):
            store = folder / name
            if way == "mv":
                shutil.copytree(new, folder / f"new-{name}")
                store.rename(folder / f"old-{name}")
                (folder / f"new-{name}").rename(store)
            elif way == "copy in place":
                for file in new.iterdir():
                    shutil.copyfile(file, store / file.name)
            elif way == "remove":
                shutil.rmtree(store)
            else:
                for file in rng.sample(sorted(store.iterdir()), 3):
                    os.truncate(file, rng.randrange(1 + file.stat().st_size))
            time.sleep(rng.uniform(0, 0.2))

    def _start_reader(self, folder: Path, state: str) -> Any:
        argv = [folder / "model", folder / "corpus", WORD, folder / "stop", state]
        return self.arena.launcher.start(argv, folder, script=READER)

    def _known_answers(self, size: str) -> dict[str, set[str]]:
        """Return the answers of both generations, undisturbed."""
        if size not in self._answers:
            known: dict[str, set[str]] = {}
            for number in (1, 2):
                folder = self._generation(size, number)
                (folder / "stop").touch()
                outcome = self._start_reader(folder, "cold").wait(120)
                lines = [json.loads(line) for line in outcome.stdout.splitlines()]
                if outcome.status != 0 or not all("answer" in line for line in lines[1:]):
                    raise SystemExit(f"An undisturbed reader failed: {outcome}")
                for line in lines[1:]:
                    known.setdefault(line["question"], set()).add(line["answer"])
            self._answers[size] = known
        return self._answers[size]

    def _known_pages(self) -> dict[str, set[bytes]]:
        """Return the pages of both generations, undisturbed; those that differ from run to run are left out."""
        if not self._pages:
            for number in (1, 2):
                folder = self._generation("large", number)
                explorer = Explorer(self.arena, folder / "model", folder / "corpus", folder)
                for page in PAGES:
                    self._pages.setdefault(page, set()).add(explorer.get(page).body)
                explorer.close()
            folder = self._generation("large", 1)
            explorer = Explorer(self.arena, folder / "model", folder / "corpus", folder)
            self._pages = {page: known for page, known in self._pages.items() if explorer.get(page).body in known}
            explorer.close()
        return self._pages


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
