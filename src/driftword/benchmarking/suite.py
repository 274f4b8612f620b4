"""One table of models and baselines: what they find, miss, repeat and cost on a corpus, over several seeds.

Every model is fitted twice with each seed: to the text itself, which shows how well it predicts and whether another
seed would say the same, and to a copy with permuted dates and planted changes (`planting`), which shows what it finds.
All of them measure movement in the same way, by the cosine between the first slice and the last. Beside them stand two
rules that know nothing of meaning.

Fits run in processes of their own, so that the memory of each is known. What was fitted is kept, and used again by the
same command.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import subprocess
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Final

import numpy as np
import polars as pl

from driftword.basics import checks, tables
from driftword.basics.errors import DriftwordWarning, OptionError
from driftword.basics.process import machine, python_program, versions
from driftword.basics.progress import Progress, progress
from driftword.benchmarking import measures
from driftword.benchmarking.fit_process import INTERRUPTED, METHODS, OWN
from driftword.benchmarking.gold_sets import as_gold, judged_words, score_gold
from driftword.benchmarking.planting import BANDS, Array, Planted, join_slices, plant
from driftword.corpus import Corpus
from driftword.corpus.corpus import as_corpus
from driftword.engines import choose_engine
from driftword.fitting.evaluation import evaluate
from driftword.inference.significance import significance
from driftword.models.model import Model
from driftword.models.spec import Spec, as_spec
from driftword.storage import store
from driftword.storage.atomic_writes import replacing, reserved, scratch_folder, writing

RULES: Final = {"frequency change": "how much its frequency changed", "frequency": "how frequent a word is"}
MAX_SLICES: Final = 16  # more are joined: a slice needs text of its own
INTERVALS: Final = "±: half of the 90% interval of the mean over seeds."
_FEW_LEFT: Final = 2  # times as many words must be left unchanged as were exchanged
#: Columns, and what they mean.
MEASURES: Final = {
    "L": "held-out score of test text (higher is better); only of models that predict words",
    "exchange_AP": "average precision of the words whose meaning changed for good, of all words, ranked by the cosine "
    "between the first slice and the last",
    "frequent_AP": "the same, only among words that occur at least 100 times, as all exchanged words do",
    "thinned": "share of the words that only became rarer that move farther than 99% of unchanged words as frequent; "
    "0.01 is what a measure gets that does not see frequency",
    "dates": "share of abrupt changes that are dated right, or one slice off",
    "equivalents": "mean reciprocal rank of the word whose place a changed word has taken",
    "power": "share of exchanged words that the significance test finds, at a false discovery rate of 0.05",
    "false_calls": "share of the words it finds that did not change; 0.05 is what it allows",
    "spearman": "correlation with how far people say that words changed, of the cosine between the first slice and the "
    "last",
    "AUC": "chance that a word of which people say that it changed moved farther than one that did not",
    "stability": "share of a word's ten nearest neighbours that two seeds have in common",
    "seconds": "for one fit to the text",
    "memory_GB": "the most that its process held",
}
#: Quantiles of Student's t for 90% intervals, by degrees of freedom; for more, the last one is a little too large.
_T90: Final = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812)
_Row = dict[str, list[float]]  # a number for each seed, by measure
_Interval = tuple[float | None, float | None, float | None]  # a mean and its interval


def benchmark(
    corpus: Corpus | str | os.PathLike[str],
    *,
    models: str | Sequence[str] | None = None,
    spec: Spec | None = None,
    passes: int = 5,
    seeds: int | Sequence[int] = (0, 1, 2),
    max_slices: int = MAX_SLICES,
    tested: bool = False,
    gold: pl.DataFrame | str | os.PathLike[str] | None = None,
    threads: int | None = None,
    engine: str = "auto",
    device: str | None = None,
    out: str | os.PathLike[str] | None = None,
    show_progress: bool | None = None,
) -> pl.DataFrame:
    """Compare models and baselines on a corpus: what they find, miss, repeat and cost.

    Parameters
    ----------
    corpus
        What `driftword.prepare` made, or its path.
    models
        Which ones: ``"static"``, ``"binned"``, ``"dynamic"``, and the baselines ``"procrustes"``, ``"incremental"``,
        ``"compass"`` and ``"ppmi"``; by default all. Baselines need ``pip install 'driftword[baselines]'``.
    spec
        Options of static, binned and dynamic; baselines have the same `dim` and `context`.
    passes
        Passes over the text, for all of them.
    seeds
        A seed, or several: each plants other changes and fits anew.
    max_slices
        Slices are joined until there are at most this many.
    tested
        Also test every word for significance, in the text with planted changes: how many of these are found, and how
        many words are called that did not change. It takes longer than the fits.
    gold
        Words whose change people have judged: what `read_gold` returned, or the path of such a data set. The first
        slice and the last one must then be those that the judgements are about.
    threads, engine, device, show_progress
        As in `fit`.
    out
        Folder for what was fitted, and for the report, as ``benchmark.md`` and ``benchmark.json``. The same command
        uses again what is there. By default nothing is kept.

    Returns
    -------
    One row per model, and one per rule that knows nothing of meaning: each measure as a mean over seeds, with its 90%
    interval (``_low`` and ``_high``; of stability by leaving out each seed in turn). Null where a measure is not
    defined.
    """
    text, spec = as_corpus(corpus), as_spec(spec)
    names, numbers = _methods(models), checks.seeds(seeds)
    max_slices = checks.whole("max_slices", max_slices, least=2)
    if len(text.slices) < 2:
        raise OptionError("The corpus has a single slice, so nothing can move; prepare it with shorter slices")
    tested = checks.flag("tested", tested)
    judged = None if gold is None else as_gold(gold)
    if judged is not None:
        judged_words(judged, text.word_index)  # before anything is fitted
    folder, show_progress = checks.optional(checks.path, "out", out), checks.show_progress(show_progress)
    passes, threads = checks.whole("passes", passes, least=2), checks.threads(threads)
    if set(names) & set(OWN):
        choose_engine(engine, device)  # before anything is planted
    options = spec.to_dict()
    del options["model"]
    asked = {"corpus": text.fingerprint, "passes": passes, "slices": max_slices, "spec": options}
    learning = {"threads": threads, "engine": engine, "device": device}
    join = -(-len(text.slices) // max_slices)
    with ExitStack() as stack:
        if folder is None:
            place = stack.enter_context(scratch_folder())
        else:
            place = folder
            stack.enter_context(reserved(place))
            _check_folder(place, asked)
        bar = stack.enter_context(progress(show=show_progress))
        fits = {"learning": learning, "spec": spec.to_dict(), "passes": passes}
        run = _Run(text, place, join, fits, bar, tested=tested, gold=judged)
        table = _table(run.rows(names, numbers), len(numbers))
        if folder is not None:
            asked = {"corpus": text.fingerprint, "models": names, "seeds": numbers, **asked}
            _write_report(folder, table, text, {**asked, "slices": -(-len(text.slices) // join)})
    return table


class _Run:
    """The work of one benchmark, in a folder."""

    def __init__(
        self, text: Corpus, folder: Path, join: int, fits: Mapping[str, Any], bar: Progress, *, tested: bool,
        gold: pl.DataFrame | None,
    ) -> None:  # fmt: skip
        self.text, self.folder, self.join, self.fits, self.bar = text, folder, join, fits, bar
        self.tested, self.gold = tested, gold

    def rows(self, names: Sequence[str], seeds: Sequence[int]) -> dict[str, _Row]:
        """Return what was measured of every model and rule: one number for each seed, or pair of seeds."""
        self.bar.stage("planting changes", total=len(seeds))
        path = self.folder / "text.corpus"
        if store.read_meta(path) is None:
            join_slices(self.text, self.join, out=path)
        text = Corpus.open(path)
        planted: dict[int, tuple[Corpus, Planted]] = {}
        for seed in seeds:
            planted[seed] = self._plant(seed)
            self.bar.update(more=1)
        rows: dict[str, _Row] = {name: defaultdict(list) for name in (*names, *RULES)}
        moving = [name for name in names if name != "static"]
        self.bar.stage("fitting", total=len(seeds) * (len(names) + len(moving)))
        for name in names:
            fitted = []
            for seed in seeds:
                model, found = self._fit(name, seed, text)
                fitted.append(model)
                if model.predicts and text.has_split("test"):
                    found["L"] = float(evaluate(model, corpus=text, **self.fits["learning"])["L"][0])
                if name in moving:
                    found |= self._agreement(model, "cosine") | self._found(name, seed, *planted[seed])
                _note(rows[name], found)
            rows[name]["stability"] = measures.shared_neighbors(fitted, text)
        for rule in RULES:
            for corpus, words in planted.values():
                counts = np.asarray(corpus.counts)
                score = measures.frequency_change(counts) if rule == "frequency change" else counts.sum(axis=0)
                _note(rows[rule], _precision(score, counts.sum(axis=0), words))
            if moving:
                _note(rows[rule], self._agreement(fitted[-1], rule))
        return rows

    def _found(self, name: str, seed: int, corpus: Corpus, planted: Planted) -> dict[str, float]:
        """Return what a model finds of the planted changes."""
        model, _ = self._fit(name, seed, corpus)
        ranks = measures.partner_ranks(model, planted)
        found = {
            **_precision(measures.movement(model), np.asarray(model.counts).sum(axis=0), planted),
            "dates": measures.dated_within(model, planted, 1),
            "equivalents": float((1 / ranks).mean()) if len(ranks) else float("nan"),
        }
        if self.tested:
            self.bar.update(facts=f"{name}, seed {seed}: testing")
            q = significance(model, corpus=corpus, **self.fits["learning"], show_progress=False)
            found |= measures.called(dict(q.select("word", "q").iter_rows()), model.words, planted)
        return found

    def _agreement(self, model: Model, metric: str) -> dict[str, float]:
        """Return how well a metric, or a rule, agrees with the judgements, if there are any."""
        if self.gold is None:
            return {}
        table = score_gold(model, self.gold, between=(model.slices.labels[0], model.slices.labels[-1]))
        found = table.row(by_predicate=pl.col("metric") == metric, named=True)
        return {name: float("nan") if found[name] is None else found[name] for name in ("spearman", "AUC")}

    def _plant(self, seed: int) -> tuple[Corpus, Planted]:
        """Plant changes, or open what was planted before: the words are chosen again, and are the same."""
        path = self.folder / f"planted-{seed}.corpus"
        done = store.read_meta(path) is not None
        corpus, words = plant(
            self.text, join=self.join, subsample=self.text.subsample, seed=seed, out=None if done else path
        )
        if not words.changed.size:
            raise OptionError("No word occurs often enough to plant changes; use a larger corpus")
        left = int((~words.crowded).sum()) - words.changed.size
        if left < _FEW_LEFT * words.changed.size:
            warnings.warn(
                f"Changes were planted in {words.changed.size} words, and only {max(left, 0)} others hardly occur "
                "beside these; use a larger corpus, or chance alone finds most of them",
                DriftwordWarning, stacklevel=2,
            )  # fmt: skip
        return (Corpus.open(path) if done else corpus), words

    def _fit(self, method: str, seed: int, corpus: Corpus) -> tuple[Model, dict[str, float]]:
        """Fit a model in a process of its own, or open it where it was fitted before; return also what it took."""
        assert corpus.path is not None
        out = self.folder / f"{Path(corpus.path).stem}-{method}-{seed}.model"
        self.bar.update(facts=f"{method}, seed {seed}")
        spent = _read(out.with_suffix(".json"))
        if spent is None or store.read_meta(out) is None:
            spent = _in_another_process(
                {"method": method, "seed": seed, "corpus": str(corpus.path), "out": str(out), **self.fits}
            )
            _write(out.with_suffix(".json"), json.dumps(spent))
        self.bar.update(more=1)
        return Model.open(out), spent


def _note(row: _Row, found: Mapping[str, float]) -> None:
    for column, value in found.items():
        row[column].append(value)


def _precision(score: Array, counts: Array, planted: Planted) -> dict[str, float]:
    """Return how well a score of words tells those whose meaning changed from those that only became rarer."""
    return {
        "exchange_AP": measures.precision_of(score, planted, planted.lasts),
        "frequent_AP": measures.precision_of(score, planted, planted.lasts, counts >= BANDS[0][0]),
        "thinned": measures.thinned_above(score, counts, planted),
    }


def _in_another_process(asked: Mapping[str, Any]) -> dict[str, float]:
    """Fit a model in a process of its own and return what it took."""
    command, environment = python_program("driftword.benchmarking.fit_process")
    done = subprocess.run(
        command, input=json.dumps(asked), text=True, stdout=subprocess.PIPE, env=environment, check=False
    )
    if done.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if done.returncode or not done.stdout:
        raise RuntimeError(f"The process that fitted '{asked['method']}' failed; the lines above say why")
    spent: dict[str, Any] = json.loads(done.stdout)
    if "error" in spent:
        raise OptionError(spent["error"])
    return spent


def _methods(given: Any) -> list[str]:
    """Return the names of the models to compare, in a fixed order, if all that they need is installed."""
    names = list(METHODS) if given is None else checks.some_of("models", given, METHODS)
    if not names:
        raise OptionError(f"`models` is empty; name some of {', '.join(METHODS)}")
    if set(names) - set(OWN) and not all(map(find_spec, ("gensim", "scipy"))):
        raise OptionError(
            "Baselines need gensim and SciPy; run: pip install 'driftword[baselines]', or name other `models`"
        )
    return names


def _check_folder(folder: Path, asked: Mapping[str, Any]) -> None:
    """Refuse a folder with the fits of another benchmark; note what this one is about."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        empty = not any(folder.iterdir())
    known = _read(folder / "options.json")
    if known is None and empty:
        _write(folder / "options.json", json.dumps(asked))
    elif known != asked:
        what = "something else" if known is None else "a benchmark with other options, or of another corpus"
        raise OptionError(f"{checks.quoted(str(folder))} holds {what}; give another `out`")


