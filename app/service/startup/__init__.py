"""What a start does before the first request."""
