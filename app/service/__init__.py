"""Use cases: one function each, owning its transaction."""
