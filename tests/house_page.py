"""The page of rooms and modules, from their docstrings: ``python tests/house_page.py`` writes it anew.

A test compares the page with the code, so that it is always true.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "driftword"
PAGE = Path(__file__).parent.parent / "docs" / "house.md"
#: From the ground up; a module may import from the rooms before its own, and from its own.
ROOMS = (
    "basics", "storage", "sources", "corpus", "preparing", "models", "engines", "fitting", "baselines", "inference",
    "uses", "encoding", "explore", "exchange", "benchmarking", "plot", "pages", "web", "cli",
)  # fmt: skip
HEAD = """# The house

Where things are in `src/driftword`: nineteen rooms, from the ground up. A module may import from its own room and from
those before it, never from a later one; a test proves it. Follow one sentence of text: a file (`sources`) becomes
words (`preparing`) in a `corpus`, a round of blocks for an engine (`engines`, led by `fitting`), an embedding
(`models`), an answer (`inference`, `uses`, `explore`), a figure (`plot`) and a page (`pages`, `web`) or a line in a
terminal (`cli`).

This page is made of the docstrings of the modules. `CONTRIBUTING.md` says where to change what.
"""


def make_page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(line for room in ROOMS for line in _of_room(PACKAGE / room, 2))])


def _of_room(folder: Path, level: int) -> Iterator[str]:
    yield f"{'#' * level} {folder.relative_to(PACKAGE)}\n"
    yield _docstring(folder / "__init__.py") + "\n"
    files = sorted(file for file in folder.glob("*.py") if file.stem != "__init__")
    if files:
        yield (
            "\n".join(["| module | |", "|---|---|", *(f"| `{file.name}` | {_first(file)} |" for file in files)]) + "\n"
        )
    for inner in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield from _of_room(inner, level + 1)


def _docstring(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert text, f"{file} has no docstring"
    listed = re.sub(r"^(\S+)  +", r"- `\1`: ", text, flags=re.MULTILINE)  # a list of files
    return listed.replace("``", "`")


def _first(file: Path) -> str:
    """Return the first sentence or line of a module's docstring."""
    return " ".join(_docstring(file).partition("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
