"""Where the program starts: Ctrl-C ends it silently until the commands are loaded and can say more."""

import os
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)


if sys.argv[1:2] == ["explore"]:
    # Its products are small, and readers come at once: idle threads of NumPy would only be in the way.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """Run the command line."""
    from driftword.cli import main as run

    run()
