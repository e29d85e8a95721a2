"""Pages for auditors and administrators: log, audits, principals, jobs, health and settings."""
