"""A barrier for threads inside Numba loops: none goes on before all have arrived.

Waves are short, and a barrier in Python would take longer than some of them. So threads that wait look again and again,
for about as long as the others usually take. Then they sleep, for longer and longer moments: where a busy machine has
stopped one of the others, the system lets it go on here, but not on a core that is idle only for a moment.
"""

from __future__ import annotations

import os
from typing import Any, Final

from llvmlite import ir

from driftword.basics.jit import intrinsic, njit, types

LOOKS: Final = 4096  # before a thread sleeps: some tens of microseconds
NAP: Final = 20  # microseconds, and twice as long each time
LONGEST_NAP: Final = 2000


def _counter(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@intrinsic
def add_and_get(_: Any, counters: Any, i: Any, amount: Any) -> Any:  # noqa: ARG001
    """Add to counters[i] as one step that no other thread can interrupt; return the sum."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        before = builder.atomic_rmw("add", _counter(context, builder, signature, args), args[2], "seq_cst")
        return builder.add(before, args[2])

    return types.int64(counters, types.int64, types.int64), generate


@intrinsic
def _get(_: Any, counters: Any, i: Any) -> Any:  # noqa: ARG001
    """Return counters[i] as it is now, and everything that was written before it became so."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_counter(context, builder, signature, args), "acquire", 8)

    return types.int64(counters, types.int64), generate


if os.name == "posix":
    _sleep = types.ExternalFunction("usleep", types.int32(types.uint32))
else:

    @njit(cache=True, nogil=True)
    def _sleep(microseconds: int) -> int:  # pragma: no cover
        return microseconds


@njit(cache=True, nogil=True)
def wait_for_all(counters: Any, i: int, threads: int) -> None:
    """Wait until as many threads have called this with counters[i], which starts at 0, as there are."""
    if threads == 1:
        return
    arrived = add_and_get(counters, i, 1)
    complete = (arrived + threads - 1) // threads * threads
    looks, nap = 0, NAP
    while _get(counters, i) < complete:
        looks += 1
        if looks > LOOKS:
            _sleep(nap)
            nap = min(2 * nap, LONGEST_NAP)
