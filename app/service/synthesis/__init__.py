"""Synthetic tables, their fidelity and their disclosure risk."""
