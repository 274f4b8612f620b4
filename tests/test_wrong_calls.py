"""Wrong calls of everything public: each ends in a sentence, never in an exception of NumPy, Polars or Python.

Every argument of every public function and method is replaced in turn by things that it cannot be. A call may answer,
where a value makes sense, or raise one of our errors.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import driftword as dw
from driftword.basics import checks
from driftword.basics.errors import DriftwordError, OptionError, UnknownSliceError
from driftword.benchmarking import judged_uses
from driftword.models.slice_vectors import SliceVectors
from driftword.pages import offline_report

#: Things that few arguments can be.
WRONG: dict[str, Any] = {
    "None": None,
    "True": True,
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "nan": math.nan,
    "inf": math.inf,
    "10**30": 10**30,
    "10**5000": 10**5000,  # Python refuses to write it as text
    "empty text": "",
    "foo": "foo",
    "NUL": "a\0b",
    "newline": "a\nb",
    "long text": "x" * 100_000,
    "long number": "9" * 100_000,
    "surrogate": "\ud800",
    "bytes": b"x",
    "empty list": [],
    "list": ["foo", 5, None],
    "nested list": [["ship"], [1900]],
    "ragged list": [[1, 2], [3]],
    "dict": {},
    "full dict": {"foo": 5},
    "object": object(),
    "set": {"foo", 3},
    "array": np.arange(6.0).reshape(2, 3),
    "array without dimensions": np.array(3.5),
    "empty array": np.zeros(0),
    "numpy float": np.float32(0.3),
    "numpy int": np.int64(-7),
    "numpy bool": np.bool_(True),
    "not a time": np.datetime64("NaT"),
    "date": date(1900, 5, 1),
    "frame": pl.DataFrame({"foo": [1, 2]}),
    "series": pl.Series(["foo", None]),
    "lazy frame": pl.LazyFrame({"foo": [1]}),
    "function": lambda *_: 5,
    "class": dict,
    "module": math,
}
NUMBERS = {
    "n", "topn", "min_count", "skip", "width", "passes", "patience", "threads", "seed", "candidates", "pass_number",
    "vocabulary", "phrase_min_count", "dim", "negatives", "rounds", "block_size", "run_length", "pool_size", "context",
    "permutations", "starts",
}  # fmt: skip
REALS = {
    "min_rank", "checkpoint_every", "phrase_threshold", "drift_precision", "prior_precision", "learning_rate",
    "final_rate", "exponent", "initial_accumulator", "binned_rate", "initial_scale", "intercept_precision",
    "group_precision",
}  # fmt: skip
FLAGS = {
    "interpolated", "overwrite", "resume", "reproducible", "half_precision", "passages", "numbers", "phrases",
    "skip_bad_dates", "skip_bad_rows", "show_progress", "tune", "intercept",
}  # fmt: skip
CHOICES = {
    "metric", "format", "by", "split", "engine", "resample", "prior_slices", "select_by", "drift_unit",
}  # fmt: skip


class Call(NamedTuple):
    """A valid call of something public."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


def tiny_corpus(**changed: Any) -> dw.Corpus:
    random = np.random.default_rng(0)
    arguments: dict[str, Any] = {
        "words": ["ship", "harbour", "court", "judge"],
        "ids": random.integers(0, 4, 600),
        "offsets": np.arange(0, 601, 50),
        "chunk_slice": np.arange(12) // 4,
        "chunk_split": ["train", "train", "valid", "test"] * 3,
        "slices": [1900, 1901, 1902],
        "groups": ("left", "right"),
        "chunk_group": [0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0],
    }
    return dw.Corpus.from_ids(**{**arguments, **changed})


def hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wrong")


@pytest.fixture(scope="module")
def corpus() -> dw.Corpus:
    return tiny_corpus()


@pytest.fixture(scope="module")
def model(corpus: dw.Corpus) -> dw.Model:
    return dw.fit(corpus, dw.Spec(dim=3, context=2, rounds=1), passes=3, engine="reference")


@pytest.fixture(scope="module")
def stored(folder: Path) -> dw.Corpus:
    """A corpus with documents that have columns."""
    rows = {
        "text": ["The ship left the harbour", "The judge left the court", "One ship"] * 4,
        "date": [1900, 1901, 1902] * 4,
        "port": ["hull", "bristol", None] * 4,
        "crew": [3, 5, 8] * 4,
        "weights": [[1.0], [2.0, 3.0], None] * 4,
    }
    return dw.prepare(pl.DataFrame(rows), out=folder / "stored.corpus", min_count=1, phrases=False, subsample=None)


