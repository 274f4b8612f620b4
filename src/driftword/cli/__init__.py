"""The command line: one short function per command.

It may import every room, within the function that needs it, so that help is shown at once; nothing imports it.
"""

# Each registers its commands, in this order.
from driftword.cli import corpora, models, comparisons, queries, exports, claims, findings, counting  # noqa: F401, I001
from driftword.cli import encoding, pages, planning, demo  # noqa: F401
from driftword.cli.app import app, main

__all__ = ["app", "main"]
