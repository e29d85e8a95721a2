"""Rows of a data set: appended as parts or pending, retired, withdrawn."""
