"""Copies: issued once, released for ever the same."""
