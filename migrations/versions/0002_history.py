"""The history of draws, and what is frozen with the first of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.append_only import protect, refuse_to_lose, unprotect

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "shapes",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_shapes_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_shapes")),
    )
    op.create_table(
        "history",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column(
            "sequence",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("copy", sa.String(length=40), nullable=False),
        sa.Column("noise_variance", sa.Float(precision=53), nullable=False),
        sa.Column("lower", sa.Float(precision=53), nullable=True),
        sa.Column("upper", sa.Float(precision=53), nullable=True),
        sa.Column("recipe", sa.String(length=60), nullable=False),
        sa.Column("previous_hash", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.PrimaryKeyConstraint("dataset", "sequence", name=op.f("pk_history")),
        sa.UniqueConstraint("copy", name=op.f("uq_history_copy")),
        sa.UniqueConstraint(
            "dataset", "noise_variance", name=op.f("uq_history_dataset_noise_variance")
        ),
    )
    protect("history")


def downgrade() -> None:
    refuse_to_lose("history")
    unprotect("history")
    op.drop_table("history")
    op.drop_table("shapes")
