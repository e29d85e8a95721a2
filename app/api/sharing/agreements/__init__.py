"""Agreements over HTTP: catalogue, negotiation, rules, transfers, webhooks."""
