"""Alembic's entry: runs on the connection that app.store.migrations hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from app.store.database.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
)
context.run_migrations()
