"""Attacks on tables in a request, and audits of copies."""
