"""What is kept of copies: what was drawn and frozen, whose variance is whose, and their files."""
