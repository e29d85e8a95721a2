"""Alembic migrations of the one schema."""
