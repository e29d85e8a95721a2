"""What the first copy freezes, and what it is made of."""
