"""Principals belong to who created them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("callers", sa.Column("created_by", sa.String(length=40), nullable=True))
    op.create_index(op.f("ix_callers_created_by"), "callers", ["created_by"])


def downgrade() -> None:
    op.drop_index(op.f("ix_callers_created_by"), table_name="callers")
    op.drop_column("callers", "created_by")
