"""Protection of a data set: what the first copy freezes, and parts measured later."""
