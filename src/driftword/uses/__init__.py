"""What changed in a word: the passages that show it, the company that it gained and lost, and all of it in a sentence.

It imports the rooms up to `inference`; other rooms use `evidence`, `collocates` and `describe`.
"""
