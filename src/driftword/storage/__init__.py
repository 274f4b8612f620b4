"""Directories on disk that appear complete or not at all, are compared with their checksums, and may be remote.

It imports `basics`; others use `store` (open, create, amend), `atomic_writes`, and arrays that are read as needed.
"""
