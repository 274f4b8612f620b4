"""The engine for all cores: float32, Numba."""
