"""Synthetic tables, and how faithful and how safe they are."""
