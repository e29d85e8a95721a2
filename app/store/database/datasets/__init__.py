"""What an owner registers: data sets and their levels, the keys and sketches of their rows, their blobs."""
