"""History of copies: the hash chain of draws, and the lookup of copies."""
