"""HTTP transport: requests as values, bodies, drivers and retries."""
