"""`Spec`: every option of a model, checked once. The command line and stored metadata follow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from driftword.basics import checks
from driftword.basics.errors import OptionError

MODELS: Final = ("static", "frequency", "binned", "dynamic")
WALKS: Final = ("random", "ou", "jumps", "words")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "model": MODELS,
    "drift_unit": ("span", "year", "slice"),
    "walk": WALKS,
    "prior_slices": ("all", "first"),
    "resample": ("each-pass", "once"),
    "select_by": ("L", "L_pos"),
}
_MAX_DIM: Final = 100_000
_MAX_COUNT: Final = 1_000_000  # of words, rounds and negatives; far beyond any use, and within memory


@dataclass(frozen=True)
class Spec:
    """How a model is built and fitted.

    Parameters
    ----------
    model
        ``"dynamic"``: embeddings drift from slice to slice; ``"binned"``: each slice is fitted on its own;
        ``"static"``: one embedding for all slices; ``"frequency"``: the same with intercepts that drift, so that words
        become more or less frequent and nothing else.
    dim
        Number of dimensions of the vectors.
    context
        Number of words around a position that predict it: 8 is four on either side.
    negatives
        Weight of words that do not occur, relative to each word that does.
    drift_precision
        Precision of the random walk of embeddings in a unit of time; a larger value allows less movement.
    drift_unit
        That unit: ``"span"``, the time from the first slice to the last; ``"year"``; or ``"slice"``, one step from
        slice to slice whatever their distance, as in the paper.
    walk
        How the embeddings of the dynamic model move: ``"random"``, a random walk; ``"ou"``, one that tends back to the
        word's own mean (Ornstein-Uhlenbeck); ``"jumps"``, a random walk in which a step that is longer than those of
        words as frequent costs less, and a shorter one more, so that abrupt changes stay abrupt; ``"words"``, the same
        for all steps of a word together, so that some words move and others hardly do.
    ou_time
        How much time, in the drift unit, it takes until 37% of a distance from the mean is left, where the walk is
        ``"ou"``.
    dynamic_context
        Whether the context vectors of the dynamic model drift as well, with the same precision. It takes twice the
        memory.
    prior_precision
        Precision of the priors on context vectors and on embeddings. In the paper it is a thousandth of the drift
        precision, which is None in Python.
    prior_slices
        Slices that the prior on embeddings applies to: ``"all"``, over which its precision is shared out, or only the
        ``"first"``, as in the paper.
    intercept
        Whether every word has an intercept in every slice, which takes up how frequent it is, so that its embedding
        need not. Without, it is the paper's model.
    intercept_precision
        Precision of the random walk of intercepts in the same unit; by default a 300th of the drift precision.
    group_precision
        Precision of the differences between the embeddings of a group and those of all text, where a corpus has
        groups; a larger value keeps groups closer together.
    learning_rate
        Step size of Adagrad; in a context of more than eight words, of which each moves, it is smaller in proportion.
    final_rate
        Share of the learning rate that is left at the end of the last pass; it falls linearly.
    binned_rate
        Share of the learning rate that the binned model takes after its static pass: only where it starts restrains
        words that are rare in a slice.
    starts
        Number of times that a fit begins. Its first two passes are done that many times, each time with other random
        numbers, and it continues from their mean, with noise filtered out. Models with other seeds then agree more.
        A fit of one or two passes begins once.
    rounds
        Number of times that a pass applies the prior.
    block_size
        Number of positions that share one pool of negatives.
    run_length
        Number of consecutive positions of a text that go into a block together.
    pool_size
        Number of negatives in a pool.
    exponent
        Negatives are drawn in proportion to word counts raised to this power.
    resample
        ``"each-pass"`` subsamples the text anew for every pass; ``"once"`` keeps one subsample, as the paper does.
    select_by
        The score on validation text by which the best pass is selected: ``"L"``, or ``"L_pos"``, as in the paper.
    initial_scale
        Standard deviation of the initial embeddings and context vectors.
    initial_accumulator
        Initial value of Adagrad's accumulators of squared gradients.
    """

    model: str = "dynamic"
    dim: int = 100
    context: int = 8
    negatives: int = 20
    drift_precision: float = 30.0
    drift_unit: str = "span"
    walk: str = "random"
    ou_time: float = 1.0
    dynamic_context: bool = False
    prior_precision: float | None = 20.0
    prior_slices: str = "all"
    intercept: bool = True
    intercept_precision: float | None = None
    group_precision: float = 100.0
    learning_rate: float = 0.3
    final_rate: float = 0.1
    binned_rate: float = 0.05
    starts: int = 2
    rounds: int = 10
    block_size: int = 32
    run_length: int = 4
    pool_size: int = 64
    exponent: float = 0.75
    resample: str = "each-pass"
    select_by: str = "L"
    initial_scale: float = 0.01
    initial_accumulator: float = 0.01

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            name: checks.one_of(name, getattr(self, name), known) for name, known in _CHOICES.items()
        }
        checked["final_rate"] = checks.real("final_rate", self.final_rate, low=0, high=1)
        checked["exponent"] = checks.real("exponent", self.exponent, low=0, high=2)
        checked["dim"] = checks.whole("dim", self.dim, least=1, most=_MAX_DIM)
        for name in ("negatives", "starts", "rounds", "block_size", "run_length", "pool_size"):
            checked[name] = checks.whole(name, getattr(self, name), least=1, most=_MAX_COUNT)
        checked["context"] = checks.whole("context", self.context, least=2, most=_MAX_COUNT)
        if checked["context"] % 2:
            raise OptionError(f"`context` is {self.context}; it must be even (8: four words on either side)")
        positive = ("drift_precision", "ou_time", "group_precision", "learning_rate", "binned_rate")
        for name in (*positive, "initial_scale", "initial_accumulator"):
            checked[name] = checks.real(name, getattr(self, name), positive=True)
        for name in ("prior_precision", "intercept_precision"):
            checked[name] = checks.optional(checks.real, name, getattr(self, name), low=0)
        for name in ("intercept", "dynamic_context"):
            checked[name] = checks.flag(name, getattr(self, name))
        if checked["model"] == "frequency" and not checked["intercept"]:
            raise OptionError("Without intercepts there is no model of frequency alone; use another `model`")
        for name, value in checked.items():  # NumPy's numbers become Python's, which JSON knows
            object.__setattr__(self, name, value)

    @classmethod
    def paper(cls, **options: Any) -> Spec:
        """Return the options of the paper (Rudolph & Blei 2018), and those given instead of them.

        The paper chose `drift_precision` (from 1 to 10), `learning_rate` and the size of minibatches on validation
        text, as `tune` does. Its text was prepared with `subsample=1e-5`.
        """
        return cls(**{**PAPER, **options})

    @property
    def prior(self) -> float:
        """Precision of the priors on context vectors and embeddings, the default of the paper resolved."""
        return self.drift_precision / 1000 if self.prior_precision is None else self.prior_precision

    @property
    def intercept_walk(self) -> float:
        """Precision of the random walk of intercepts, the default resolved."""
        return self.drift_precision / 300 if self.intercept_precision is None else self.intercept_precision

    @property
    def contexts_drift(self) -> bool:
        """Whether every slice has context vectors of its own."""
        return self.dynamic_context and self.model == "dynamic"

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Spec:
        """Restore what `to_dict` returned; unknown names are ignored."""
        if not isinstance(options, Mapping):
            raise OptionError(f"`options` is {checks.shown(options)}; give what `to_dict` returned")
        known = {field.name for field in fields(cls)}
        options = {"starts": 1, **options}  # earlier fits began once
        return cls(**{name: value for name, value in options.items() if name in known})

    def to_dict(self) -> dict[str, Any]:
        """Return the options ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        from driftword.basics.tables import html_facts  # loads Polars, which the command line's help need not wait for

        usual = Spec().to_dict()
        told = {name: "none" if value is None else str(value) for name, value in self.to_dict().items()}
        return html_facts("Spec", {
            name: told[name] if value == usual[name] else f"{told[name]} (usually {usual[name]})"
            for name, value in self.to_dict().items()
        })  # fmt: skip


PAPER_SUBSAMPLE: Final = 1e-5  # which the text of the paper was prepared with
#: What the paper's protocol has instead of our defaults.
PAPER: Final[Mapping[str, Any]] = {
    "drift_precision": 10.0,
    "drift_unit": "slice",
    "prior_precision": None,
    "prior_slices": "first",
    "intercept": False,
    "learning_rate": 0.05,
    "final_rate": 1.0,
    "binned_rate": 1.0,
    "block_size": 1,
    "run_length": 1,
    "pool_size": 20,
    "starts": 1,
    "resample": "once",
    "select_by": "L_pos",
    "initial_scale": 0.01,
}


def as_spec(spec: Spec | None) -> Spec:
    """Return the options that a user gave, or the defaults for None."""
    if spec is None:
        return Spec()
    if not isinstance(spec, Spec):
        raise OptionError(f"`spec` is {checks.shown(spec)}; give a Spec, such as dw.Spec(dim=50)")
    return spec
