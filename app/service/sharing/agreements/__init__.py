"""Agreements: from a request or an offer to rights, with a record that both sides can keep."""
