"""Cells of any type as doubles and text, and back."""
