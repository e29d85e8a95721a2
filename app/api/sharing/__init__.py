"""Who may have what, over HTTP: principals, keys, grants, and the log of what they did."""