def _read(path: Path) -> dict[str, Any] | None:
    """Return what a file of this folder holds; None where there is none, or not a whole one."""
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return facts
    except (OSError, ValueError):
        return None


def _write(path: Path, text: str) -> None:
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _table(rows: Mapping[str, _Row], n_seeds: int) -> pl.DataFrame:
    """Return means over seeds with their intervals."""
    columns: dict[str, Any] = {"model": list(rows), "seeds": [n_seeds] * len(rows)}
    for name in MEASURES:
        found = [[value for value in row.get(name, []) if np.isfinite(value)] for row in rows.values()]
        ends = [_interval_of_pairs(values, n_seeds) if name == "stability" else _interval(values) for values in found]
        columns[name], columns[f"{name}_low"], columns[f"{name}_high"] = zip(*ends, strict=True)
    kinds = {name: pl.Float64 for name in columns if name not in ("model", "seeds")}
    return pl.DataFrame(columns, schema_overrides=kinds)


def _interval(values: Sequence[float]) -> _Interval:
    """Return the mean of some numbers and its 90% interval; None where there are too few."""
    if len(values) < 2:
        return (values[0] if values else None), None, None
    return _around(mean(values), stdev(values) / len(values) ** 0.5, len(values) - 1)


def _interval_of_pairs(values: Sequence[float], n_seeds: int) -> _Interval:
    """Return the mean over all pairs of seeds and its 90% interval, by the jackknife: pairs share seeds."""
    if n_seeds < 3 or not values:
        return _interval(values[:1])
    pairs = list(itertools.combinations(range(n_seeds), 2))
    without = [
        mean(value for value, pair in zip(values, pairs, strict=True) if seed not in pair) for seed in range(n_seeds)
    ]
    error = ((n_seeds - 1) / n_seeds * sum((one - mean(without)) ** 2 for one in without)) ** 0.5
    return _around(mean(values), error, n_seeds - 1)


