"""Copies written once as Parquet files, and the URLs by which they are read."""
