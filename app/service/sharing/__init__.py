"""Principals, their keys, and what they may have."""
