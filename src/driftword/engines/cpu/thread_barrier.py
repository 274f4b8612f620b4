"""A barrier for threads inside Numba loops: none goes on before all have arrived.

Waves are short, and a barrier in Python would take longer than some of them. Threads that
wait give their core away again and again, so that more threads than cores do no harm.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir

from driftword.basics.jit import intrinsic, njit, types


@intrinsic
def add_and_get(_: Any, counters: Any, i: Any, amount: Any) -> Any:  # noqa: ARG001
    """Add to counters[i] as one step that no other thread can interrupt; return the sum."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        before = builder.atomic_rmw("add", builder.gep(array.data, [args[1]]), args[2], "seq_cst")
        return builder.add(before, args[2])

    return types.int64(counters, types.int64, types.int64), generate


if os.name == "posix":
    _yield_core = types.ExternalFunction("sched_yield", types.int32())
else:

    @njit(cache=True, nogil=True)
    def _yield_core() -> int:  # pragma: no cover
        return 0


@njit(cache=True, nogil=True)
def wait_for_all(counters: Any, i: int, threads: int) -> None:
    """Wait until as many threads have called this with counters[i], which starts at 0, as there are."""
    if threads == 1:
        return
    arrived = add_and_get(counters, i, 1)
    complete = (arrived + threads - 1) // threads * threads
    spins = 0
    while add_and_get(counters, i, 0) < complete:
        spins += 1
        if spins % 64 == 0:
            _yield_core()
