"""What a user brings: files of many formats, encodings and compressions, data frames, folders, addresses; and dates.

It imports `basics` and `storage`; others take `opening.open_source`, which gives rows in batches, and `dates`.
"""
