"""Automatic delivery: what an agreement promises is issued and delivered, each time once."""
