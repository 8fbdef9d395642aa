"""Compilation by Numba: jit decorators, the kernel cache, bit operations and random numbers."""
