"""Copies as Parquet files, and their signed URLs."""
