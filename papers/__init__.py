"""The experiments of the papers, run again: `make papers` writes docs/papers/."""
