"""Synthesis and utility over HTTP."""
