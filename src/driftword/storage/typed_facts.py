"""Facts from JSON files that anybody may have written, as values of the types that they must have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

#: A whole number as arrays can hold it: seeds, sizes, numbers of passes.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_T = TypeVar("_T")


def typed(facts: Mapping[str, Any], schema: type[_T]) -> _T:
    """Return the facts that a class names in its fields; raise ValueError where one is missing or of another type.

    Other facts are ignored, so that a later version may add some.
    """
    try:
        return msgspec.convert(facts, schema)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
