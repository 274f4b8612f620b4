"""Where the program starts: Ctrl-C ends it without a word until the commands are loaded and can say more."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """Run the command line."""
    from driftword.cli import main as run

    run()
