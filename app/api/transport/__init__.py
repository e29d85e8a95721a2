"""What every route shares: who asks, problems, bodies, answers, downloads, requests done once."""
