"""The rooms of auditors and administrators: the log, principals and keys, and how the service does."""
