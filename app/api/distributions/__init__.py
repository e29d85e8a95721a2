"""Distributions and surveys over HTTP."""
