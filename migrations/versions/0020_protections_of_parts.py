"""One protection for each part, pending rows, and a history of noise variances."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.append_only import protect, unprotect

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

IDENTITY = sa.String(length=40)
SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _refuse_histories()
    unprotect("history")
    op.drop_table("history")
    _create_history(applied=False)
    for table in ("shapes", "pools", "frozen"):
        op.drop_table(table)
    op.create_table(
        "protections",
        sa.Column("dataset", IDENTITY, nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        _of_dataset("protections"),
        sa.PrimaryKeyConstraint("dataset", "hash", name=op.f("pk_protections")),
    )
    op.create_table(
        "pending_batches",
        sa.Column("id", IDENTITY, nullable=False),
        sa.Column("dataset", IDENTITY, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("retired", sa.JSON(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("sketches", sa.LargeBinary(), nullable=False),
        sa.Column("decimal", sa.String(length=10), nullable=False),
        sa.Column("appended_at", sa.DateTime(timezone=True), nullable=False),
        _of_dataset("pending_batches"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pending_batches")),
        sa.UniqueConstraint("blob", name=op.f("uq_pending_batches_blob")),
        sa.UniqueConstraint(
            "dataset", "sequence", name=op.f("uq_pending_batches_dataset_sequence")
        ),
    )
    op.create_index(op.f("ix_pending_batches_dataset"), "pending_batches", ["dataset"])
    with op.batch_alter_table("parts") as parts:
        parts.drop_column("waiting")
        parts.add_column(sa.Column("protection", sa.String(length=64), nullable=True))
    op.add_column(
        "datasets", sa.Column("part_rows", sa.BigInteger(), nullable=False, server_default="0")
    )


def downgrade() -> None:
    _refuse_histories()
    with op.batch_alter_table("datasets") as datasets:
        datasets.drop_column("part_rows")
    with op.batch_alter_table("parts") as parts:
        parts.drop_column("protection")
        parts.add_column(
            sa.Column("waiting", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("parts") as parts:
        parts.alter_column("waiting", server_default=None)
    op.drop_table("pending_batches")
    op.drop_table("protections")
    for table in ("frozen", "pools"):
        op.create_table(
            table,
            sa.Column("dataset", IDENTITY, nullable=False),
            sa.Column("sealed", sa.LargeBinary(), nullable=False),
            _of_dataset(table),
            sa.PrimaryKeyConstraint("dataset", name=op.f(f"pk_{table}")),
        )
    op.create_table(
        "shapes",
        sa.Column("dataset", IDENTITY, nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        _of_dataset("shapes"),
        sa.PrimaryKeyConstraint("dataset", "part", name=op.f("pk_shapes")),
    )
    unprotect("history")
    op.drop_table("history")
    _create_history(applied=True)


def _of_dataset(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_dataset")
    return sa.ForeignKeyConstraint(["dataset"], ["datasets.id"], name=name, ondelete="CASCADE")


def _refuse_histories() -> None:
    """Copies of one scheme cannot be repeated under another, and a history is never removed."""
    if op.get_bind().execute(sa.text("SELECT 1 FROM history LIMIT 1")).first() is not None:
        raise RuntimeError(
            "Copies were issued from this database under another scheme of noise, and cannot be"
            " repeated by this one. Keep that database with the version that issued them, and start"
            " this version on a new one."
        )


def _create_history(*, applied: bool) -> None:
    columns: list[sa.schema.SchemaItem] = [
        sa.Column("dataset", IDENTITY, nullable=False),
        sa.Column("sequence", SEQUENCE, autoincrement=False, nullable=False),
        sa.Column("copy", IDENTITY, nullable=False),
        sa.Column("noise_variance", sa.Float(precision=53), nullable=False),
        sa.Column("lower", sa.Float(precision=53), nullable=True),
        sa.Column("upper", sa.Float(precision=53), nullable=True),
        sa.Column("recipe", sa.String(length=60), nullable=False),
        sa.Column("previous_hash", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("caller", IDENTITY, nullable=False),
        sa.PrimaryKeyConstraint("dataset", "sequence", name=op.f("pk_history")),
        sa.UniqueConstraint("copy", name=op.f("uq_history_copy")),
        sa.UniqueConstraint(
            "dataset", "noise_variance", name=op.f("uq_history_dataset_noise_variance")
        ),
    ]
    if applied:
        columns += [
            sa.Column("applied_variance", sa.Float(precision=53), nullable=False),
            sa.UniqueConstraint(
                "dataset", "applied_variance", name=op.f("uq_history_dataset_applied_variance")
            ),
        ]
    op.create_table("history", *columns)
    protect("history")
