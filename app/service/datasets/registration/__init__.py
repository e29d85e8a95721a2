"""Registration and ingestion of tables, with a report for the owner."""
