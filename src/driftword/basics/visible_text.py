r"""Text from strangers made safe to print.

Texts, words, column names and file names may hold characters that a terminal takes for commands: escape sequences that
move the cursor, change colours or the title of the window, and Unicode's controls that reverse the order of what
follows. People are shown a symbol instead (␛ for an escape); JSON writes them as ``\u001b``, so that programs read the
same text as before.
"""

from __future__ import annotations

import re
from typing import Final

#: Embeddings, overrides and isolates of bidirectional text; they reach beyond the text that holds them.
_DIRECTIONS: Final = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SYMBOLS: Final[dict[int, str]] = {
    **{code: chr(0x2400 + code) for code in range(0x20)},  # Unicode has a picture of each
    0x7F: "\u2421",
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
    **dict.fromkeys((0x2028, 0x2029), " "),
    **dict.fromkeys(_DIRECTIONS, ""),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
_LINES: Final = {code: symbol for code, symbol in _SYMBOLS.items() if chr(code) not in "\n\t"}
#: What JSON allows in a text as it is, and a terminal would obey.
_UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Return a text on one line, with symbols in place of control characters."""
    return text if text.isascii() and text.isprintable() else text.translate(_SYMBOLS)


def visible_lines(text: str) -> str:
    """Return a text with symbols in place of control characters, except line feeds and tabs."""
    return text.translate(_LINES)


def escape_json(text: str) -> str:
    r"""Write the control characters in JSON as ``\u009b``, which every program reads as the character itself."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
