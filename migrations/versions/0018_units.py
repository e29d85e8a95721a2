"""What rows to come are held to: the unit of a column's numbers, and the tokens for a missing cell."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Nothing is known of columns of before: their rows to come are held to nothing.
    op.add_column("columns", sa.Column("unit", sa.String(20), nullable=True))
    op.add_column("datasets", sa.Column("missing_tokens", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("datasets", "missing_tokens")
    op.drop_column("columns", "unit")
