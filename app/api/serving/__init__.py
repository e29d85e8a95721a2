"""Server: uvicorn and its supervisor, shutdown, connection limits, load shedding, metrics, traces."""
