"""Verification of what the service sent, without the service."""
