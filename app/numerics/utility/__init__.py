"""Utility: how much of an original's statistics a released table keeps.

[hsu2008, section 5] measures relative bias of three correlation matrices; distances of single columns,
distances of whole tables and the score of models trained on the release complete the report.
"""
