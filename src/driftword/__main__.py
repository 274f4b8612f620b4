"""``python -m driftword``."""

from driftword.entry import main

if __name__ == "__main__":
    main()
