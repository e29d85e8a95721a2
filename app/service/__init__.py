"""What a principal can ask: one module per thing, each owning its transaction."""
