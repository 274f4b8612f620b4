"""``python -m driftword``."""

from driftword.start import main

if __name__ == "__main__":
    main()
