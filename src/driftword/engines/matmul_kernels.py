"""One small matrix product, kept in vector registers.

The matrices of a block have a few dozen rows, too few for a call into BLAS to pay,
and what the compiler makes of three plain loops spends most of its time moving
sums in and out of registers. So this one loop nest is written for the compiler's
own language: `TILE` rows of the result times one vector of `LANES` numbers stay
in registers while the sum runs.
"""

from __future__ import annotations

from typing import Any, Final

import llvmlite.binding as llvm
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

TILE: Final = 8
LANES: Final = 16 if llvm.get_host_cpu_features().get("avx512f") else 8

_BYTES = ir.IntType(8).as_pointer()
_NUMBER = ir.FloatType()
_VECTOR = ir.VectorType(_NUMBER, LANES)
_INDEX = ir.IntType(64)


@intrinsic
def _add_tile(_: Any, left: Any, right: Any, out: Any, i: Any, k: Any, n: Any) -> Any:
    """Add left[i : i + TILE, :n] @ right[:n, k : k + LANES] to its place in `out`; n is at least 1."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        left, right, out = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:3], args[:3], strict=True)
        )
        i, k, n = args[3:]

        def at(array: Any, row: Any, column: Any) -> Any:
            down, across = cgutils.unpack_tuple(builder, array.strides, 2)
            distance = builder.add(builder.mul(row, down), builder.mul(column, across))
            return builder.gep(builder.bitcast(array.data, _BYTES), [distance])

        def load(place: Any, kind: Any) -> Any:
            value = builder.load(builder.bitcast(place, kind.as_pointer()))
            value.align = 4
            return value

        rows = [builder.add(i, _INDEX(r)) for r in range(TILE)]
        results = [at(out, row, k) for row in rows]
        # The empty assembly hides from the compiler that these addresses are equally far apart. Knowing it,
        # it would reach each by an addition to the one before, and the chain would take longer than the sums.
        hide = ir.FunctionType(_BYTES, [_BYTES])
        factors = [builder.asm(hide, "", "=r,0", [at(left, row, _INDEX(0))], False) for row in rows]
        begin = [load(place, _VECTOR) for place in results]
        vectors = at(right, _INDEX(0), k)
        factor_step = cgutils.unpack_tuple(builder, left.strides, 2)[1]
        vector_step = cgutils.unpack_tuple(builder, right.strides, 2)[0]

        before = builder.block
        loop = builder.append_basic_block("sum")
        after = builder.append_basic_block("summed")
        builder.branch(loop)
        builder.position_at_end(loop)
        j = builder.phi(_INDEX)
        j.add_incoming(_INDEX(0), before)
        sums = [builder.phi(_VECTOR) for _ in rows]
        vector = load(builder.gep(vectors, [builder.mul(j, vector_step)]), _VECTOR)
        distance = builder.mul(j, factor_step)
        for place, total, start in zip(factors, sums, begin, strict=True):
            factor = _spread(builder, load(builder.gep(place, [distance]), _NUMBER))
            product = builder.fmul(factor, vector, flags=("contract",))
            total.add_incoming(start, before)
            total.add_incoming(builder.fadd(total, product, flags=("contract",)), loop)
        following = builder.add(j, _INDEX(1))
        j.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, n), loop, after)
        builder.position_at_end(after)
        for place, total in zip(results, sums, strict=True):
            stored = builder.store(total.incomings[1][0], builder.bitcast(place, _VECTOR.as_pointer()))
            stored.align = 4
        return context.get_dummy_value()

    return types.none(left, right, out, types.int64, types.int64, types.int64), generate


def _spread(builder: ir.IRBuilder, number: Any) -> Any:
    """Return a vector that holds one number in every lane."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


@njit(cache=True, nogil=True, error_model="numpy")
def add_product(left: Any, right: Any, rows: int, columns: int, n: int, out: Any) -> None:
    """Compute out += left @ right, summing over n > 0; `rows` are whole tiles, `columns` whole vectors."""
    for i in range(0, rows, TILE):
        for k in range(0, columns, LANES):
            _add_tile(left, right, out, i, k, n)
