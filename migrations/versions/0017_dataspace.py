"""The Dataspace Protocol: participants, negotiations, transfers, and messages to consumers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0015"
branch_labels = None
depends_on = None

IDENTITY, MOMENT = sa.String(length=40), sa.DateTime(timezone=True)
PID = sa.String(length=500)


def upgrade() -> None:
    # Plain ALTER TABLE: a table that is made anew on SQLite would take what hangs on it along.
    op.add_column("callers", sa.Column("participant_id", PID, nullable=True))
    op.create_index(op.f("ix_callers_participant_id"), "callers", ["participant_id"], unique=True)
    op.add_column("keys", sa.Column("transfer", IDENTITY, nullable=True))
    op.create_table(
        "dataspace_negotiations",
        sa.Column("agreement", IDENTITY, nullable=False),
        sa.Column("consumer", IDENTITY, nullable=False),
        sa.Column("consumer_pid", PID, nullable=False),
        sa.Column("offer", sa.Text(), nullable=False),
        sa.Column("callback", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agreement"], ["agreements.id"], name=op.f("fk_dataspace_negotiations_agreement")
        ),
        sa.ForeignKeyConstraint(
            ["consumer"], ["callers.id"], name=op.f("fk_dataspace_negotiations_consumer")
        ),
        sa.PrimaryKeyConstraint("agreement", name=op.f("pk_dataspace_negotiations")),
        sa.UniqueConstraint(
            "consumer", "consumer_pid", name=op.f("uq_dataspace_negotiations_consumer_consumer_pid")
        ),
    )
    op.create_table(
        "transfers",
        sa.Column("id", IDENTITY, nullable=False),
        sa.Column("agreement", IDENTITY, nullable=False),
        sa.Column("consumer", IDENTITY, nullable=False),
        sa.Column("consumer_pid", PID, nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("format", sa.String(length=40), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=True),
        sa.Column("callback", sa.Text(), nullable=False),
        sa.Column("base", sa.Text(), nullable=False),
        sa.Column("copy", IDENTITY, nullable=True),
        sa.Column("key", IDENTITY, nullable=True),
        sa.Column("address", sa.LargeBinary(), nullable=True),
        sa.Column("suspended_by", sa.String(length=20), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["agreement"], ["agreements.id"], name=op.f("fk_transfers_agreement")
        ),
        sa.ForeignKeyConstraint(["consumer"], ["callers.id"], name=op.f("fk_transfers_consumer")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transfers")),
        sa.UniqueConstraint(
            "consumer", "consumer_pid", name=op.f("uq_transfers_consumer_consumer_pid")
        ),
    )
    op.create_index(op.f("ix_transfers_agreement"), "transfers", ["agreement"])
    op.create_table(
        "dataspace_messages",
        sa.Column("id", IDENTITY, nullable=False),
        sa.Column("process", IDENTITY, nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("agreement", IDENTITY, nullable=False),
        sa.Column("kind", sa.String(length=60), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("last_answer", sa.String(length=200), nullable=True),
        sa.Column("ended_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dataspace_messages")),
        sa.UniqueConstraint(
            "process", "sequence", name=op.f("uq_dataspace_messages_process_sequence")
        ),
    )


def downgrade() -> None:
    op.drop_table("dataspace_messages")
    op.drop_index(op.f("ix_transfers_agreement"), table_name="transfers")
    op.drop_table("transfers")
    op.drop_table("dataspace_negotiations")
    op.drop_column("keys", "transfer")
    op.drop_index(op.f("ix_callers_participant_id"), table_name="callers")
    op.drop_column("callers", "participant_id")
