"""Compressed files as streams of bytes, in pieces whose size does not depend on how well they were compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import zstandard

#: The errors that a damaged file raises.
DAMAGED: Final = (OSError, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
#: Bytes of zstd that are decompressed at once. Four bytes can hold 128 KiB, so these hold 128 MiB at most.
_ZSTD_PIECE: Final = 1 << 12


class _ZstdReader(io.RawIOBase):
    """A zstd stream that notices when it is truncated."""

    def __init__(self, packed: Any) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._unpacked = memoryview(b"")
        self._inside = False  # whether a frame has been begun and not ended

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpacked:
            raw = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._inside = zstandard.ZstdDecompressor().decompressobj(), False
            raw = raw or self._packed.read(_ZSTD_PIECE)
            if not raw:
                if self._inside:
                    raise EOFError("it is truncated")
                return 0
            self._inside = True
            self._unpacked = memoryview(self._frame.decompress(raw))
            self._inside = not self._frame.eof
        part = self._unpacked[: len(buffer)]
        self._unpacked = self._unpacked[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._packed.close()
        super().close()


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _ZstdReader,
}
SUFFIXES: Final = frozenset(_READERS)


def decompressed(file: Path, stream: Any) -> IO[bytes]:
    """Return the bytes of an open file, decompressed as its suffix says."""
    suffix = file.suffix.lower()
    if suffix in _READERS:
        stream = _READERS[suffix](stream)
    return io.BufferedReader(stream, 1 << 18)
