"""Reproduced experiments of the papers: `make papers` writes docs/papers/."""
