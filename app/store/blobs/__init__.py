"""Original rows, encrypted, in a folder or a bucket."""
