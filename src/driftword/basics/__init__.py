"""What every other room relies on: errors, checks of input, progress, randomness, text that is safe to show.

It imports nothing else of driftword; everything may import it.
"""
