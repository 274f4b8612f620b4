"""Operations on whole rows of tables: sums, products and steps of vectors, `CHUNK` numbers at a time.

Rows are padded with zeros to whole lines of the cache. A loop that knows this has no remainder and no check whether
arrays overlap, which take as long as the work itself in loops as short as these. So they are written in LLVM's
intermediate language, as the matrix product is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from driftword.basics.jit import cgutils, intrinsic, types
from driftword.engines.cpu import vector_code as code
from driftword.engines.cpu.matmul_kernels import padded
from driftword.engines.cpu.vector_code import BYTE_POINTER, FLOAT, INDEX, address, arrays_of, load, splat, store

CHUNK: Final = 16  # numbers: a line of the cache
_VECTOR: Final = ir.VectorType(FLOAT, CHUNK)
_SIDE: Final = 4  # of the tiles of a transpose


def aligned_zeros(*shape: int) -> npt.NDArray[np.float32]:
    """Return an array of zeros whose rows begin where lines of the cache do; its last axis is padded."""
    *rows, columns = shape
    width = padded(columns, CHUNK)
    size = int(np.prod(rows)) * width
    numbers = np.zeros(size + CHUNK, np.float32)
    first = -numbers.ctypes.data // 4 % CHUNK
    return numbers[first : first + size].reshape(*rows, width)


def _total(builder: ir.IRBuilder, vector: Any) -> Any:
    """Return the sum of the numbers of a vector."""
    kind = ir.FunctionType(FLOAT, [FLOAT, _VECTOR])
    add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{CHUNK}f32")
    return builder.call(add, [FLOAT(0.0), vector], fastmath=("reassoc",))


_ZEROS: Final = ir.Constant(_VECTOR, [0.0] * CHUNK)


@intrinsic
def window_sum(_: Any, out: Any, r: Any, sums: Any, low: Any, high: Any, own: Any, after: Any) -> Any:
    """Set out[r] to (sums[high] - sums[low]) - (sums[after] - sums[own]); return the sum of its squares.

    Where `sums` are those of all rows before, that is the sum of rows low..high-1 without own..after-1.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        out, sums = arrays_of(context, builder, signature.args[:3:2], args[:3:2])
        width = cgutils.unpack_tuple(builder, out.shape, 2)[1]

        def chunk(k: Any, squares: Any) -> list[Any]:
            low, high, own, after = (load(builder, address(builder, sums, row, k), _VECTOR) for row in args[3:])
            total = builder.fsub(builder.fsub(high, low), builder.fsub(after, own))
            store(builder, total, address(builder, out, args[1], k))
            return [code.add_product(builder, squares, total, total)]

        (squares,) = code.loop(builder, INDEX(0), width, chunk, step=CHUNK, start=[_ZEROS])
        return _total(builder, squares)

    number = types.int64
    return types.float32(out, number, sums, number, number, number, number), generate


def _prefix_sums(builder: Any, out: Any, first: Any, table: Any, row_of: Any, count: Any) -> None:
    """Emit: out[first] is zero, and out[first + j + 1] the sum of row_of(0) to row_of(j), for j in 0..count-1."""

    def chunk(k: Any) -> list[Any]:
        def add(j: Any, total: Any) -> list[Any]:
            store(builder, total, address(builder, out, builder.add(first, j), k))
            return [builder.fadd(total, load(builder, address(builder, table, row_of(j), k), _VECTOR))]

        (total,) = code.loop(builder, INDEX(0), count, add, start=[_ZEROS])
        store(builder, total, address(builder, out, builder.add(first, count), k))
        return []

    code.loop(builder, INDEX(0), cgutils.unpack_tuple(builder, out.shape, 2)[1], chunk, step=CHUNK)


@intrinsic
def prefix_sums(_: Any, out: Any, first: Any, table: Any, begin: Any, count: Any) -> Any:
    """Set out[first + j] to the sum of table[begin..begin+j-1], for j in 0..count."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        out, table = arrays_of(context, builder, signature.args[:3:2], args[:3:2])
        _prefix_sums(builder, out, args[1], table, lambda j: builder.add(args[3], j), args[4])
        return context.get_dummy_value()

    return types.none(out, types.int64, table, types.int64, types.int64), generate


@intrinsic
def prefix_sums_of(_: Any, out: Any, table: Any, first_row: Any, rows: Any, begin: Any, count: Any) -> Any:
    """Set out[j] to the sum of table[first_row + rows[begin]] to table[first_row + rows[begin + j - 1]], likewise."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        kinds = signature.args
        out, table, rows = arrays_of(context, builder, (*kinds[:2], kinds[3]), (*args[:2], args[3]))

        def row_of(j: Any) -> Any:
            row = builder.load(builder.gep(rows.data, [builder.add(args[4], j)]))
            return builder.add(args[2], builder.sext(row, INDEX))

        _prefix_sums(builder, out, INDEX(0), table, row_of, args[5])
        return context.get_dummy_value()

    return types.none(out, table, types.int64, rows, types.int64, types.int64), generate


