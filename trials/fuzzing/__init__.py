"""Fuzzing of requests and tables."""
