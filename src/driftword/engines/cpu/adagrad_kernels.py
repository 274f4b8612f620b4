"""The step of Adagrad for some numbers at a time, and rows fetched before they are needed.

A root and a division take as long as many products, and together they took a tenth of a pass. So this is written in
LLVM's intermediate language: the reciprocal square root that the processor estimates to 8 or 12 bits, and as many of
Newton's steps as give nearly all the bits of a float32. Processors without such an estimate take root and division.
Rows of a table lie anywhere in memory, and to wait for them took another tenth.
"""

from __future__ import annotations

import platform
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from driftword.basics.jit import cgutils, intrinsic, register_jitable, types
from driftword.engines.cpu.matmul_kernels import BYTE_POINTER, FLOAT, address, arrays_of, load, splat, store

_ARM: Final = platform.machine() in ("aarch64", "arm64")
_AVX: Final = bool(llvm.get_host_cpu_features().get("avx"))
_LINE: Final = 16  # numbers in a line of the cache
WIDTH: Final = 8 if _AVX else 4  # numbers at a time
_VECTOR: Final = ir.VectorType(FLOAT, WIDTH)


def _constant(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * WIDTH)


def _call(builder: ir.IRBuilder, name: str, *arguments: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(arguments))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _reciprocal_root(builder: ir.IRBuilder, x: Any) -> Any:
    """Return 1 / sqrt(x) for every number of a vector."""
    if _ARM:
        estimate = _call(builder, "llvm.aarch64.neon.frsqrte.v4f32", x)
        for _ in range(2):  # the instruction gives (3 - a b) / 2
            square = builder.fmul(estimate, estimate)
            estimate = builder.fmul(estimate, _call(builder, "llvm.aarch64.neon.frsqrts.v4f32", x, square))
        return estimate
    if _AVX:
        estimate = _call(builder, "llvm.x86.avx.rsqrt.ps.256", x)
        half = builder.fmul(x, _constant(0.5))
        square = builder.fmul(estimate, estimate)
        rest = builder.fsub(_constant(1.5), builder.fmul(half, square, flags=("contract",)), flags=("contract",))
        return builder.fmul(estimate, rest)
    return builder.fdiv(_constant(1.0), _call(builder, f"llvm.sqrt.v{WIDTH}f32", x))


@intrinsic
def _step(_: Any, values: Any, accumulator: Any, gradients: Any, row: Any, r: Any, k: Any, rate: Any) -> Any:
    """Add rate * gradients[r] / sqrt(accumulator[row]) to values[row], in columns k to k + WIDTH - 1."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        values, accumulator, gradients = arrays_of(context, builder, signature.args[:3], args[:3])
        row, r, k, rate = args[3:]
        target = address(builder, values, row, k)
        gradient = load(builder, address(builder, gradients, r, k), _VECTOR)
        squares = load(builder, address(builder, accumulator, row, k), _VECTOR)
        movement = builder.fmul(gradient, _reciprocal_root(builder, squares))
        product = builder.fmul(movement, splat(builder, rate, WIDTH), flags=("contract",))
        store(builder, builder.fadd(load(builder, target, _VECTOR), product, flags=("contract",)), target)
        return context.get_dummy_value()

    return types.none(values, accumulator, gradients, types.int64, types.int64, types.int64, types.float32), generate


@register_jitable
def take_step(values: Any, accumulator: Any, gradients: Any, row: Any, r: Any, rate: Any) -> None:
    """Add rate * gradients[r] / sqrt(accumulator[row]) to values[row]."""
    columns = values.shape[1]
    whole = columns - columns % WIDTH
    for k in range(0, whole, WIDTH):
        _step(values, accumulator, gradients, row, r, k, rate)
    for k in range(whole, columns):
        values[row, k] += rate * gradients[r, k] / np.sqrt(accumulator[row, k])


@intrinsic
def _fetch(_: Any, table: Any, row: Any, k: Any) -> Any:
    """Ask for the cache line that holds table[row, k]."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        (array,) = arrays_of(context, builder, signature.args[:1], args[:1])
        pointer, number = address(builder, array, *args[1:]), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [BYTE_POINTER, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(prefetch, [pointer, number(0), number(2), number(1)])
        return context.get_dummy_value()

    return types.none(table, types.int64, types.int64), generate


@register_jitable
def fetch(table: Any, row: Any) -> None:
    """Ask for a row that will be needed soon, so that it is in the cache by then."""
    for k in range(0, table.shape[1], _LINE):
        _fetch(table, row, k)
