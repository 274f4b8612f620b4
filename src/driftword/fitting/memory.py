"""How much memory a fit takes, said before it begins."""

from __future__ import annotations

from typing import Final

from driftword.basics.errors import OptionError
from driftword.basics.process import available_memory
from driftword.models.spec import Spec

WITH_GROUPS: Final = ("binned", "dynamic")  # models that have embeddings of groups
#: Tables that a fit keeps, of a number for each slice, word and dimension: embeddings, accumulators, the best pass.
_TABLES: Final = 3
_OF_GROUP: Final = 2  # those of the group under way, beside one for each group


def fit_memory(spec: Spec, n_slices: int, n_words: int, n_groups: int = 0) -> float:
    """Return how many bytes a fit takes, about, without its text."""
    tables = _TABLES * (2 if spec.contexts_drift else 1)
    if n_groups and spec.model in WITH_GROUPS and n_slices > 1:
        tables += n_groups + _OF_GROUP
    return tables * _table(spec, n_slices, n_words)


def check_memory(spec: Spec, n_slices: int, n_words: int, n_groups: int = 0) -> None:
    """Refuse groups or drifting context vectors that do not fit into memory; say what would."""
    alone, needed = (fit_memory(spec, n_slices, n_words, n) for n in (0, n_groups))
    free = available_memory()
    if needed <= free or (needed == alone and not spec.contexts_drift):
        return
    remedy = "use longer slices, a smaller `dim` or fewer words"
    if spec.contexts_drift:
        remedy = f"leave out `dynamic_context`, or {remedy}"
    fits = int((free - alone) // _table(spec, n_slices, n_words)) - _OF_GROUP
    if needed > alone and fits >= 2:
        remedy = f"name at most {fits} of its groups as `groups` when you prepare the corpus, or {remedy}"
    raise OptionError(
        f"The fit takes about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; {remedy}"
    )


def _table(spec: Spec, n_slices: int, n_words: int) -> float:
    """Return the bytes of one table."""
    return 4.0 * (1 if spec.model == "static" else n_slices) * n_words * (spec.dim + spec.intercept)
