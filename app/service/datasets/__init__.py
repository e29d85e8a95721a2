"""Data sets: registration, rows, columns, protection, overlap."""
