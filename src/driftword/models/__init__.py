"""The fitted embeddings: their options (`Spec`), the `Model`, where it came from, and what is kept with it.

It imports the rooms up to `corpus`, and neither engines nor fitting: a model can be read where nothing can be fitted.
"""
