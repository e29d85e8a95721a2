"""Principals, keys, grants and the audit log over HTTP."""
