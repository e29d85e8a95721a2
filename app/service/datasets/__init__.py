"""Data sets: registered, added to, described; and their levels."""
