"""Identifiability and swapping over HTTP."""
