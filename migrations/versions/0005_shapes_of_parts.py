"""A shape for every part, parts that wait for one, and the applied variance of a draw."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.errors import CannotStart
from migrations.append_only import protect, unprotect

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _refuse_histories()
    unprotect("history")
    op.drop_table("history")
    _create_history(applied=True)
    op.drop_table("shapes")
    op.create_table(
        "frozen",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_frozen_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_frozen")),
    )
    op.create_table(
        "shapes",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_shapes_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "part", name=op.f("pk_shapes")),
    )
    with op.batch_alter_table("parts") as parts:
        parts.add_column(
            sa.Column("waiting", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("parts") as parts:
        parts.alter_column("waiting", server_default=None)


def downgrade() -> None:
    _refuse_histories()
    with op.batch_alter_table("parts") as parts:
        parts.drop_column("waiting")
    op.drop_table("shapes")
    op.drop_table("frozen")
    op.create_table(
        "shapes",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_shapes_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_shapes")),
    )
    unprotect("history")
    op.drop_table("history")
    _create_history(applied=False)


def _refuse_histories() -> None:
    """Copies of one scheme cannot be repeated under another, and a history is never removed."""
    if op.get_bind().execute(sa.text("SELECT 1 FROM history LIMIT 1")).first() is not None:
        raise CannotStart(
            "CORNERWAVE_DATABASE_URL: copies were issued from this database under another scheme of"
            f" noise, and cannot be repeated by this one; with copies {revision!r} is the oldest"
            " schema that can be upgraded. Keep the database with the version that issued them, and"
            " start this version on a new one."
        )


def _create_history(*, applied: bool) -> None:
    columns: list[sa.schema.SchemaItem] = [
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("sequence", SEQUENCE, autoincrement=False, nullable=False),
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
