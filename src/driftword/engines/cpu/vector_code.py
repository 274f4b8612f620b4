"""Parts of LLVM's intermediate language that the kernels written in it share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from driftword.basics.jit import cgutils

BYTE_POINTER: Final = ir.IntType(8).as_pointer()
FLOAT: Final = ir.FloatType()
INDEX: Final = ir.IntType(64)
CONTRACT: Final = ("contract",)  # a product and a sum may become one operation


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
    return spread(builder, first, 0, lanes)


def spread(builder: ir.IRBuilder, vector: Any, lane: int, lanes: int) -> Any:
    """Return a vector that holds one number of another in every lane."""
    undefined = ir.Constant(vector.type, ir.Undefined)
    return builder.shuffle_vector(vector, undefined, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [lane] * lanes))


def add_product(builder: ir.IRBuilder, total: Any, one: Any, other: Any) -> Any:
    """Return total + one * other."""
    return builder.fadd(total, builder.fmul(one, other, flags=CONTRACT), flags=CONTRACT)


def loop(
    builder: ir.IRBuilder,
    begin: Any,
    end: Any,
    body: Callable[..., Sequence[Any]],
    *,
    step: int = 1,
    start: Sequence[Any] = (),
) -> list[Any]:
    """Emit ``for i in range(begin, end, step)``; `body` gets i and values, and returns those of the next turn."""
    before = builder.block
    head, inside, after = (builder.append_basic_block(name) for name in ("head", "inside", "after"))
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(INDEX)
    values = [builder.phi(value.type) for value in start]
    builder.cbranch(builder.icmp_signed("<", i, end), inside, after)
    builder.position_at_end(inside)
    found = body(i, *values)
    following, last = builder.add(i, INDEX(step)), builder.block
    builder.branch(head)
    for value, first, new in zip([i, *values], [begin, *start], [following, *found], strict=True):
        value.add_incoming(first, before)
        value.add_incoming(new, last)
    builder.position_at_end(after)
    return values
