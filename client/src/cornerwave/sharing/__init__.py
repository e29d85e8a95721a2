"""Who has what: people, agreements, data spaces, and who is told."""
