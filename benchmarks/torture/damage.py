"""Ways in which bytes on disk go wrong."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from torture.corpora import replace

_BLOCK: Final = 4096


def _flip_bit(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, rng: random.Random) -> None:
    begin = rng.randrange(len(data))
    end = min(len(data), begin + rng.randint(1, _BLOCK))
    data[begin:end] = rng.randbytes(end - begin)


def _zero_block(data: bytearray, rng: random.Random) -> None:
    size = min(_BLOCK, max(1, len(data) // 3))
    begin = rng.randrange(len(data) - size + 1)
    data[begin : begin + size] = bytes(size)


def _truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _append(data: bytearray, rng: random.Random) -> None:
    data += rng.randbytes(rng.randint(1, _BLOCK))


def _swap_blocks(data: bytearray, rng: random.Random) -> None:
    size = min(_BLOCK, max(1, len(data) // 3))
    first = rng.randrange(max(1, len(data) - 2 * size + 1))
    second = rng.randrange(first + size, max(first + size + 1, len(data) - size + 1))
    data[first : first + size], data[second : second + size] = (
        data[second : second + size],
        data[first : first + size],
    )


BYTES: Final[dict[str, Callable[[bytearray, random.Random], None]]] = {
    "flip a bit": _flip_bit, "overwrite": _overwrite, "zero a block": _zero_block, "truncate": _truncate,
    "append": _append, "swap blocks": _swap_blocks,
}  # fmt: skip
KINDS: Final = (*BYTES, "another store's file", "delete", "make a folder")


def damage(path: Path, kind: str, rng: random.Random, other: Path | None) -> bool:
    """Damage a file; return whether anything changed. `other` is the same file of another store."""
    if kind in BYTES:
        before = path.read_bytes()
        data = bytearray(before)
        if data:
            BYTES[kind](data, rng)
        path.write_bytes(data)
        return bytes(data) != before
    if kind == "another store's file":
        if other is None or not other.is_file() or other.read_bytes() == path.read_bytes():
            return False
        replace(other, path)
        return True
    path.unlink()
    if kind == "make a folder":
        path.mkdir()
    return True


def restore(path: Path, whole: Path) -> None:
    """Undo the damage."""
    if path.is_dir():
        shutil.rmtree(path)
    shutil.copy2(whole, path)
