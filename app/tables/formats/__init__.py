"""The formats of a table on its way in: one module each."""
