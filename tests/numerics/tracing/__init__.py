"""Tracing: whose copies a found table was made of."""
