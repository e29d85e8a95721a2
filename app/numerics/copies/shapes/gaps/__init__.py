"""Moments of rows with gaps, by pattern of missing cells."""
