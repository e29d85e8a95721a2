"""Conversion between tables and the arrays of the numerics."""
