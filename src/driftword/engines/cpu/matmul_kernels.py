"""One small matrix product, kept in vector registers.

The matrices of a block have a few dozen rows, too few for a call into BLAS to pay off,
and three plain loops, as Numba compiles them, spend most of their time moving sums in
and out of registers. So this one loop nest is written in LLVM's intermediate language:
`TILE` rows of the result by one vector of `LANES` numbers stay in registers while the
sum runs.
"""

from __future__ import annotations

from typing import Any, Final

import llvmlite.binding as llvm
from llvmlite import ir

from driftword.basics.jit import cgutils, intrinsic, njit, register_jitable, types

TILE: Final = 8
LANES: Final = 16 if llvm.get_host_cpu_features().get("avx512f") else 8


@register_jitable
def padded(count: Any, unit: int) -> Any:
    """Round up to a multiple, in kernels and outside."""
    return (count + unit - 1) // unit * unit


BYTE_POINTER: Final = ir.IntType(8).as_pointer()
FLOAT: Final = ir.FloatType()
_VECTOR: Final = ir.VectorType(FLOAT, LANES)
_INDEX: Final = ir.IntType(64)


def arrays_of(context: Any, builder: ir.IRBuilder, kinds: Any, values: Any) -> list[Any]:
    """Return arguments of an intrinsic that are arrays."""
    return [context.make_array(kind)(context, builder, value) for kind, value in zip(kinds, values, strict=True)]


def address(builder: ir.IRBuilder, array: Any, row: Any, column: Any) -> Any:
    """Return the address of array[row, column]."""
    row_stride, column_stride = cgutils.unpack_tuple(builder, array.strides, 2)
    offset = builder.add(builder.mul(row, row_stride), builder.mul(column, column_stride))
    return builder.gep(builder.bitcast(array.data, BYTE_POINTER), [offset])


def load(builder: ir.IRBuilder, pointer: Any, kind: Any) -> Any:
    """Return the number or the vector at an address, which is aligned to one number only."""
    value = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    value.align = 4
    return value


def store(builder: ir.IRBuilder, value: Any, pointer: Any) -> None:
    """Write a vector to an address, likewise."""
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer())).align = 4


def splat(builder: ir.IRBuilder, number: Any, lanes: int) -> Any:
    """Return a vector that holds one number in every lane."""
    undefined = ir.Constant(ir.VectorType(FLOAT, lanes), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))


@intrinsic
def _add_tile(_: Any, left: Any, right: Any, out: Any, i: Any, k: Any, n: Any) -> Any:
    """Add left[i : i + TILE, :n] @ right[:n, k : k + LANES] to out[i : i + TILE, k : k + LANES]; n is at least 1."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        left, right, out = arrays_of(context, builder, signature.args[:3], args[:3])
        i, k, n = args[3:]
        rows = [builder.add(i, _INDEX(r)) for r in range(TILE)]
        out_pointers = [address(builder, out, row, k) for row in rows]
        # The empty assembly hides from the compiler that these addresses are equally spaced. Otherwise it would
        # compute each from the one before, and that chain of additions would take longer than the sums.
        hide = ir.FunctionType(BYTE_POINTER, [BYTE_POINTER])
        left_pointers = [builder.asm(hide, "", "=r,0", [address(builder, left, row, _INDEX(0))], False) for row in rows]
        initial = [load(builder, pointer, _VECTOR) for pointer in out_pointers]
        right_pointer = address(builder, right, _INDEX(0), k)
        left_stride = cgutils.unpack_tuple(builder, left.strides, 2)[1]
        right_stride = cgutils.unpack_tuple(builder, right.strides, 2)[0]

        before = builder.block
        loop = builder.append_basic_block("sum")
        after = builder.append_basic_block("summed")
        builder.branch(loop)
        builder.position_at_end(loop)
        j = builder.phi(_INDEX)
        j.add_incoming(_INDEX(0), before)
        sums = [builder.phi(_VECTOR) for _ in rows]
        vector = load(builder, builder.gep(right_pointer, [builder.mul(j, right_stride)]), _VECTOR)
        offset = builder.mul(j, left_stride)
        for pointer, total, start in zip(left_pointers, sums, initial, strict=True):
            factor = splat(builder, load(builder, builder.gep(pointer, [offset]), FLOAT), LANES)
            product = builder.fmul(factor, vector, flags=("contract",))
            total.add_incoming(start, before)
            total.add_incoming(builder.fadd(total, product, flags=("contract",)), loop)
        next_j = builder.add(j, _INDEX(1))
        j.add_incoming(next_j, loop)
        builder.cbranch(builder.icmp_signed("<", next_j, n), loop, after)
        builder.position_at_end(after)
        for pointer, total in zip(out_pointers, sums, strict=True):
            store(builder, total.incomings[1][0], pointer)
        return context.get_dummy_value()

    return types.none(left, right, out, types.int64, types.int64, types.int64), generate


@njit(cache=True, nogil=True, error_model="numpy")
def add_product(left: Any, right: Any, rows: int, columns: int, n: int, out: Any) -> None:
    """Compute out += left @ right over n > 0 terms; `rows` is a multiple of TILE, `columns` of LANES."""
    for k in range(0, columns, LANES):  # first, so that these columns of `right` stay in the nearest cache
        for i in range(0, rows, TILE):
            _add_tile(left, right, out, i, k, n)
