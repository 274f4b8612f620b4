"""The command line: one short function per command."""

from driftword.cli import text, models, looking, web, demo  # noqa: F401, I001 - each registers its commands, in this order
from driftword.cli.shell import app, main

__all__ = ["app", "main"]
