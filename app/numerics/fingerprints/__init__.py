"""Fingerprints of rows: words that tell rows apart and tell nothing else without their key."""
