"""Portal: server-rendered pages over the same functions of `service` as the API."""
