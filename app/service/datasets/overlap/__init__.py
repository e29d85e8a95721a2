"""Overlap of rows and keys with earlier ones, in this data set or another."""
