"""Pages for owners: registration, levels, people, rows, audits and history."""
