"""Attackers on a release: rows of a copy beside the originals, and what was promised of them."""
