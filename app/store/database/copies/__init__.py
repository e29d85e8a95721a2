"""Tables of copies: history, protections, slots, released files."""
