"""Whether what the service sent is what it says: checked without the service."""
