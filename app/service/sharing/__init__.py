"""Sharing: principals, keys, grants, agreements, deliveries, data spaces."""
