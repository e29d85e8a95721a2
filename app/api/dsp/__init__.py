"""The HTTPS bindings of the Dataspace Protocol, provider side. Their document is the protocol's own."""
