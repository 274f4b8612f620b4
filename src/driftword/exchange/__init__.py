"""Models for and from other programs: word2vec and other formats, scikit-learn, and the card that describes a model.

It imports the rooms up to `explore`.
"""
