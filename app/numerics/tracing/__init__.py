"""Whose copy is this? Copies that differ by independent increments, and a table made of some of them."""
