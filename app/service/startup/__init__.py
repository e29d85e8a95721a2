"""Startup before the first request: installation check, orphaned blobs."""
