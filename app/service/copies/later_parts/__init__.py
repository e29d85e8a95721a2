"""Rows that come after the first copy: the shape that they get, and whether they may come."""
