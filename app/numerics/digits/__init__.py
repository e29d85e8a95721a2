"""Numbers in decimal digits, as the lines of a CSV have them."""
