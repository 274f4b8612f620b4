"""Vectors of occurrences from an encoder that a user has: BERT and its like.

It imports the rooms up to `uses`, and PyTorch and Transformers within the functions that need them; other rooms use
`encode`.
"""
