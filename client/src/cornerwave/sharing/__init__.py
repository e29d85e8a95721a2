"""Principals, agreements, data spaces and webhooks."""
