"""What a user brings: files of many formats, encodings and compressions, data frames, folders, addresses; and dates.

It imports `basics` and `storage`; others use `opening.open_source`, which yields rows in batches, and `dates`.
"""
