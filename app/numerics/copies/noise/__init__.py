"""Noise: what is drawn, to the bit, and the same compiled."""
