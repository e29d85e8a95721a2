"""What the rows of a part are, which their noise is bound to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Parts of before have none, and no noise is drawn for them.
    with op.batch_alter_table("parts") as parts:
        parts.add_column(sa.Column("digest", sa.String(64), nullable=False, server_default=""))
    with op.batch_alter_table("parts") as parts:
        parts.alter_column("digest", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("parts") as parts:
        parts.drop_column("digest")
