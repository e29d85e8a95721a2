"""Shares: agreements and their items can be listed in pages, each found by an index."""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0017"
branch_labels = None
depends_on = None

SHARES, TABLES = "ix_agreements_consumer_id", "ix_agreement_items_agreement_dataset_position"


def upgrade() -> None:
    op.create_index(op.f(SHARES), "agreements", ["consumer", "id"])
    # The index above begins with the same column.
    op.drop_index(op.f("ix_agreements_consumer"), "agreements")
    op.create_index(op.f(TABLES), "agreement_items", ["agreement", "dataset", "position"])


def downgrade() -> None:
    op.drop_index(op.f(TABLES), "agreement_items")
    op.create_index(op.f("ix_agreements_consumer"), "agreements", ["consumer"])
    op.drop_index(op.f(SHARES), "agreements")
