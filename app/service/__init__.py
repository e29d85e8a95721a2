"""What a caller can ask: one module per thing, each owning its transaction."""
