"""The command line: one short function per command.

It may import every room, within the function that needs it, so that help is shown at once; nothing imports it.
"""

from __future__ import annotations  # noqa: I001 - the long list reads better in lines

from typing import Final

# Each module of commands registers its own.
from driftword.cli import claims, comparisons, corpora, counting, demo  # noqa: F401
from driftword.cli import encoding, everything, exports, findings, models  # noqa: F401
from driftword.cli import pages, planning, queries  # noqa: F401
from driftword.cli.app import app, arrange, main

#: What commands are for, in the order in which help lists them.
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "Begin here": ("run", "demo"),
    "Get text in": ("prepare", "info", "plan"),
    "Fit a model": ("fit", "extend", "evaluate", "card", "encode"),
    "Ask what changed": (
        *("significance", "describe", "evidence", "collocates", "senses", "name-senses", "changes", "drift", "movers"),
        *("contrast", "power"),
    ),
    "Look at a word": ("neighbors", "trajectory", "similarity", "towards", "equivalents", "analogy"),
    "Read and count": ("passages", "concordance", "frequency", "trends", "keywords"),
    "Show and share": ("explore", "report", "plot", "export"),
    "Compare with other methods and with people": (
        *("compare", "benchmark", "gold", "gold-uses", "prepare-gold", "export-uses", "score-senses"),
    ),
}
arrange(GROUPS)

__all__ = ["GROUPS", "app", "main"]
