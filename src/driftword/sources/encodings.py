"""Detection of the encoding of a text file.

UTF-8 is the rule. Older Western European files are often in Windows-1252, where every accented letter is a single
byte that is almost never valid UTF-8. A file is taken for one if most of what is not ASCII is invalid UTF-8, and if
these bytes look like Western European text: nearly all are accented letters, quotation marks and signs that are common
there, the letters occur one at a time between ASCII letters, and not too many letters are accented.

Everything else is read as UTF-8, and what cannot be decoded is replaced and counted. That is what becomes of text in
other alphabets, of Asian encodings, and of Polish, Romanian or Turkish in theirs. A few languages do look Western,
byte by byte: Hungarian, and Czech where it is short. The summary therefore says when a file is read as Windows-1252.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final, Protocol

from driftword.basics.errors import OptionError

WINDOWS_1252: Final = "windows-1252"
UTF_8: Final = "utf-8-sig"  # with or without the mark at its beginning
_BLOCK: Final = 1 << 18
_ENOUGH: Final = 500  # characters outside ASCII that settle the question
_MOST_ASCII: Final = 32  # blocks of nothing but ASCII in a row after which the rest is not looked at
_FEW: Final = 20  # accented letters that are too few to tell which share of the letters they are
#: One letter in twenty is accented in Swedish or French; nearly every one is a byte of this kind in Cyrillic or Greek.
_MOST_ACCENTED: Final = 0.3
#: The share of bytes that must be common in Western European text. In Polish or Turkish about half are.
_LEAST_COMMON: Final = 0.9
#: Of the places with accented letters, the share that must have one at a time.
_LEAST_SINGLE: Final = 0.5
_COMMON_LETTERS: Final = "éèàçäöüßñóíáúêâîôûëïæøåõãìòù"
_COMMON_SIGNS: Final = "œŒ‘’“”„‚–—…€£§°«»¡¿•·©®™´×½²\xa0\xad"  # noqa: RUF001


def _escaped(text: str) -> str:
    """Return characters as `surrogateescape` shows their bytes of Windows-1252."""
    return text.encode("cp1252").decode("ascii", "surrogateescape")


_INVALID: Final = re.compile("[\udc80-\udcff]")
_UNDEFINED: Final = re.compile("[\udc81\udc8d\udc8f\udc90\udc9d]")  # bytes that mean nothing in Windows-1252
_COMMON: Final = re.compile(f"[{_escaped(_COMMON_LETTERS + _COMMON_LETTERS.replace('ß', '').upper() + _COMMON_SIGNS)}]")
_ACCENTED: Final = re.compile("[\udcc0-\udcff]+")
#: One accented letter, or two as in nação, größer, créée and pää.
_SINGLE: Final = re.compile(_escaped("[çÇ][ãõÃÕ]|[äöü]ß|") + r"(.)\1?")
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

    The file is read until enough of it is not ASCII, or nothing but ASCII has come for some megabytes. A file that is
    none of the three, or not clearly, is called UTF-8: what cannot be decoded is replaced and counted, and the user
    told to name the encoding.
    """
    block = stream.read(_BLOCK)
    if block[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    counts = _Counts()
    ascii_blocks = 0
    while counts.valid + counts.invalid < _ENOUGH and ascii_blocks < _MOST_ASCII:
        if not block.isascii() or decoder.getstate()[0]:  # most blocks of most files are ASCII
            text = decoder.decode(block, final=not block)
            if _UNDEFINED.search(text):
                return UTF_8
            counts.add(text)
            ascii_blocks = 0
        else:
            ascii_blocks += 1
        if not block:
            break
        block = stream.read(_BLOCK)
    return WINDOWS_1252 if counts.invalid > counts.valid and counts.look_western() else UTF_8


@dataclass
class _Counts:
    """Counts of what is in the part of a file that has been looked at."""

    valid: int = 0  # characters outside ASCII
    invalid: int = 0  # bytes that are not UTF-8
    common: int = 0  # those of them that are common in Western European text
    ascii_letters: int = 0
    accented: int = 0  # bytes that are letters in Windows-1252
    runs: int = 0  # of such bytes
    single: int = 0  # runs of one letter

    def add(self, text: str) -> None:
        """Count a part in which invalid bytes are escaped."""
        invalid = len(_INVALID.findall(text))
        runs = _ACCENTED.findall(text)
        self.valid += len(_BEYOND_ASCII.findall(text)) - invalid
        self.invalid += invalid
        self.common += len(_COMMON.findall(text))
        self.ascii_letters += len(_LETTER.findall(text))
        self.accented += sum(map(len, runs))
        self.runs += len(runs)
        self.single += sum(_SINGLE.fullmatch(run) is not None for run in runs)

    def look_western(self) -> bool:
        """Tell whether the invalid bytes look like Western European text in Windows-1252."""
        few = self.accented < _FEW or self.accented <= _MOST_ACCENTED * (self.ascii_letters + self.accented)
        common = self.common >= _LEAST_COMMON * self.invalid
        return few and common and self.single >= _LEAST_SINGLE * self.runs
