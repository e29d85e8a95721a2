"""HTTPS binding of the Dataspace Protocol, provider side; not part of the OpenAPI document."""
