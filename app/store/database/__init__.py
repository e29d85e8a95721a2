"""Database access by SQLAlchemy Core on SQLite or PostgreSQL: one module per table group."""
