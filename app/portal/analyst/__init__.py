"""The analyst's rooms: what there is, what it looks like, and how to have it."""
