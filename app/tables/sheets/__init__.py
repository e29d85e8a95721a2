"""Workbooks: read in a process of their own, and what a sheet shows of its cells beside their values."""
