"""What a column is to its owner: its kind, what it shows, and which other says the same."""
