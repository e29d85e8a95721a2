"""Blob storage of original rows, encrypted, in a folder or a bucket."""