@pytest.fixture(scope="module")
def calls(
    model: dw.Model, corpus: dw.Corpus, stored: dw.Corpus, folder: Path, tiny_encoder: Path
) -> Iterator[dict[str, Call]]:
    """Return a valid call of everything public, with all its arguments."""
    count = iter(range(10**9))

    def fresh(ending: str = "") -> Path:
        return folder / f"{next(count)}{ending}"

    vectors = folder / "a.vec"
    vectors.write_text("2 2\nship 1 2\ncourt 2 1\n")
    judged = folder / "judged.csv"
    judged.write_text("word,mean,change\nship,0.2,1\ncourt,0.1,2\n")
    for name in ("corpus1", "corpus2"):
        (folder / "pair" / name).mkdir(parents=True)
        (folder / "pair" / name / "text.txt").write_text("the ship sails\nthe court sits\n" * 20)
    spec = dw.Spec(dim=2, context=2, rounds=1)
    asked: dict[str, Any] = {"model": model}
    ranking = {"metric": "cosine", "between": (1900, 1902), "min_count": 1, "skip": 0, "interpolated": False}
    near = {"n": 2, "metric": "cosine", "min_count": 1}
    sure = {"intervals": True, "corpus": corpus, "group": "left"}
    drawn = {"intervals": True, "corpus": corpus}
    learning = {"threads": 1, "engine": "cpu", "device": None, "show_progress": False}
    one_slice = model.at(1901)
    drawn_occurrences = dw.occurrences(stored, ["ship", "judge"])
    brought = dw.usage(drawn_occurrences, np.random.default_rng(0).normal(size=(drawn_occurrences.height, 3)))
    positions = np.flatnonzero(np.asarray(corpus.tokens) == 0)
    of_ids = pl.DataFrame({"word": ["ship"] * len(positions), "position": positions})
    grouped = dw.usage(of_ids, np.random.default_rng(0).normal(size=(len(positions), 3)), corpus=corpus)
    uses = folder / "judged-uses"
    (uses / "data" / "ship").mkdir(parents=True)
    lines = [f"ship\t{1900 + i % 2}\t{1 + i % 2}\t{i}\tthe ship sails to the harbour\t4:8" for i in range(60)]
    head = "lemma\tdate\tgrouping\tidentifier\tcontext\tindexes_target_token"
    (uses / "data" / "ship" / "uses.csv").write_text("\n".join([head, *lines]))
    (uses / "annotated_words.csv").write_text("word,change_graded\nship,0.5\n")
    chart = dw.plot.frequency(model, "ship")
    slices = model.slices

    def fit(**options: Any) -> Any:
        return dw.fit(**{**options, "out": fresh() if options["out"] is True else options["out"]})

    def tune(**options: Any) -> Any:
        return dw.tune(**{**options, "out": fresh() if options["out"] is True else options["out"]})

    calls = {
        "analogy": Call(dw.analogy, {**asked, "a": "ship", "b": "court", "c": "judge", "at": 1900, "to": 1901, "n": 2,
                                     "min_count": 0, "group": None}),
        "changes": Call(dw.changes, {**asked, "words": ["ship"], "n": 2, "min_count": 0, "min_rank": 0.0, **sure}),
        "drift": Call(dw.drift, {**asked, "words": ["ship", "court"], "n": 2, **ranking, **sure}),
        "equivalents": Call(dw.equivalents, {**asked, "word": "ship", "at": 1900, "to": [1901], "n": 2,
                                             "min_count": 0, **sure}),
        "contrast": Call(dw.contrast, {**asked, "groups": ("left", "right"), "word": None, "words": ["ship"],
                                       "at": (1900, 1902), "over_time": False, "n": 2, "intervals": False,
                                       "min_count": 1, "permutations": 19, "seed": 0, **learning, "engine": "cpu",
                                       "corpus": corpus}),
        "extend": Call(dw.extend, {
            "model": dw.fit(stored, spec, passes=2, engine="reference"), "out": fresh(), "corpus_out": fresh(),
            "source": [("The ship left the harbour", 1903), ("The judge", 1904)], "text": "text", "time": None,
            "refit_from": None, "passes": 1, "seed": 0, **learning, "overwrite": True,
        }),
        "collocates": Call(dw.collocates, {**asked, "word": "ship", "n": 2, "between": (1900, 1902), "groups": None,
                                           "window": 3, "function": False, "corpus": corpus}),
        "describe": Call(dw.describe, {**asked, "words": ["ship"], "n": 2, "corpus": corpus}),
        "evidence": Call(dw.evidence, {**asked, "word": "ship", "n": 2, "by": "passages", "between": (1900, 1902),
                                       "groups": None, "width": 20, "corpus": corpus}),
        "senses": Call(dw.senses, {**asked, "words": ["ship"], "n": 2, "by": "senses", "between": (1900, 1902),
                                   "within": None, "groups": None, "passages": 2, "width": 20, "corpus": corpus,
                                   "permutations": 19,
                                   "seed": 0, "threads": 1, "show_progress": False}),
        "name_senses": Call(dw.name_senses, {**asked, "word": "ship", "names": {1: "vessel"}, "merge": [(1, 2)],
                                             "n": 3, "corpus": corpus}),
        "export_uses": Call(dw.export_uses, {**asked, "word": "ship", "out": folder / "uses.csv", "n": 2, "width": 20,
                                             "seed": 0, "corpus": corpus, "overwrite": True}),
        "score_senses": Call(dw.score_senses, {
            **asked, "word": "ship", "n": 2, "corpus": corpus,
            "judgements": pl.DataFrame({"identifier": ["ship-0-1"], "cluster": [1]}),
        }),
        "plot.senses": Call(dw.plot.senses, {**asked, "word": "ship", "n": 2, "corpus": corpus}),
        "frequency": Call(dw.frequency, {**asked, "word": "ship", "group": "left"}),
        "concordance": Call(dw.concordance, {"corpus": stored, "word": "ship", "n": 2, "sort": "left", "at": 1900,
                                             "width": 20, "where": None}),
        "keywords": Call(dw.keywords, {"corpus": corpus, "between": None, "groups": ("left", "right"), "n": 2,
                                       "function": True, "permutations": 19, "seed": 0, "show_progress": False}),
        "trends": Call(dw.trends, {"corpus": corpus, "words": ["ship"], "within": None, "permutations": 19, "seed": 0,
                                   "threads": 1, "show_progress": False}),
        "movers": Call(dw.movers, {**asked, "at": 1901, "n": 2, "min_count": 0, "skip": 0, "group": None}),
        "neighborhoods": Call(dw.neighborhoods, {**asked, "words": ["ship"], "at": [1900], **near}),
        "neighbors": Call(dw.neighbors, {**asked, "word": "ship", "at": [1900], **near, **sure}),
        "significance": Call(dw.significance, {**asked, "corpus": corpus, "words": ["ship"], "between": (1900, 1902),
                                               "within": None, "clusters": None, "without": None, "holdout": False,
                                               "permutations": 19, "seed": 0, **learning, "dask": None}),
        "power": Call(dw.power, {**asked, "corpus": corpus, "words": ["ship"], "share": 0.5, "since": 1901,
                                 "within": None, "clusters": None, "level": 0.05, "simulations": 2, "permutations": 19,
                                 "seed": 0, "threads": 1, "show_progress": False}),
        "similarity": Call(dw.similarity, {**asked, "word": "ship", "others": ["court"], "interpolated": True, **sure}),
        "towards": Call(dw.towards, {**asked, "word": "ship", "low": ["court"], "high": "judge", "interpolated": True,
                                     **sure}),
        "trajectory": Call(dw.trajectory, {**asked, "words": ["ship"], "at": 1900, **near, **sure, "groups": None}),
        "trajectory of groups": Call(lambda groups: dw.trajectory(model, "ship", groups=groups), {"groups": ["left"]}),
        "plot.changes": Call(dw.plot.changes, {**asked, "word": "ship", "n": 2}),
        "plot.drift": Call(dw.plot.drift, {**asked, "n": 2, "words": None, **ranking}),
        "plot.contrast": Call(dw.plot.contrast, {**asked, "word": "ship", "groups": ("left", "right"), **drawn}),
        "plot.frequency": Call(dw.plot.frequency, {**asked, "word": "ship", "groups": ["left", "right"]}),
        "plot.history": Call(dw.plot.history, asked),
        "plot.map": Call(dw.plot.map, {**asked, "word": "ship", "n": 2}),
        "plot.neighbors": Call(dw.plot.neighbors, {**asked, "word": "ship", "at": [1900], "n": 2}),
        "plot.similarity": Call(dw.plot.similarity, {**asked, "word": "ship", "others": ["court"], **drawn,
                                                       "groups": "left"}),
        "plot.trajectory": Call(dw.plot.trajectory, {**asked, "word": "ship", "at": [1900], "n": 2, **drawn,
                                                       "groups": None}),
        "plot.trajectory of groups": Call(lambda groups: dw.plot.trajectory(model, "ship", groups=groups),
                                          {"groups": ["left", "right"]}),
        "plot.drawable": Call(dw.plot.drawable, {"chart": chart}),
        "plot.save": Call(dw.plot.save, {"chart": chart, "path": folder / "chart.json"}),
        "export": Call(lambda **options: dw.export(**{"out": fresh(), **options}),
                       {**asked, "out": fresh(), "format": "numpy", "at": [1900], "min_count": 0, "group": "left",
                        "overwrite": True}),
        "read_word2vec": Call(dw.read_word2vec, {"files": {1900: vectors, "1901": str(vectors)}, "align": False,
                                                 "out": fresh(), "overwrite": True}),
        "from_vectors": Call(dw.from_vectors, {"vectors": {1900: {"ship": [1.0, 2.0]}, 1901: {"ship": [2.0, 1.0]}},
                                               "align": False, "out": fresh(), "overwrite": True}),
        "from_vectors slice": Call(lambda given: dw.from_vectors({1900: given}), {"given": {"ship": [1.0, 2.0]}}),
        "read_word2vec label": Call(lambda label: dw.read_word2vec({label: vectors} if hashable(label) else {}),
                                    {"label": 1900}),
        "read_word2vec file": Call(lambda file: dw.read_word2vec({1900: file}), {"file": vectors}),
        "report": Call(dw.report, {**asked, "out": fresh(".html"), "corpus": None, "words": ["ship"], "n": 1,
                                   **ranking, "title": "Letters", "passages": False, "usage": None, "site": False,
                                   "overwrite": True, "show_progress": False}),
        "evaluate": Call(dw.evaluate, {**asked, "corpus": corpus, "split": "test", "by": "slice", "threads": 1,
                                       "engine": "reference", "device": None}),
        "compare": Call(dw.compare, {"corpus": corpus, "contexts": [2], "models": ["static"], "spec": spec, "passes": 1,
                                     "seeds": [0], **learning, "tune": False, "out": fresh(), "overwrite": True}),
        **{f"baselines.{name}": Call(getattr(dw.baselines, name), {
            "corpus": corpus, "dim": 2, "context": 2, **({} if name == "ppmi" else {"negatives": 2, "passes": 1}),
            "seed": 0, **({} if name == "incremental" else {"threads": 1}), "out": fresh(), "overwrite": True,
            "show_progress": False}) for name in dw.baselines.__all__},
        "read_gold": Call(dw.read_gold, {"path": judged, "column": "change"}),
        "score_gold": Call(dw.score_gold, {**asked, "gold": judged, "metric": "cosine", "between": (1900, 1902)}),
        "prepare_gold": Call(dw.prepare_gold, {"folder": folder / "pair", "out": fresh(),
                                               "periods": ["1900-1901", "1902-1903"], "overwrite": True}),
        "occurrences": Call(dw.occurrences, {"corpus": stored, "words": ["ship"], "n": 2, "seed": 0, "width": 20,
                                             "controls": 1}),
        "usage": Call(dw.usage, {"occurrences": drawn_occurrences, "vectors": np.ones((drawn_occurrences.height, 2)),
                                 "corpus": stored, "slices": "1y", "out": fresh(), "overwrite": True}),
        "usage table": Call(lambda table: dw.usage(table, np.ones((2, 2))),
                            {"table": pl.DataFrame({"word": ["a", "a"], "document": [0, 1], "date": [1900, 1901]})}),
        "encode": Call(dw.encode, {
            "corpus": stored, "words": ["ship"], "encoder": tiny_encoder, "n": 2, "seed": 0, "width": 20, "controls": 1,
            "layers": 2, "pool": "word", "out": fresh(), "overwrite": True, "device": "cpu", "threads": 1,
            "show_progress": False,
        }),
        "combine": Call(dw.combine, {"tables": [pl.DataFrame({"word": ["a"], "p": [0.5]})] * 2}),
        "gold_uses": Call(dw.gold_uses, {"folder": uses, "encoder": None, "layers": 2, "pool": "word", "passes": 1,
                                         "seed": 0, "threads": 1, "show_progress": False}),
        "Usage.open": Call(dw.Usage.open, {"path": brought.save(fresh()).path, "corpus": stored}),
        "Usage.save": Call(brought.save, {"path": fresh(), "overwrite": True}),
        "Usage.word_id": Call(brought.word_id, {"word": "ship"}),
        "significance of a Usage": Call(
            lambda **options: dw.significance(brought, **options),
            {"words": ["ship"], "between": (1900, 1902), "within": None, "clusters": None, "permutations": 19},
        ),
        "contrast of a Usage": Call(
            lambda **options: dw.contrast(grouped, **options),
            {"words": ["ship"], "groups": ("left", "right"), "at": (1900, 1902), "over_time": False, "n": 2,
             "min_count": 1, "permutations": 19},
        ),
        "drift of a Usage": Call(lambda **options: dw.drift(brought, **options),
                                 {"words": ["ship"], "n": 2, "metric": "apd", "between": (1900, 1902)}),
        "card": Call(dw.card, {**asked, "corpus": corpus, "score": True}),
        "plan": Call(dw.plan, {"corpus": corpus, "spec": spec, "tokens": None, "vocabulary": 50, "slices": 4,
                               "passes": 2, "cores": 2, "gpus": 0, "processes": 1, "dask_cores": 0, "core_speed": 1.0}),
        "tune": Call(tune, {"corpus": corpus, "spec": spec, "candidates": 2, "passes": 1, "seed": 0, **learning,
                            "out": fresh(), "resume": False}),
        "fit": Call(fit, {"corpus": corpus, "spec": spec, "passes": 1, **learning, "seed": 0, "out": fresh(),
                          "resume": False, "patience": 1, "reproducible": False, "half_precision": False,
                          "checkpoint_every": 20.0, "overwrite": True}),
        "prepare": Call(dw.prepare, {
            "source": [("The ship left the harbour of the port", 1900), ("The judge left the court", 1901)],
            "options": None, "out": fresh(), "text": None, "time": None, "slices": "1y", "vocabulary": 100,
            "min_count": 1, "words": "form", "lemmas": False, "lemma_language": None, "variants": {"shew": "show"},
            "old_letters": False, "element": None, "columns": "word,pos,lemma",
            "stopwords": ["the"], "keep": ["ship"], "tokens": "words", "numbers": False, "phrases": False,
            "phrase_threshold": 0.5, "phrase_min_count": 2, "connectors": ["of"], "subsample": None, "seed": 0,
            "group": None, "groups": None, "copies": "one", "unit": None, "time_format": None,
            "time_from_name": None, "encoding": None,
            "language": None, "skip_bad_dates": False, "skip_bad_rows": False, "skip_bad_files": False, "dask": None,
            "threads": 2, "overwrite": True, "show_progress": False,
        }),
        "Corpus.from_ids": Call(tiny_corpus, {
            "words": ["ship", "harbour", "court", "judge"], "ids": np.zeros(600, dtype=int),
            "offsets": np.arange(0, 601, 50), "chunk_slice": np.arange(12) // 4, "chunk_split": np.zeros(12, dtype=int),
            "slices": [1900, 1901, 1902], "chunk_document": np.arange(12), "raw_counts": [600, 1, 1, 1],
            "groups": ("left", "right"), "chunk_group": np.arange(12) % 2,
            "subsample": 0.5, "seed": 0, "out": fresh(), "overwrite": True,
        }),
        "Corpus.open": Call(dw.Corpus.open, {"path": stored.path}),
        "Corpus.chunks": Call(corpus.chunks, {"split": "train", "at": 1900, "pass_number": 0}),
        "Corpus.sample": Call(corpus.sample, {"split": "train", "at": 1900, "pass_number": 0}),
        "Corpus.passages": Call(stored.passages, {"word": "ship", "at": 1900, "n": 2, "width": 20,
                                                  "where": {"port": "hull"}}),
        "Corpus.passages column": Call(
            lambda column: stored.passages("ship", where={column: "hull"} if hashable(column) else None),
            {"column": "port"},
        ),
        "Corpus.passages value": Call(lambda value: stored.passages("ship", where={"port": value}), {"value": "hull"}),
        "Corpus.passages number": Call(lambda value: stored.passages("ship", where={"crew": value}), {"value": 3}),
        "Corpus.passages weights": Call(lambda value: stored.passages("ship", where={"weights": value}),
                                        {"value": "[1.0]"}),
        "Corpus.shuffle_dates": Call(corpus.shuffle_dates, {"seed": 0}),
        "Corpus.of_group": Call(corpus.of_group, {"group": "left"}),
        "Corpus.word_id": Call(corpus.word_id, {"word": "ship"}),
        "Corpus.positions_of": Call(corpus.positions_of, {"word": "ship"}),
        "Corpus.has_split": Call(corpus.has_split, {"split": "train"}),
        "Corpus.matches": Call(corpus.matches, {"fingerprint": corpus.fingerprint}),
        "Model.open": Call(dw.Model.open, {"path": model.save(fresh()).path}),
        "Model.save": Call(model.save, {"path": fresh(), "overwrite": True}),
        "Model.open_corpus": Call(dw.fit(stored, spec, passes=1, engine="reference").open_corpus,
                                  {"path": stored.path}),
        "Model.group": Call(model.group, {"name": "left"}),
        "Model.check_corpus": Call(model.check_corpus, {"corpus": corpus}),
        "Model.word_id": Call(model.word_id, {"word": "ship"}),
        "Model.slice_index": Call(model.slice_index, {"at": 1900}),
        "Model.at": Call(model.at, {"at": 1900, "metric": "cosine"}),
        "Model[]": Call(lambda key: model[key], {"key": "ship"}),
        "Model[,]": Call(lambda word, at: model[word, at], {"word": "ship", "at": 1900}),
        "Model[,,]": Call(lambda group: model["ship", 1900, group], {"group": "left"}),
        "in Model": Call(lambda word: word in model, {"word": "ship"}),
        "SliceVectors[]": Call(lambda key: one_slice[key], {"key": "ship"}),
        "SliceVectors[[]]": Call(lambda key: one_slice[["ship", key]], {"key": "court"}),
        "in SliceVectors": Call(lambda word: word in one_slice, {"word": "ship"}),
        "SliceVectors.similarity": Call(one_slice.similarity, {"one": "ship", "other": "court"}),
        "SliceVectors.distance": Call(one_slice.distance, {"one": "ship", "other": "court"}),
        "SliceVectors.get_vector": Call(one_slice.get_vector, {"key": "ship"}),
        "SliceVectors.similar_by_word": Call(one_slice.similar_by_word, {"word": "ship", "topn": 2}),
        "SliceVectors.similar_by_vector": Call(one_slice.similar_by_vector, {"vector": model["court", 1900],
                                                                             "topn": 2}),
        "SliceVectors.most_similar": Call(one_slice.most_similar, {"positive": "ship", "negative": ["court"], "topn": 2,
                                                                   "min_count": 0}),
        "SliceVectors.most_similar weight": Call(lambda weight: one_slice.most_similar(("ship", weight)),
                                                 {"weight": 0.5}),
        "Slices": Call(dw.Slices, {"labels": ("a", "b"), "first": (date(1900, 1, 1), date(1901, 1, 1)),
                                   "last": (date(1900, 12, 31), date(1901, 12, 31))}),
        "Slices of one": Call(lambda label, first, last: dw.Slices([label], [first], [last]),  # type: ignore[arg-type]
                              {"label": "a", "first": date(1900, 1, 1), "last": date(1990, 1, 1)}),
        "Slices.index": Call(slices.index, {"at": 1900}),
        "Slices.find": Call(slices.find, {"days": np.array([0, 5])}),
        "Slices.from_table": Call(dw.Slices.from_table, {"table": slices.table()}),
        "Slices.from_labels": Call(dw.Slices.from_labels, {"labels": [1900, "1901"]}),
        "Slices.from_labels label": Call(lambda label: dw.Slices.from_labels([label]), {"label": 1900}),
        "Spec": Call(dw.Spec, dw.Spec(prior_precision=1.0).to_dict()),
        "Spec.paper": Call(dw.Spec.paper, dw.Spec.paper(prior_precision=1.0).to_dict()),
        "Spec.from_dict": Call(dw.Spec.from_dict, {"options": {"dim": 3}}),
    }  # fmt: skip
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:  # "foo" is a path
        patch.setattr(offline_report, "_render", lambda *_: "")  # it takes long, and gets what was checked
        patch.setattr(judged_uses, "fit", lambda text, **options: dw.fit(text, spec, **options))  # of 100 dimensions
        yield calls


