"""The same text on many machines: what a worker does with one part, and how the parts become one.

Needs Dask: ``pip install 'driftword[dask]'``.
"""
