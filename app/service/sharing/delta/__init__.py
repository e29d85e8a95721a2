"""Delta Sharing: share = agreement, schema = data set, table = level."""
