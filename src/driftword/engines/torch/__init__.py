"""The engine for a GPU: PyTorch, with Triton where there is one."""
