"""Files of copies, written once: what they are, and where they lie."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "released_files",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("copy", sa.String(length=40), nullable=False),
        sa.Column("first_row", sa.BigInteger(), nullable=False),
        sa.Column("end_row", sa.BigInteger(), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("retired", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger()),
        sa.Column("sha256", sa.String(length=64)),
        sa.Column("statistics", sa.LargeBinary()),
        sa.Column("object", sa.String(length=80)),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("promised_until", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(
            ["dataset"],
            ["datasets.id"],
            name=op.f("fk_released_files_dataset"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_released_files")),
    )
    op.create_index(op.f("ix_released_files_dataset"), "released_files", ["dataset"])
    op.create_table(
        "released_objects",
        sa.Column("object", sa.String(length=80), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("object", name=op.f("pk_released_objects")),
    )


def downgrade() -> None:
    op.drop_table("released_objects")
    op.drop_index(op.f("ix_released_files_dataset"), "released_files")
    op.drop_table("released_files")
