"""Storage: database, blob store, caches, encryption of both."""
