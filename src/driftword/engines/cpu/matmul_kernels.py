"""One small matrix product, kept in vector registers.

The matrices of a block have a few dozen rows, too few for a call into BLAS to pay off,
and three plain loops, as Numba compiles them, spend most of their time moving sums in
and out of registers. So this one loop nest is written in LLVM's intermediate language:
`TILE` rows of the result by one vector of `LANES` numbers stay in registers while the
sum runs.

Each number of the left matrix multiplies a whole vector of the right one. x86 processors
take it from memory as they multiply. ARM processors take it from a register that holds
several of them, so there some are loaded at a time.
"""

from __future__ import annotations

import platform
from typing import Any, Final

import llvmlite.binding as llvm
from llvmlite import ir

from driftword.basics.jit import cgutils, intrinsic, njit, register_jitable, types
from driftword.engines.cpu import vector_code as code
from driftword.engines.cpu.vector_code import BYTE_POINTER, FLOAT, INDEX, address, load

TILE: Final = 8
LANES: Final = 16 if llvm.get_host_cpu_features().get("avx512f") else 8
_LANE_PRODUCTS: Final = platform.machine() in ("aarch64", "arm64")
_LOADED: Final = 4  # numbers of a row of the left matrix that are loaded at a time, there
_VECTOR: Final = ir.VectorType(FLOAT, LANES)


@register_jitable
def padded(count: Any, unit: int) -> Any:
    """Round up to a multiple, in kernels and outside."""
    return (count + unit - 1) // unit * unit


@intrinsic
def _add_tile(_: Any, left: Any, right: Any, out: Any, i: Any, k: Any, n: Any, anew: Any) -> Any:
    """Add left[i : i + TILE, :n] @ right[:n, k : k + LANES] to out[i : i + TILE, k : k + LANES], or to zeros."""
    by_columns, by_rows = (_LANE_PRODUCTS and left.layout == layout for layout in "FC")

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        left, right, out = arrays = code.arrays_of(context, builder, signature.args[:3], args[:3])
        i, k, n, anew = args[3:]
        rows = [builder.add(i, INDEX(r)) for r in range(TILE)]
        out_pointers = [address(builder, out, row, k) for row in rows]
        # The empty assembly hides from the compiler that these addresses are equally spaced. Otherwise it would
        # compute each from the one before, and that chain of additions would take longer than the sums.
        hide = ir.FunctionType(BYTE_POINTER, [BYTE_POINTER])
        pointers = [builder.asm(hide, "", "=r,0", [address(builder, left, row, INDEX(0))], False) for row in rows]
        stride, right_stride = (cgutils.unpack_tuple(builder, array.strides, 2) for array in arrays[:2])
        right_pointer = address(builder, right, INDEX(0), k)

        def vector(j: Any) -> Any:
            return load(builder, builder.gep(right_pointer, [builder.mul(j, right_stride[0])]), _VECTOR)

        def left_vectors(offset: Any, kind: Any, pointers: list[Any]) -> list[Any]:
            return [load(builder, builder.gep(pointer, [offset]), kind) for pointer in pointers]

        def one(j: Any, *sums: Any) -> list[Any]:
            offset, right = builder.mul(j, stride[1]), vector(j)
            if by_columns:
                (column,) = left_vectors(offset, ir.VectorType(FLOAT, TILE), pointers[:1])
                factors = [code.spread(builder, column, r, LANES) for r in range(TILE)]
            else:
                factors = [code.splat(builder, number, LANES) for number in left_vectors(offset, FLOAT, pointers)]
            return [code.add_product(builder, total, f, right) for total, f in zip(sums, factors, strict=True)]

        def some(j: Any, *sums: Any) -> list[Any]:
            parts = left_vectors(builder.mul(j, stride[1]), ir.VectorType(FLOAT, _LOADED), pointers)
            for lane in range(_LOADED):
                right = vector(builder.add(j, INDEX(lane)))
                factors = [code.spread(builder, part, lane, LANES) for part in parts]
                sums = [code.add_product(builder, total, f, right) for total, f in zip(sums, factors, strict=True)]
            return list(sums)

        zeros, done = ir.Constant(_VECTOR, [0.0] * LANES), INDEX(0)
        sums = [builder.select(anew, zeros, load(builder, pointer, _VECTOR)) for pointer in out_pointers]
        if by_rows:
            done = builder.and_(n, INDEX(-_LOADED))
            sums = code.loop(builder, INDEX(0), done, some, step=_LOADED, start=sums)
        sums = code.loop(builder, done, n, one, start=sums)
        for pointer, total in zip(out_pointers, sums, strict=True):
            code.store(builder, total, pointer)
        return context.get_dummy_value()

    return types.none(left, right, out, types.int64, types.int64, types.int64, types.boolean), generate


@njit(cache=True, nogil=True, error_model="numpy")
def add_product(left: Any, right: Any, rows: int, columns: int, n: int, out: Any, anew: bool = False) -> None:
    """Compute out += left @ right over n terms, or out = left @ right `anew`.

    `rows` is a multiple of TILE, and `columns` of LANES.
    """
    for k in range(0, columns, LANES):  # first, so that these columns of `right` stay in the nearest cache
        for i in range(0, rows, TILE):
            _add_tile(left, right, out, i, k, n, anew)
