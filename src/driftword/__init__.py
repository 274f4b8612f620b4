"""driftword: how words change their meaning over time."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import driftword.baselines as baselines
    import driftword.plot as plot
    from driftword.basics.errors import (
        BusyError,
        DriftwordError,
        DriftwordWarning,
        ExistsError,
        FitError,
        OptionError,
        SourceError,
        StoreError,
        UnknownSliceError,
        UnknownWordError,
    )
    from driftword.benchmarking.gold_sets import prepare_gold, read_gold, score_gold
    from driftword.benchmarking.judged_uses import gold_uses
    from driftword.benchmarking.suite import benchmark
    from driftword.corpus import Corpus, Slices
    from driftword.corpus.options import PrepareOptions
    from driftword.encoding.encoding import encode
    from driftword.exchange.exporting import export
    from driftword.exchange.importing import from_vectors, read_word2vec
    from driftword.exchange.model_card import card
    from driftword.exchange.text_vectors import TextVectorizer
    from driftword.explore import (
        analogy,
        changes,
        contrast,
        drift,
        equivalents,
        frequency,
        movers,
        neighborhoods,
        neighbors,
        similarity,
        towards,
        trajectory,
    )
    from driftword.fitting.comparison import compare
    from driftword.fitting.evaluation import evaluate
    from driftword.fitting.extending import extend
    from driftword.fitting.fitting import fit
    from driftword.fitting.planning import plan
    from driftword.fitting.tuning import tune
    from driftword.inference.combined import combine
    from driftword.inference.power import power
    from driftword.inference.significance import significance
    from driftword.models.model import Model
    from driftword.models.spec import Spec
    from driftword.models.usage import Usage
    from driftword.pages.offline_report import report
    from driftword.preparing import prepare
    from driftword.uses.brought_vectors import usage
    from driftword.uses.collocates import collocates
    from driftword.uses.concordance import concordance
    from driftword.uses.describing import describe
    from driftword.uses.drawn_occurrences import occurrences
    from driftword.uses.driving_passages import evidence
    from driftword.uses.judgements import export_uses, score_senses
    from driftword.uses.keywords import keywords
    from driftword.uses.sense_naming import name_senses
    from driftword.uses.senses import senses
    from driftword.uses.trends import trends

__version__ = "0.2.0"

#: Public names by the module that defines them; it is loaded when the first of them is used.
_MODULES = {
    "benchmarking.gold_sets": ("prepare_gold", "read_gold", "score_gold"),
    "benchmarking.judged_uses": ("gold_uses",),
    "benchmarking.suite": ("benchmark",),
    "fitting.comparison": ("compare",),
    "corpus": ("Corpus", "Slices"),
    "corpus.options": ("PrepareOptions",),
    "preparing": ("prepare",),
    "basics.errors": (
        "BusyError", "DriftwordError", "DriftwordWarning", "ExistsError", "FitError", "OptionError", "SourceError",
        "StoreError", "UnknownSliceError", "UnknownWordError",
    ),
    "fitting.evaluation": ("evaluate",),
    "encoding.encoding": ("encode",),
    "inference.combined": ("combine",),
    "inference.power": ("power",),
    "inference.significance": ("significance",),
    "explore": (
        "analogy", "changes", "contrast", "drift", "equivalents", "frequency", "movers", "neighborhoods", "neighbors",
        "similarity", "towards", "trajectory",
    ),
    "exchange.exporting": ("export",),
    "fitting.extending": ("extend",),
    "fitting.fitting": ("fit",),
    "exchange.importing": ("from_vectors", "read_word2vec"),
    "models.model": ("Model",),
    "exchange.model_card": ("card",),
    "pages.offline_report": ("report",),
    "fitting.planning": ("plan",),
    "models.spec": ("Spec",),
    "models.usage": ("Usage",),
    "exchange.text_vectors": ("TextVectorizer",),
    "fitting.tuning": ("tune",),
    "uses.brought_vectors": ("usage",),
    "uses.collocates": ("collocates",),
    "uses.concordance": ("concordance",),
    "uses.describing": ("describe",),
    "uses.drawn_occurrences": ("occurrences",),
    "uses.driving_passages": ("evidence",),
    "uses.judgements": ("export_uses", "score_senses"),
    "uses.keywords": ("keywords",),
    "uses.sense_naming": ("name_senses",),
    "uses.senses": ("senses",),
    "uses.trends": ("trends",),
}  # fmt: skip
#: Public modules.
_PARTS = ("baselines", "plot")
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BusyError", "Corpus", "DriftwordError", "DriftwordWarning", "ExistsError", "FitError", "Model", "OptionError",
    "PrepareOptions", "Slices", "SourceError", "Spec", "StoreError", "TextVectorizer", "UnknownSliceError",
    "UnknownWordError", "Usage",
    "analogy", "baselines", "benchmark", "card", "changes", "collocates", "combine", "compare", "concordance",
    "contrast", "describe", "drift", "encode", "equivalents", "evaluate", "evidence", "export", "export_uses",
    "extend", "fit", "frequency", "from_vectors", "gold_uses", "keywords", "movers", "name_senses", "neighborhoods",
    "neighbors", "occurrences", "plan", "plot", "power", "prepare", "prepare_gold", "read_gold", "read_word2vec",
    "report", "score_gold", "score_senses", "senses", "significance", "similarity", "towards", "trajectory", "trends",
    "tune", "usage",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: NumPy and Polars take a third of a second to import."""
    if name in _PARTS:
        return importlib.import_module(f"driftword.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'driftword' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"driftword.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
