"""What a column is beside its numbers, taken away before a synthesis and given back after it."""
