"""A fit as it is decided before the first word is read: its schedule, its engine, and whether it fits into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from driftword.basics.errors import DriftwordError, OptionError
from driftword.basics.process import available_memory, rank
from driftword.corpus import Corpus
from driftword.engines import Engine, choose_engine, make_engine
from driftword.engines.parameters import Parameters
from driftword.engines.rounds import Sampler
from driftword.fitting.held_out import measure_contexts
from driftword.fitting.schedule import Schedule
from driftword.models.spec import Spec

StartEngine = Callable[[Parameters, Sampler], Engine]


class StartAny(Protocol):
    """Starts the engine of a fit, or of the fit of one of its groups."""

    def __call__(self, parameters: Parameters, sampler: Sampler, *, group: str | None = None) -> Engine:
        """Start it."""


WITH_GROUPS: Final = ("binned", "dynamic")  # models that have embeddings of groups
#: Tables that a fit keeps, of a number for each slice, word and dimension: embeddings, and those of the best pass.
_TABLES: Final = 2
_OF_GROUP: Final = 2  # those of the group under way, beside one for each group


@dataclass(frozen=True)
class Job:
    """Everything about a fit that does not change while it runs."""

    corpus: Corpus
    schedule: Schedule
    engine: str
    machine: dict[str, Any]  # options of the engine: threads, device, half_precision, reproducible

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that must be equal for a fit to be the continuation of another."""
        spec = self.schedule.spec
        return {
            "spec": spec.to_dict(),
            "seed": self.schedule.seed,
            "corpus": self.corpus.fingerprint,
            "engine": self.engine,
            "passes": self.schedule.passes if spec.final_rate < 1 else None,  # the learning rate depends on it
        }

    @property
    def model_size(self) -> int:
        """The number of bytes that the model will take on disk, approximately."""
        spec = self.schedule.spec
        tables = 1 + len(self.corpus.groups) + spec.contexts_drift
        values = (tables * self.schedule.n_slices + 1) * len(self.corpus.words) * spec.dim
        return values * (2 if self.machine["half_precision"] else 4)

    def start_alone(self, parameters: Parameters, sampler: Sampler, *, group: str | None = None) -> Engine:
        """Start an engine of this process, even where several fit together; it works on whatever text it is given."""
        del group
        return make_engine(self.engine, parameters, sampler, **self.machine)

    @contextmanager
    def starting(self) -> Iterator[StartAny]:
        """Yield what starts the engine of the fit: that of this process, or one of all that ``torchrun`` started."""
        if rank()[1] == 1:
            yield self.start_alone
            return
        from driftword.engines.distributed.engine import leading  # it needs PyTorch

        with leading(self.corpus, self.engine, self.machine) as start:
            yield start


@contextmanager
def telling_others() -> Iterator[None]:
    """Tell the other processes of this ``torchrun`` of an error that ends this one: they would wait for it."""
    try:
        yield
    except DriftwordError as error:
        if rank()[1] > 1:
            from driftword.engines.distributed.ranks import tell

            tell(str(error))
        raise


def plan_job(corpus: Corpus, spec: Spec, *, passes: int, seed: int, engine: str, machine: dict[str, Any]) -> Job:
    """Decide how a corpus is fitted; refuse what cannot be."""
    if not corpus.has_split("train"):
        raise OptionError("The corpus has no training text")
    name = choose_engine(engine, machine["device"])
    distances = corpus.slices.distances[: 0 if spec.model == "static" else None]
    check_memory(spec, len(corpus.slices), len(corpus.words), len(corpus.groups))
    centering = measure_contexts(corpus, spec.context // 2) if spec.intercept else None
    return Job(corpus, Schedule(spec, passes, distances, seed, centering), name, machine)


def fit_memory(spec: Spec, n_slices: int, n_words: int, n_groups: int = 0) -> float:
    """Return how many bytes of memory a fit takes, approximately, without its text."""
    tables = _TABLES * (2 if spec.contexts_drift else 1)
    if n_groups and spec.model in WITH_GROUPS and n_slices > 1:
        tables += n_groups + _OF_GROUP
    return tables * _table_size(spec, n_slices, n_words)


def check_memory(spec: Spec, n_slices: int, n_words: int, n_groups: int) -> None:
    """Refuse groups or drifting context vectors that do not fit into memory; say what would."""
    alone, needed = (fit_memory(spec, n_slices, n_words, n) for n in (0, n_groups))
    free = available_memory()
    if needed <= free or (needed == alone and not spec.contexts_drift):
        return
    remedy = "use longer slices, a smaller `dim` or fewer words"
    if spec.contexts_drift:
        remedy = f"leave out `dynamic_context`, or {remedy}"
    fits = int((free - alone) // _table_size(spec, n_slices, n_words)) - _OF_GROUP
    if needed > alone and fits >= 2:
        remedy = f"name at most {fits} of its groups as `groups` when you prepare the corpus, or {remedy}"
    raise OptionError(
        f"The fit takes about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; {remedy}"
    )


def _table_size(spec: Spec, n_slices: int, n_words: int) -> float:
    return 4.0 * (1 if spec.model == "static" else n_slices) * n_words * (spec.dim + spec.intercept)
