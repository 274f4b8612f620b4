"""Where the program starts, as ``driftword`` or ``python -m driftword``.

Ctrl-C ends it silently until the commands are loaded and can say more.
"""

import os
import signal
import sys

from driftword.basics.limited_memory import run_watched
from driftword.basics.system_calls import open_missing_streams


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    open_missing_streams()
    run_watched()
    if sys.argv[1:2] in (["explore"], ["senses"]):
        # Products are small, and many are asked for at once: idle threads of NumPy would only be in the way.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from driftword.cli import main as run

    run()


if __name__ == "__main__":
    main()