@intrinsic
def transpose(_: Any, source: Any, out: Any, rows: Any) -> Any:
    """Set out[:, :rows] to the transpose of source[:rows], whose columns it has; `rows` is a multiple of four."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        source, out = arrays_of(context, builder, signature.args[:2], args[:2])
        four = ir.VectorType(FLOAT, _SIDE)

        def mixed(one: Any, other: Any, lanes: tuple[int, ...]) -> Any:
            return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), _SIDE), lanes))

        def tile(i: Any, k: Any) -> list[Any]:
            rows = [load(builder, address(builder, source, builder.add(i, INDEX(r)), k), four) for r in range(_SIDE)]
            low, high = (0, 4, 1, 5), (2, 6, 3, 7)
            (a, b), (c, d) = ([mixed(rows[n], rows[n + 2], lanes) for lanes in (low, high)] for n in (0, 1))
            columns = mixed(a, c, low), mixed(a, c, high), mixed(b, d, low), mixed(b, d, high)
            for r, column in enumerate(columns):
                store(builder, column, address(builder, out, builder.add(k, INDEX(r)), i))
            return []

        def tiles(k: Any) -> list[Any]:
            return code.loop(builder, INDEX(0), args[2], lambda i: tile(i, k), step=_SIDE)

        code.loop(builder, INDEX(0), cgutils.unpack_tuple(builder, out.shape, 2)[0], tiles, step=_SIDE)
        return context.get_dummy_value()

    return types.none(source, out, types.int64), generate


@intrinsic
def dot(_: Any, one: Any, i: Any, other: Any, j: Any) -> Any:
    """Return the product of one[i] and other[j]."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        one, other = arrays_of(context, builder, signature.args[::2], args[::2])
        width = cgutils.unpack_tuple(builder, one.shape, 2)[1]

        def chunk(k: Any, total: Any) -> list[Any]:
            places = (one, args[1]), (other, args[3])
            vectors = [load(builder, address(builder, *place, k), _VECTOR) for place in places]
            return [code.add_product(builder, total, *vectors)]

        (total,) = code.loop(builder, INDEX(0), width, chunk, step=CHUNK, start=[_ZEROS])
        return _total(builder, total)

    return types.float32(one, types.int64, other, types.int64), generate


def _row_step(*, add: bool) -> Any:
    """Return what emits out[r] = factor * source[s], or what adds that to out[r], or to a share of it."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        (out, r, source, s, factor), own = args[:5], args[5:]
        out, source = arrays_of(context, builder, signature.args[:3:2], (out, source))
        width = cgutils.unpack_tuple(builder, out.shape, 2)[1]
        factors = splat(builder, factor, CHUNK)
        shares = [splat(builder, number, CHUNK) for number in own]

        def chunk(k: Any) -> list[Any]:
            target = address(builder, out, r, k)
            value = load(builder, address(builder, source, s, k), _VECTOR)
            if add:
                before = load(builder, target, _VECTOR)
                for share in shares:
                    before = builder.fmul(before, share)
                value = code.add_product(builder, before, value, factors)
            else:
                value = builder.fmul(value, factors)
            store(builder, value, target)
            return []

        code.loop(builder, INDEX(0), width, chunk, step=CHUNK)
        return context.get_dummy_value()

    return generate


@intrinsic
def set_row(_: Any, out: Any, r: Any, source: Any, s: Any, factor: Any) -> Any:
    """Set out[r] to factor * source[s]."""
    return types.none(out, types.int64, source, types.int64, types.float32), _row_step(add=False)


@intrinsic
def add_row(_: Any, out: Any, r: Any, source: Any, s: Any, factor: Any) -> Any:
    """Add factor * source[s] to out[r]."""
    return types.none(out, types.int64, source, types.int64, types.float32), _row_step(add=True)


@intrinsic
def blend_row(_: Any, out: Any, r: Any, source: Any, s: Any, factor: Any, share: Any) -> Any:
    """Set out[r] to share * out[r] + factor * source[s]."""
    number = types.float32
    return types.none(out, types.int64, source, types.int64, number, number), _row_step(add=True)


@intrinsic
def fetch(_: Any, table: Any, row: Any) -> Any:
    """Ask for a row that will be needed soon, so that it is in the cache by then."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        (array,) = arrays_of(context, builder, signature.args[:1], args[:1])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [BYTE_POINTER, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")

        def line(k: Any) -> list[Any]:
            builder.call(prefetch, [address(builder, array, args[1], k), number(0), number(2), number(1)])
            return []

        code.loop(builder, INDEX(0), cgutils.unpack_tuple(builder, array.shape, 2)[1], line, step=CHUNK)
        return context.get_dummy_value()

    return types.none(table, types.int64), generate
