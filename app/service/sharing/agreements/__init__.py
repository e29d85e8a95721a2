"""Agreements: negotiation, terms, rules, states, signed record."""