NAMES = [
    *("analogy", "changes", "contrast", "extend", "drift", "equivalents", "frequency", "movers", "neighborhoods"),
    *("neighbors", "power", "significance", "collocates", "describe", "evidence"),
    *("senses", "name_senses", "export_uses", "score_senses", "plot.senses", "concordance", "keywords", "trends"),
    *("similarity", "towards", "trajectory", "export", "read_word2vec", "read_word2vec label", "read_word2vec file"),
    *("from_vectors", "from_vectors slice"),
    *(f"baselines.{name}" for name in dw.baselines.__all__),
    *("read_gold", "score_gold", "prepare_gold", "gold_uses"),
    *("occurrences", "usage", "usage table", "encode", "combine"),
    *("Usage.open", "Usage.save", "Usage.word_id", "significance of a Usage", "drift of a Usage",
      "contrast of a Usage"),
    *("card", "report", "evaluate", "compare", "plan", "tune", "fit", "prepare"),
    *("plot.contrast", "trajectory of groups", "plot.trajectory of groups"),
    *(f"plot.{name}" for name in ("changes", "drift", "frequency", "history", "map", "neighbors", "similarity")),
    *("plot.trajectory", "plot.drawable", "plot.save"),
    *("Corpus.from_ids", "Corpus.open", "Corpus.chunks", "Corpus.sample", "Corpus.passages", "Corpus.word_id",
      "Corpus.positions_of"),
    *(f"Corpus.passages {part}" for part in ("column", "value", "number", "weights")),
    *("Corpus.has_split", "Corpus.matches", "Corpus.shuffle_dates", "Corpus.of_group"),
    *("Model.open", "Model.save", "Model.open_corpus", "Model.check_corpus", "Model.word_id", "Model.slice_index"),
    *("Model.at", "Model.group", "Model[]", "Model[,]", "Model[,,]", "in Model"),
    *("SliceVectors[]", "SliceVectors[[]]", "in SliceVectors", "SliceVectors.similarity", "SliceVectors.distance"),
    *("SliceVectors.get_vector", "SliceVectors.similar_by_word", "SliceVectors.similar_by_vector"),
    *("SliceVectors.most_similar", "SliceVectors.most_similar weight"),
    *("Slices", "Slices of one", "Slices.index", "Slices.find", "Slices.from_table", "Slices.from_labels"),
    *("Slices.from_labels label", "Spec", "Spec.paper", "Spec.from_dict"),
]  # fmt: skip
#: What has no argument of its own, or is called by the package alone.
NOT_CALLED = {
    *("Corpus.expected_tokens", "Corpus.tokens_per_slice", "Corpus.split_sizes", "Corpus.info", "Corpus.summary"),
    *("Corpus.group_sizes", "Corpus.from_slice", "Corpus.without_groups", "Model.documents_of"),
    *("Corpus.chunks_of", "Corpus.sample_chunks"),
    "SliceVectors.to_gensim",
    *("Usage.rows", "Usage.rows_at", "Usage.keep_significance", "Usage.cached"),
    *("Model.keep_sense_names", "Model.keep_new_senses"),  # `name_senses` and `senses` check what is kept
    "benchmark",  # which fits for a minute; see tests/benchmarking
    *("Corpus.sampled", "Corpus.check_current", "Model.info", "Model.summary", "Model.check_current", "Model.cached"),
    *(
        "Model.alpha_at",
        "Model.rho_at",
        "Model.rho_of",
        "Model.intercepts_of",
        "Model.write",
        "Model.keep_significance",
        "Model.keep_static",
        "Slices.table",
        "Spec.to_dict",
    ),
}


