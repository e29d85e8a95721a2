"""Identifiability of records in a table, and swapping that lowers it."""
