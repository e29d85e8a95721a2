"""History of copies: the hash chain of what was drawn, and the lookup of copies in it."""
