"""Data sets over HTTP: register, rows, columns, levels."""