def trouble(call: Call, argument: str, value: Any) -> str | None:
    """Return what is wrong with the answer to a wrong call; None for an answer, and "refused" for a sentence."""
    try:
        result = call.function(**{**call.arguments, argument: value})
    except DriftwordError as error:
        return complaint(str(error)) or "refused"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]!r}"
    try:
        list(result) if isinstance(result, Iterator) else None
    except Exception as error:
        return f"{type(error).__name__}, and only when it is read: {error}"
    return None


def complaint(message: str) -> str | None:
    """Return what is wrong with a message."""
    if not message[:1].isupper() and message[:1] not in "'`":
        return f"not a sentence: {message[:100]!r}"
    if len(message) > 1_300 or not message.isprintable() or not checks.is_unicode(message):
        return f"cannot be shown: {message[:100]!r}, {len(message)} letters"
    return None


def sensible(argument: str) -> set[str] | None:
    """Return which of `WRONG` an argument may accept; None for any that makes sense to it."""
    if argument in NUMBERS:
        return {"None", "0", "-1", "numpy int"}  # some of them are out of bounds, which is for other tests
    if argument in REALS:
        return {"None", "0", "-1", "1.5", "10**30", "numpy int", "numpy float", "array without dimensions"}
    if argument in FLAGS:
        return {"None", "True", "numpy bool"}
    return {"None"} if argument in CHOICES else None


