"""Runs every command in the current directory; a program of its own, so that modules are found as by `driftword`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final

from conftest import letters, make_encoder, run_here

#: What each command is asked; `demo` does what `prepare`, `fit` and `report` do, and `explore` starts a `Worker`.
ASKED: Final = {
    "prepare": "letters.jsonl -o letters.corpus --subsample none",
    "prepare --dask": "letters.jsonl -o dask.corpus --dask local",
    "fit": "letters.corpus -o letters.model --dim 8 --passes 2",
    "info": "letters.model",
    "passages": "letters.corpus ship -n 3",
    "extend": "letters.model later.jsonl -o later.model --corpus-out later.corpus",
    "evaluate": "letters.model",
    "card": "letters.model",
    "compare": "letters.corpus --dim 4 --passes 1",
    "benchmark": "letters.corpus --models static,ppmi --seeds 1 --dim 4 --passes 2",
    "gold": "letters.model gold.tsv",
    "prepare-gold": "semeval -o gold.corpus --periods 1810-1860,1960-2010",
    "neighbors": "letters.model ship",
    "drift": "letters.model --min-count 1 --skip 0",
    "trajectory": "letters.model ship",
    "frequency": "letters.model ship",
    "similarity": "letters.model ship wheat",
    "towards": "letters.model ship --low wheat --high court",
    "equivalents": "letters.model ship --at 1850 --to 1859",
    "analogy": "letters.model ship sailor barn --at 1855",
    "changes": "letters.model",
    "movers": "letters.model --at 1855",
    "plot": "letters.model ship -o ship.png",
    "export": "letters.model -o exported.bin",
    "significance": "letters.model --permutations 99",
    "power": "letters.model ship --simulations 5",
    "contrast": "letters.model",
    "describe": "letters.model ship",
    "evidence": "letters.model ship",
    "collocates": "letters.model ship",
    "concordance": "letters.corpus ship --sort right",
    "keywords": "letters.corpus --between 1850:1852,1857:1859",
    "trends": "letters.corpus ship",
    "encode": "letters.corpus ship --encoder encoder -n 9 --controls 1",
    "gold-uses": "uses --passes 2",
    "senses": "letters.model ship",
    "name-senses": "letters.model ship -n 2 1=vessel",
    "export-uses": "letters.model ship -o uses.csv",
    "score-senses": "letters.model ship judged.csv",
    "report": "letters.model -o letters.html",
    "plan": "letters.corpus",
    "run": "letters.jsonl -o every.thing --slices 5y --dim 8 --passes 2 --no-browser",
}
#: Commands that need groups, which these letters have not.
REFUSED: Final = {"contrast"}


def write_letters(folder: Path) -> None:
    """Write what the commands are asked about."""
    for name, decade in (("letters.jsonl", "185"), ("later.jsonl", "186")):
        rows = [json.dumps({"text": text, "date": date.replace("185", decade)}) for text, date in letters()]
        (folder / name).write_text("\n".join(rows))
    (folder / "gold.tsv").write_text("ship\t0.1\nwheat\t0.2\ncourt\t0.3\n")
    judged = [f"ship-{3 * d}-1\t{d % 2}" for d in range(20)]
    (folder / "judged.csv").write_text("\n".join(["identifier\tcluster", *judged]))
    make_encoder(folder / "encoder")
    (folder / "uses" / "data" / "ship").mkdir(parents=True)
    head = "lemma\tdate\tgrouping\tidentifier\tcontext\tindexes_target_token"
    uses = [f"ship\t18{50 + d}\t{d % 2}\t{d}\tthe ship sails\t4:8" for d in range(20)]
    (folder / "uses" / "data" / "ship" / "uses.csv").write_text("\n".join([head, *uses]))
    (folder / "uses" / "annotated_words.csv").write_text("word,change_graded\nship,0.5\n")
    for period in (1, 2):
        corpus = folder / "semeval" / f"corpus{period}" / "lemma"
        corpus.mkdir(parents=True)
        (corpus / "text.txt").write_text("\n".join(text for text, _ in letters(seed=period)))


def run_all(folder: Path) -> dict[str, str]:
    """Run all commands about what is in a folder; return what those said that did not end as they should."""
    there = {path.name: str(path) for path in folder.iterdir()}
    wrong = {}
    for name, text in ASKED.items():
        written = {part: str(folder / part) for part in text.split() if "." in part and not part.startswith("-")}
        done = run_here(name.split()[0], *((there | written).get(part, part) for part in text.split()))
        if done.returncode != (2 if name in REFUSED else 0):
            wrong[name] = f"{done.returncode}: {done.stderr}"
    return wrong


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    wrong = run_all(Path(sys.argv[1]))
    from driftword.web.worker import Worker

    worker = Worker(str(Path(sys.argv[1], "letters.model")), str(Path(sys.argv[1], "letters.corpus")), None)
    for path in ("/word/ship/band.json", "/word/ship/print/trajectory.png"):
        if (response := worker.respond(path, b"")).status != 200:
            wrong[path] = response.body.decode()
    print(json.dumps(wrong))
