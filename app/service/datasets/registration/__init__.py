"""A table on its way in: registered or appended, in one pass, and what its owner is told of it."""