def test_everything_public_is_called(calls: dict[str, Call]) -> None:
    public = {name for name in dw.__all__ if inspect.isfunction(getattr(dw, name))}
    public |= {f"plot.{name}" for name in dw.plot.__all__ if inspect.isfunction(getattr(dw.plot, name))}
    for owner in (dw.Corpus, dw.Model, dw.Slices, dw.Spec, SliceVectors):
        methods = inspect.getmembers(owner, lambda value: inspect.isfunction(value) or inspect.ismethod(value))
        public |= {f"{owner.__name__}.{name}" for name, _ in methods if not name.startswith("_")}
    assert public - set(calls) - NOT_CALLED == set()
    assert set(calls) == set(NAMES)
    for name in public & set(calls) - {
        "Corpus.from_ids",
        "Spec.paper",
        "fit",
        "tune",
        "export",
        "plot.drift",
        "prepare_gold",
    }:
        parameters = set(inspect.signature(calls[name].function).parameters)
        assert parameters == set(calls[name].arguments), name


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::driftword.basics.errors.DriftwordWarning"
)  # of a fit that there is nothing to resume of
@pytest.mark.parametrize("name", NAMES)
def test_wrong_calls_end_in_a_sentence(calls: dict[str, Call], name: str) -> None:
    """A number is not True or "5", and a switch is not "no", which Python would take for yes."""
    call = calls[name]
    valid = call.function(**call.arguments)
    assert valid is not None
    defects = []
    for argument in call.arguments:
        for label, value in WRONG.items():
            wrong = trouble(call, argument, value)
            allowed = sensible(argument)
            if wrong is None and allowed is not None and label not in allowed:
                wrong = "accepted"
            if wrong not in (None, "refused"):
                defects.append(f"{argument} = {label}: {wrong}")
    assert not defects, "\n".join(defects)


