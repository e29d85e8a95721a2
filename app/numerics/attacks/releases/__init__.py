"""Attackers on a release: rows of a copy beside the originals and the promised variance."""
