"""Maintenance commands of the operator: verify, backup, restore."""
