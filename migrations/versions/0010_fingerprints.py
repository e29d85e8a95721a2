"""Fingerprints of keys and rows, by which versions and overlaps are found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "key_books",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("bits", sa.Integer(), nullable=False),
        sa.Column("keys", sa.BigInteger(), nullable=False),
        sa.Column("most_versions", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_key_books_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_key_books")),
    )
    op.create_table(
        "key_pages",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_key_pages_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "page", name=op.f("pk_key_pages")),
    )
    op.create_table(
        "sketches",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_sketches")),
    )
    op.create_table(
        "service_secrets",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_service_secrets")),
    )


def downgrade() -> None:
    op.drop_table("service_secrets")
    op.drop_table("sketches")
    op.drop_table("key_pages")
    op.drop_table("key_books")
