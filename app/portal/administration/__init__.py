"""The rooms of auditors and administrators: the log, callers and keys, and how the service does."""