# -- what was seen to end in a raw exception -----------------------------------------------


def test_what_was_wrong_is_said_in_a_sentence(model: dw.Model, corpus: dw.Corpus, tmp_path: Path) -> None:
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: dw.plot.save("energy", tmp_path / "x.pdf"), "`chart` is 'energy'; give what a function of `dw.plot` "),
        (lambda: dw.read_word2vec("vectors"), "`files` is 'vectors'; name the file of each slice"),  # type: ignore[arg-type]
        (lambda: model["ship", None], "`at` is None, which is not a slice; give its label, a year or a date"),  # type: ignore[index]
        (lambda: dw.drift(model, between="ab"), "`between` is 'ab'; give two slices, such as (1900, 2000)"),  # type: ignore[arg-type]
        (lambda: dw.drift(model, between=5), "`between` is 5; give two slices"),  # type: ignore[arg-type]
        (lambda: dw.drift(model, words=5), "`words` is 5; give a word, or a list of words"),  # type: ignore[arg-type]
        (lambda: dw.neighbors(model, "ship", at=object()), "`at` is a value of type object; give a slice (its label"),  # type: ignore[arg-type]
        (lambda: dw.export(model, out=3), "`out` is 3, which is not a path; give one as text"),  # type: ignore[arg-type]
        (lambda: dw.drift(model, n=True), "`n` is True; it must be a whole number, at least 1"),
        (lambda: dw.fit(corpus, overwrite="no"), "`overwrite` is 'no'; it must be True or False"),  # type: ignore[arg-type]
        (lambda: dw.Spec(learning_rate="0.1"), "`learning_rate` is '0.1'; it must be a number"),  # type: ignore[arg-type]
        (lambda: corpus.chunks("foo"), "`split` is 'foo'; choose one of train, valid, test"),  # before the first chunk
        (lambda: dw.neighbors(model, "x" * 1000), f"'{'x' * 57}...' is not in the vocabulary"),
        (lambda: dw.neighbors(model, "a\0\ud800"), r"'a\x00\ud800' is not in the vocabulary"),
        (lambda: dw.Model.at(model, "1" * 300), f"'{'1' * 57}...' is neither a slice nor a date"),
        (lambda: model.at(1900)[-1], "`key` is -1; it must be from 0 to 3"),
    ]
    for call, message in wrong:
        with pytest.raises(DriftwordError) as error:
            call()
        assert str(error.value).startswith(message)
    with pytest.raises(TypeError, match="unexpected keyword argument"):  # these are Python's own
        dw.drift(model, words="ship", foo=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing"):
        dw.similarity(model, "ship")  # type: ignore[call-arg]


def test_values_in_errors_are_short_and_printable() -> None:
    assert checks.shown("é'\x1b[31m") == "'é'\\x1b[31m'"
    assert checks.shown(np.float32(0.5)) == "0.5"
    assert checks.shown(10**50) == "a number of more than 40 digits"
    assert checks.shown([10**5000]) == "a value of type list"
    assert checks.shown(list(range(10**6))) == "[0, 1, 2, 3, ...]"
    assert checks.shown({"a": "b" * 1000, "c": [[[[5]]]]}).startswith("{'a': 'bbb")
    assert len(checks.shown({"a": "b" * 1000, "c": "d" * 100, "e": [1, 2, 3, 4, 5]})) <= 60
    assert checks.shown(pl.DataFrame({"a": [1]})) == "a value of type DataFrame"
    assert checks.shown("\u0645\u06cc\u200c\u062e") == "'\u0645\u06cc\u200c\u062e'"


def test_charts_check_their_options_first(model: dw.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> None:
        raise AssertionError("it computes before it checks")

    for name in ("trajectory", "neighbors", "changes", "similarity", "rank_drift"):
        monkeypatch.setattr(dw.plot.charts.explore, name, computed)  # type: ignore[attr-defined]
    for chart in (dw.plot.trajectory, dw.plot.neighbors):
        with pytest.raises(OptionError, match="`n` is 0; it must be from 1 to 1,000"):
            chart(model, "ship", n=0)
        with pytest.raises(UnknownSliceError, match="'1800' lies outside the slices"):
            chart(model, "ship", at=[1900, 1800])
        with pytest.raises(DriftwordError, match="'shp' is not in the vocabulary"):
            chart(model, "shp")
    with pytest.raises(OptionError, match="compares a word with 1 to 6 others, and 7 were given"):
        dw.plot.similarity(model, "ship", ["court"] * 7)
    with pytest.raises(OptionError, match="`n` is 5000"):
        dw.plot.changes(model, "ship", n=5000)
    with pytest.raises(OptionError, match="`n` is None"):
        dw.plot.drift(model, n=None)  # type: ignore[arg-type]


# -- unusual, but sensible ------------------------------------------------------------------


def test_words_come_in_whatever_holds_them(model: dw.Model) -> None:
    expected = dw.drift(model, ["court", "ship"])
    for words in (
        ("court", "ship"),
        {"ship", "court"},
        np.array(["court", "ship"]),
        pl.Series(["court", "ship"]),
        (word for word in ("court", "ship")),
        {"court": 1, "ship": 2}.keys(),
        [np.str_("court"), np.str_("ship")],
    ):
        assert dw.drift(model, words).equals(expected)  # type: ignore[arg-type]
    assert dw.drift(model, np.str_("ship")).equals(dw.drift(model, "ship"))
    several = dw.neighborhoods(model, ["ship", "court"], n=2, min_count=1)
    assert dw.neighborhoods(model, np.array(["ship", "court"]), n=2, min_count=1).equals(several)  # type: ignore[arg-type]
    near = model.at(1900).most_similar(["ship", "court"], topn=2)
    for words in (("ship", "court"), np.array(["ship", "court"]), pl.Series(["ship", "court"])):
        assert model.at(1900).most_similar(words, topn=2) == near  # type: ignore[arg-type]
    assert (model.at(1900)[{"court", "ship"}] == model.at(1900)[["court", "ship"]]).all()  # type: ignore[index]


def test_slices_are_named_in_many_ways(model: dw.Model) -> None:
    one = dw.neighbors(model, "ship", at="1901", min_count=1)
    for at in (1901, np.int64(1901), 1901.0, np.array(1901), date(1901, 5, 1), datetime(1901, 5, 1, 12),
               np.datetime64("1901-05-01"), np.datetime64("1901-05-01T12:00:00.000000000"), [1901], ("1901",), {1901},
               np.array([1901]), np.array(["1901-05"], dtype="datetime64[D]"), pl.Series([date(1901, 1, 1)]),
               np.str_("1901"), range(1901, 1902)):  # fmt: skip
        assert dw.neighbors(model, "ship", at=at, min_count=1).equals(one), at  # type: ignore[arg-type]
    for words in ("ship", ["ship", "court"]):
        trajectories = dw.trajectory(model, words, at=(year for year in (1900, 1901)), min_count=1)  # type: ignore[arg-type]
        assert trajectories.equals(dw.trajectory(model, words, at=[1900, 1901], min_count=1))
    assert (model["ship", np.datetime64("1901-05-01")] == model["ship", 1901]).all()  # type: ignore[index]
    for at in (True, 1901.5, math.nan, np.datetime64("NaT"), [None], [[1901]], b"1901"):
        with pytest.raises(OptionError, match="`at`"):
            dw.neighbors(model, "ship", at=at)  # type: ignore[arg-type]
    two = dw.drift(model, between=("1900", "1902"))
    for between in (
        [1900, 1902],
        (date(1900, 1, 1), date(1902, 7, 1)),
        np.array([1900, 1902]),
        pl.Series([1900, 1902]),
    ):
        assert dw.drift(model, between=between).equals(two)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="give two slices"):
        dw.drift(model, between={1900, 1902})  # type: ignore[arg-type]  # which is the earlier one?


def test_edges_of_slices_come_in_whatever_holds_them(tmp_path: Path) -> None:
    pairs = [("one two", 1900), ("two three", 1905), ("three four", 1911)]
    expected = dw.prepare(pairs, out=tmp_path / "c", slices="1900,1905,1912", min_count=1)
    for edges in ([1900, 1905, 1912], np.array([1900, 1905, 1912]), pl.Series(["1900", "1905", "1912"]),
                  (np.int16(1900), date(1905, 1, 1), "1912")):  # fmt: skip
        corpus = dw.prepare(pairs, out=tmp_path / "c", slices=edges, min_count=1, overwrite=True)  # type: ignore[arg-type]
        assert corpus.slices == expected.slices
        assert json.loads(json.dumps(corpus.options.to_dict()))["slices"][2] == "1912"


def test_values_of_columns(stored: dw.Corpus) -> None:
    expected = stored.passages("ship", where={"crew": "3"})
    assert expected.height > 0
    for crew in (3, 3.0, np.int8(3), np.str_("3")):
        assert stored.passages("ship", where={"crew": crew}).equals(expected)
    assert stored.passages("ship", where={}).equals(stored.passages("ship"))
    assert stored.passages("judge", where={"port": "hull"}).is_empty()  # such documents there are
    for where, message in (
        ({"prot": "hull"}, "The documents have no column 'prot'; did you mean 'port'?"),
        ({"colour": "red"}, "The documents have no column 'colour'; they have date, port, crew, weights"),
        ({"port": "bergen"}, "No document has 'bergen' in the column 'port', which has 'bristol', 'hull'"),
        ({"port": "hull", "crew": 5}, "No document has all these values at once; leave one of them out of `where`"),
        (
            {"port": None},
            "`where` holds 'port' and None; give columns and values, such as {'country': 'FRA'}, or leave",
        ),
        ("port=hull", "`where` is 'port=hull'; give columns and values"),
    ):
        with pytest.raises(OptionError) as error:
            stored.passages("ship", where=where)  # type: ignore[arg-type]
        assert str(error.value).startswith(message)


# -- numbers of NumPy -------------------------------------------------------------------------


def numpy_spec(scalar: bool) -> dw.Spec:
    """Return options with every number given by NumPy, or by Python."""
    values: dict[str, Any] = {
        "model": "dynamic", "dim": 3, "context": 2, "negatives": 5, "drift_precision": 128.0, "prior_precision": 0.5,
        "learning_rate": 0.25, "final_rate": 0.5, "rounds": 2, "block_size": 8, "run_length": 2, "pool_size": 16,
        "exponent": 0.75,
        "resample": "each-pass", "initial_accumulator": 0.0625, "drift_unit": "year", "intercept": True,
        "intercept_precision": 0.5,
    }  # fmt: skip
    kinds: dict[type, Any] = {int: np.int64, float: np.float32, str: np.str_, bool: np.bool_}
    return dw.Spec(**{name: kinds[type(value)](value) if scalar else value for name, value in values.items()})


@pytest.mark.slow
def test_a_model_fitted_with_numbers_of_numpy_is_stored_as_any_other(corpus: dw.Corpus, tmp_path: Path) -> None:
    plain, numpy = numpy_spec(False), numpy_spec(True)
    assert numpy == plain
    assert {type(value) for value in numpy.to_dict().values()} == {int, float, str, bool}
    one = dw.fit(corpus, plain, passes=3, engine="reference", threads=1, seed=1, patience=2, checkpoint_every=0.0,
                 reproducible=True, half_precision=True, out=tmp_path / "plain", show_progress=False)  # fmt: skip
    other = dw.fit(
        corpus, numpy, passes=np.int64(3), engine=np.str_("reference"), threads=np.int32(1), seed=np.uint8(1),  # type: ignore[arg-type]
        patience=np.int16(2), checkpoint_every=np.float32(0), reproducible=np.bool_(True),  # type: ignore[arg-type]
        half_precision=np.bool_(True),  # type: ignore[arg-type]
        resume=np.bool_(False), overwrite=np.bool_(True), out=tmp_path / "numpy", show_progress=np.bool_(False),  # type: ignore[arg-type]
    )  # fmt: skip
    stored = dw.Model.open(tmp_path / "numpy")
    for model in (other, stored):
        assert (model.rho == one.rho).all()
        assert (model.alpha == one.alpha).all()
        assert model.spec == one.spec
        assert model.provenance == one.provenance
    metas = [json.loads((tmp_path / name / "meta.json").read_text()) for name in ("plain", "numpy")]
    assert metas[0]["spec"] == metas[1]["spec"]


@pytest.mark.slow
def test_other_work_takes_numbers_of_numpy(corpus: dw.Corpus, model: dw.Model, tmp_path: Path) -> None:
    spec = dw.Spec(dim=2, context=2, rounds=1)
    options: dict[str, Any] = {"engine": "reference", "show_progress": np.bool_(False)}
    tuned = dw.tune(corpus, spec, candidates=np.int64(2), passes=np.uint8(2), seed=np.int64(3), threads=np.int8(1),  # type: ignore[arg-type]
                    out=tmp_path / "m", **options)  # fmt: skip
    again = dw.tune(corpus, spec, candidates=2, passes=2, seed=3, out=tmp_path / "m", resume=True, **options)
    assert again.spec == tuned.spec
    table = dw.compare(corpus, spec=spec, contexts=np.array([2, 4]), models="static", passes=np.int64(1),  # type: ignore[arg-type]
                       seeds=np.arange(2), threads=np.int8(1), out=tmp_path / "models", **options)  # fmt: skip
    assert table["context"].to_list() == [2, 4]
    assert table["seeds"].to_list() == [2, 2]
    assert dw.compare(corpus, spec=spec, contexts=np.int64(2), models=("static",), passes=1, seeds=np.int8(0),  # type: ignore[arg-type]
                      **options).height == 1  # fmt: skip
    made = tiny_corpus(seed=np.int64(5), subsample=np.float32(0.5), overwrite=np.bool_(False), out=tmp_path / "c")
    assert (made.seed, made.subsample) == (5, 0.5)
    assert made.fingerprint == tiny_corpus(seed=5, subsample=0.5).fingerprint
    path = dw.export(
        model, out=str(tmp_path / "e"), at=np.int64(1900), min_count=np.int64(1), format=np.str_("word2vec")
    )  # type: ignore[arg-type]
    assert path == tmp_path / "e"
    corpora = [
        dw.prepare([("ship harbour ship", 1900)] * 20, out=tmp_path / name, **numbers)
        for name, numbers in {
            "plain": {"vocabulary": 5, "min_count": 2, "phrase_threshold": 0.5, "phrase_min_count": 3, "seed": 7,
                      "subsample": 0.5, "numbers": True, "phrases": True},
            "numpy": {"vocabulary": np.int64(5), "min_count": np.int8(2), "phrase_threshold": np.float32(0.5),
                      "phrase_min_count": np.uint8(3), "seed": np.int64(7), "subsample": np.float64(0.5),
                      "numbers": np.bool_(True), "phrases": np.bool_(True)},
        }.items()
    ]  # fmt: skip
    assert corpora[0].fingerprint == corpora[1].fingerprint
    assert corpora[0].options == corpora[1].options
