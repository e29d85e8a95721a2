"""Triggers that make the database itself refuse to change or remove a row of a log."""

from __future__ import annotations

from alembic import op


class EntriesWouldBeLost(Exception):
    """A downgrade was refused."""


def protect(table: str) -> None:
    """From here on rows of `table` can be added and read, nothing else."""
    message = f"{table} is append-only"
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_append_only()"
    )
    op.execute(
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()"
    )


def refuse_to_lose(table: str) -> None:
    """Stop a downgrade that would drop a log with entries in it: nothing could bring them back."""
    if op.get_bind().exec_driver_sql(f"SELECT 1 FROM {table} LIMIT 1").first() is not None:
        raise EntriesWouldBeLost(
            f"the table {table} holds entries that a downgrade would lose for ever; restore a backup"
            " from before the upgrade instead"
        )


def unprotect(table: str) -> None:
    """Undo `protect`."""
    if op.get_bind().dialect.name == "sqlite":
        for change in ("update", "delete"):
            op.execute(f"DROP TRIGGER {table}_no_{change}")
        return
    op.execute(f"DROP TRIGGER {table}_no_truncate ON {table}")
    op.execute(f"DROP TRIGGER {table}_append_only ON {table}")
    op.execute(f"DROP FUNCTION {table}_append_only()")
