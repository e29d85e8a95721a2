"""Jobs take turns by a key and count what is stored for them; no queue is told of them any more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

UNFINISHED = "state IN ('queued', 'running')"


def upgrade() -> None:
    op.drop_index("uq_jobs_only_one", "jobs")
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("only_one", new_column_name="dedup_key")
        jobs.drop_column("woken_at")
        jobs.add_column(sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True))
        jobs.add_column(
            sa.Column("stored_bytes", sa.BigInteger(), nullable=False, server_default="0")
        )
        jobs.add_column(sa.Column("concurrency_key", sa.String(200), nullable=True))
    op.execute("UPDATE jobs SET concurrency_key = COALESCE(caller, kind)")
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("concurrency_key", existing_type=sa.String(200), nullable=False)
        jobs.alter_column("stored_bytes", existing_type=sa.BigInteger(), server_default=None)
    op.create_index("ix_jobs_concurrency_key_claimed_at", "jobs", ["concurrency_key", "claimed_at"])
    _unique("dedup_key")


def downgrade() -> None:
    op.drop_index("uq_jobs_dedup_key", "jobs")
    op.drop_index("ix_jobs_concurrency_key_claimed_at", "jobs")
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("dedup_key", new_column_name="only_one")
        jobs.add_column(sa.Column("woken_at", sa.DateTime(timezone=True), nullable=True))
        jobs.drop_column("claimed_at")
        jobs.drop_column("stored_bytes")
        jobs.drop_column("concurrency_key")
    _unique("only_one")


def _unique(column: str) -> None:
    op.create_index(
        f"uq_jobs_{column}",
        "jobs",
        [column],
        unique=True,
        sqlite_where=sa.text(UNFINISHED),
        postgresql_where=sa.text(UNFINISHED),
    )
