"""HTTP API: one router per resource; each route calls one function of `service`."""
