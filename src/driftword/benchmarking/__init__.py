"""Measuring how good a model is: changes planted in real text, stability between seeds, held-out scores, and gold sets.

It imports the rooms up to `explore`; other rooms use `suite.benchmark` and the functions of `gold_sets`.
"""
