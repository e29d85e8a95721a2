"""Noise of copies: its definition to the bit, and compiled kernels of the same."""
