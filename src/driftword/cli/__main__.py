"""``python -m driftword.cli``."""

from driftword.cli import main

if __name__ == "__main__":
    main()
