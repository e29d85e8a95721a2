"""Agreements as shares of the Delta Sharing protocol: share = agreement, schema = data set, table = level."""
