"""The client package against a service that really runs."""
