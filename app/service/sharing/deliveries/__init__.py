"""Automatic delivery under agreements: planned, issued, delivered exactly once."""
