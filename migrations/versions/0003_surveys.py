"""Surveys of the one-step scheme and their running totals."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "surveys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("categories", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("edges", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("perturbation", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("responses", sa.BigInteger(), nullable=False),
        sa.Column("totals", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["callers.id"], name=op.f("fk_surveys_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_surveys")),
        sa.UniqueConstraint("owner", "name", name=op.f("uq_surveys_owner_name")),
    )


def downgrade() -> None:
    op.drop_table("surveys")
