"""How much memory a fit takes, said before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from driftword.errors import OptionError
from driftword.spec import Spec

WITH_GROUPS: Final = ("binned", "dynamic")  # models that have embeddings of groups
_FIT: Final = (
    3  # tables of one number for each word, slice and dimension: embeddings, their accumulators, the best pass
)
_GROUP: Final = 2  # tables of the group under way, beside those of all groups


def fit_memory(spec: Spec, n_slices: int, n_words: int, n_groups: int = 0) -> float:
    """Return how many bytes a fit takes, about, without its text."""
    table = 4.0 * (1 if spec.model == "static" else n_slices) * n_words * (spec.dim + spec.intercept)
    groups = n_groups + _GROUP if n_groups and spec.model in WITH_GROUPS and n_slices > 1 else 0
    return table * (_FIT * (2 if spec.contexts_drift else 1) + groups)


def check_memory(spec: Spec, n_slices: int, n_words: int, n_groups: int = 0) -> None:
    """Refuse groups or drifting context vectors that do not fit into memory; say what would."""
    needed, usual = (fit_memory(s, n_slices, n_words, n) for s, n in ((spec, n_groups), (spec, 0)))
    free = _available_memory()
    if free is None or needed <= free or (needed == usual and not spec.contexts_drift):
        return
    remedy = "use longer slices, a smaller `dim` or fewer words"
    if spec.contexts_drift:
        remedy = f"leave out `dynamic_context`, which takes twice as much, or {remedy}"
    fits = int((free - usual) // (usual / (_FIT * (2 if spec.contexts_drift else 1)))) - _GROUP
    if needed > usual and fits >= 2:
        remedy = f"name at most {fits} of its groups as `groups` when you prepare the corpus, or {remedy}"
    raise OptionError(
        f"The fit takes about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; {remedy}"
    )


def _available_memory() -> float | None:
    """Return how many bytes of memory are free; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None