def _around(middle: float, error: float, freedom: int) -> _Interval:
    half = _T90[min(freedom, len(_T90)) - 1] * error
    return middle, middle - half, middle + half


def benchmark_cells(
    table: pl.DataFrame, wanted: Sequence[str] = tuple(MEASURES), *, digits: int = 3, sign: str = " ± "
) -> tuple[list[str], list[list[str]]]:
    """Return some measures of a benchmark as text: heads, and a row for each model that has any of them."""

    def cell(row: Mapping[str, Any], name: str) -> str:
        value, high = row[name], row[f"{name}_high"]
        if value is None:
            return ""
        if name in ("seconds", "memory_GB"):
            return f"{value:.1f}"
        places = digits + (name == "L")
        return f"{value:.{places}f}" + ("" if high is None else f"{sign}{high - value:.{places}f}")

    shown = [name for name in wanted if name in measured(table)]
    rows = [[row["model"], *(cell(row, name) for name in shown)] for row in table.iter_rows(named=True)]
    rows = [row for row in rows if any(row[1:])]
    return ["model", *(name.replace("_", " ") for name in shown)], rows


def measured(table: pl.DataFrame) -> list[str]:
    """Return the measures that a table has."""
    return [name for name in MEASURES if table[name].is_not_null().any()]


