"""Whose the database is, and which blobs are its own without belonging to a data set."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "installation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("identity", sa.String(length=40), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("probed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
    )
    op.create_table(
        "loose_blobs",
        sa.Column("blob", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("set_aside_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("blob", name=op.f("pk_loose_blobs")),
    )
    with op.batch_alter_table("audit_head", schema=None) as batch_op:
        batch_op.add_column(sa.Column("at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("audit_head", schema=None) as batch_op:
        batch_op.drop_column("at")
    op.drop_table("loose_blobs")
    op.drop_table("installation")
