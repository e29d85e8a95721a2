"""Detection of the encoding, the CSV dialect and the number syntax of a text."""
