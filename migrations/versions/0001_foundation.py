"""Callers, data sets, levels, grants, the audit log, receipts and reports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.append_only import protect, refuse_to_lose, unprotect

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_head")),
    )
    op.create_table(
        "audit_log",
        sa.Column(
            "sequence",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("action", sa.String(length=60), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("request_id", sa.String(length=100), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("previous_hash", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_audit_log")),
    )
    op.create_table(
        "callers",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_callers")),
        sa.UniqueConstraint("name", name=op.f("uq_callers_name")),
    )
    op.create_table(
        "receipts",
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("caller", "idempotency_key", name=op.f("pk_receipts")),
    )
    op.create_table(
        "reports",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
    )
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_reports_caller"), ["caller"], unique=False)

    op.create_table(
        "datasets",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("retired", sa.BigInteger(), nullable=False),
        sa.Column("key_column", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("frozen_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("statistics", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["callers.id"], name=op.f("fk_datasets_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
        sa.UniqueConstraint("owner", "name", name=op.f("uq_datasets_owner_name")),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["caller"], ["callers.id"], name=op.f("fk_keys_caller")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    with op.batch_alter_table("keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_keys_caller"), ["caller"], unique=False)

    op.create_table(
        "columns",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("storage", sa.String(length=20), nullable=False),
        sa.Column("because", sa.Text(), nullable=False),
        sa.Column("missing", sa.BigInteger(), nullable=False),
        sa.Column("integer", sa.Boolean(), nullable=False),
        sa.Column("round_to_integer", sa.Boolean(), nullable=False),
        sa.Column("lower", sa.Float(precision=53), nullable=True),
        sa.Column("upper", sa.Float(precision=53), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_columns_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "position", name=op.f("pk_columns")),
    )
    op.create_table(
        "grants",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("recipient", sa.String(length=40), nullable=False),
        sa.Column("level", sa.String(length=200), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("columns", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_grants_dataset"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["recipient"], ["callers.id"], name=op.f("fk_grants_recipient")),
        sa.PrimaryKeyConstraint("dataset", "recipient", name=op.f("pk_grants")),
    )
    op.create_table(
        "levels",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("noise_variance", sa.Float(precision=53), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_levels_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "name", name=op.f("pk_levels")),
    )
    op.create_table(
        "parts",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("first_row", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_parts_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "number", name=op.f("pk_parts")),
        sa.UniqueConstraint("blob", name=op.f("uq_parts_blob")),
    )
    op.create_table(
        "retired_rows",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("row", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_retired_rows_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "row", name=op.f("pk_retired_rows")),
    )
    op.execute(f"INSERT INTO audit_head (id, sequence, hash) VALUES (1, 0, '{'0' * 64}')")
    protect("audit_log")


def downgrade() -> None:
    refuse_to_lose("audit_log")
    unprotect("audit_log")
    op.drop_table("retired_rows")
    op.drop_table("parts")
    op.drop_table("levels")
    op.drop_table("grants")
    op.drop_table("columns")
    with op.batch_alter_table("keys", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_keys_caller"))

    op.drop_table("keys")
    op.drop_table("datasets")
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_reports_caller"))

    op.drop_table("reports")
    op.drop_table("receipts")
    op.drop_table("callers")
    op.drop_table("audit_log")
    op.drop_table("audit_head")
