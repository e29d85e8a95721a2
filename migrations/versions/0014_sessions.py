"""Sessions of the portal, and links that sign in once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=True),
        sa.Column("browser", sa.String(length=80), nullable=False),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["caller"], ["callers.id"], name=op.f("fk_sessions_caller")),
        sa.ForeignKeyConstraint(["key"], ["keys.id"], name=op.f("fk_sessions_key")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sessions_token_hash")),
    )
    op.create_index(op.f("ix_sessions_caller"), "sessions", ["caller"])
    op.create_table(
        "sign_in_links",
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["caller"], ["callers.id"], name=op.f("fk_sign_in_links_caller")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sign_in_links")),
    )


def downgrade() -> None:
    op.drop_table("sign_in_links")
    op.drop_index(op.f("ix_sessions_caller"), table_name="sessions")
    op.drop_table("sessions")
