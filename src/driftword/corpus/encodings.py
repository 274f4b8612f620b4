"""Which encoding a text file is in.

UTF-8 is the rule. Older Western European files are often in Windows-1252, where every accented letter is a single
byte that is almost never valid UTF-8. So the invalid bytes are compared with the valid sequences: if most of what is
not ASCII is invalid, the file is not UTF-8; if only a little is, it is UTF-8 with some damage.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, Protocol

from driftword.errors import OptionError

WINDOWS_1252: Final = "windows-1252"
UTF_8: Final = "utf-8-sig"  # with or without the mark at its beginning
_BLOCK: Final = 1 << 18
_ENOUGH: Final = 500  # characters outside ASCII that settle the question
_FEW: Final = 20  # characters outside ASCII that are too few to tell Western from other alphabets
#: Western European texts have far fewer accented letters than this; in Cyrillic or Greek ones nearly all letters are.
_MOST_ACCENTED: Final = 0.3
_INVALID: Final = re.compile("[\udc80-\udcff]")
_UNDEFINED: Final = re.compile("[\udc81\udc8d\udc8f\udc90\udc9d]")  # bytes that mean nothing in Windows-1252
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_LETTER: Final = re.compile("[A-Za-z]")


class _Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


def check_encoding(encoding: str) -> str:
    """Check that Python knows an encoding of text."""
    try:
        b"text".decode(encoding, errors="replace")
    except (LookupError, TypeError, ValueError):
        raise OptionError(
            f"`encoding` is {encoding!r}; give a text encoding that Python knows, such as 'cp1252' or 'shift_jis'"
        ) from None
    return UTF_8 if codecs.lookup(encoding).name == "utf-8" else encoding


def detect_encoding(stream: _Bytes) -> str:
    """Return the encoding of a file: UTF-8, UTF-16 by its byte order mark, or Windows-1252.

    The file is read until enough of it is not ASCII. A file in any other encoding is called UTF-8: what cannot be
    decoded is replaced and counted, and the user told to name the encoding.
    """
    block = stream.read(_BLOCK)
    if block[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    valid = invalid = letters = 0
    while valid + invalid < _ENOUGH:
        if not block.isascii() or decoder.getstate()[0]:  # most blocks of most files are ASCII
            text = decoder.decode(block, final=not block)
            if _UNDEFINED.search(text):
                return UTF_8
            n_invalid = len(_INVALID.findall(text))
            invalid += n_invalid
            valid += len(_BEYOND_ASCII.findall(text)) - n_invalid
            letters += len(_LETTER.findall(text))
        if not block:
            break
        block = stream.read(_BLOCK)
    western = invalid < _FEW or invalid <= _MOST_ACCENTED * (letters + invalid)
    return WINDOWS_1252 if invalid > valid and western else UTF_8
