"""Decimal digits of numbers, as CSV lines hold them."""
