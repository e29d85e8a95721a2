"""Audits of what a data set's copies reveal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audits",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_audits_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audits")),
    )
    with op.batch_alter_table("audits", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audits_dataset"), ["dataset"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("audits", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_audits_dataset"))

    op.drop_table("audits")
