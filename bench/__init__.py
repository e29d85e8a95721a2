"""Benchmarks behind every claim of speed or memory: `make bench` writes docs/benchmarks.md."""
