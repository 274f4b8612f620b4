"""What every other room relies on: errors, checks of what a user gave, progress, randomness, text that can be shown.

It imports nothing else of driftword; everything may import it.
"""
