"""What is kept: the database, the blobs, the cache, and the secrets that seal them."""
