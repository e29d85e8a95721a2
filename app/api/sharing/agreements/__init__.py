"""Agreements over HTTP: the catalogue, negotiating, rules."""
