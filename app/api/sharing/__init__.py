"""Who may have what, over HTTP: callers, keys, grants, and the log of what they did."""
