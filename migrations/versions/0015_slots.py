"""Slots: the variances at which recipients of traceable agreements have their own copies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "slots",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("recipient", sa.String(length=40), nullable=False),
        sa.Column("level_variance", sa.Float(precision=53), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("noise_variance", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_slots_dataset"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["recipient"], ["callers.id"], name=op.f("fk_slots_recipient")),
        sa.PrimaryKeyConstraint("dataset", "recipient", "level_variance", name=op.f("pk_slots")),
        sa.UniqueConstraint(
            "dataset", "noise_variance", name=op.f("uq_slots_dataset_noise_variance")
        ),
    )


def downgrade() -> None:
    op.drop_table("slots")
