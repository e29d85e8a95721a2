"""Stratified synthesis: strata, and dependencies within a record."""