def benchmark_table(table: pl.DataFrame) -> str:
    """Write a benchmark as Markdown: each measure with half of its 90% interval."""
    return tables.lines_of(*benchmark_cells(table), form="markdown")


def _write_report(folder: Path, table: pl.DataFrame, text: Corpus, asked: Mapping[str, Any]) -> None:
    """Write the report for people and for programs."""
    made = {
        "machine": f"{machine()}, Python {platform.python_version()}",
        "versions": {**versions(), **{name: version(name) for name in ("gensim", "scipy") if find_spec(name)}},
    }
    facts = {**asked, "words": len(text.words), "text": int(np.asarray(text.counts).sum(dtype=np.int64)), **made}
    lines = [
        f"# Benchmark of {Path(text.path).stem if text.path else 'a corpus in memory'}",
        "",
        f"{facts['text']:,} words of text, {facts['words']:,} different words, {asked['slices']} slices; "
        f"K = {asked['spec']['dim']}, context {asked['spec']['context']}, {asked['passes']} passes; "
        f"seeds {', '.join(map(str, asked['seeds']))}.",
        "",
        benchmark_table(table),
        "",
        *([INTERVALS, ""] if len(asked["seeds"]) > 1 else []),
        *(f"- **{name.replace('_', ' ')}**: {MEASURES[name]}" for name in measured(table)),
        *(f"- **{name}**: a rule that knows nothing of meaning: {meaning}" for name, meaning in RULES.items()),
        "",
        f"{made['machine']}; " + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()) + ".",
        "",
    ]
    _write(folder / "benchmark.md", "\n".join(lines))
    _write(folder / "benchmark.json", json.dumps({**facts, "table": table.to_dicts()}, indent=1))
