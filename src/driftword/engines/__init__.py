"""Engines: the same model fitted on different machines. An engine takes parameters, runs rounds, scores text.

contract.py    what every engine does
registry.py    which engines there are
parameters.py  what they fit
prior.py       what is expected of that before any text is read
rounds.py      what they work on: rounds of blocks of text
streaming.py   text that need not fit into memory
reference.py   float64 NumPy, slow and plain
cpu/           float32, Numba, all cores
torch/         float32, PyTorch and Triton, a GPU
distributed/   any of them in several processes

It imports the rooms up to `models`; other rooms use `Engine`, `make_engine`, and the kernels of `cpu`.
"""

from driftword.engines.contract import Engine
from driftword.engines.registry import choose_engine, gpu_is_usable, make_engine

__all__ = ["Engine", "choose_engine", "gpu_is_usable", "make_engine"]
