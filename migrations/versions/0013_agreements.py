"""Agreements with their log, rules, signing keys, deliveries and webhooks; what can be found and asked for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.append_only import protect, refuse_to_lose, unprotect

revision = "0013"
down_revision = "0011"
branch_labels = None
depends_on = None

IDENTITY, MOMENT = sa.String(length=40), sa.DateTime(timezone=True)
SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # Plain ALTER TABLE: a table that is made anew on SQLite would take what hangs on it along.
    no = sa.false()
    op.add_column(
        "datasets", sa.Column("description", sa.Text(), nullable=False, server_default="")
    )
    op.add_column("datasets", sa.Column("listed", sa.Boolean(), nullable=False, server_default=no))
    op.add_column("levels", sa.Column("offered", sa.Boolean(), nullable=False, server_default=no))
    op.add_column("keys", sa.Column("agreement", IDENTITY, nullable=True))
    op.create_index(op.f("ix_keys_agreement"), "keys", ["agreement"])
    _create_agreements()
    _create_deliveries()
    _create_webhooks()
    protect("agreement_log")


def _create_agreements() -> None:
    op.create_table(
        "agreements",
        sa.Column("id", IDENTITY, nullable=False),
        sa.Column("provider", IDENTITY, nullable=False),
        sa.Column("consumer", IDENTITY, nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("legal_basis", sa.Text(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("terms_sha256", sa.String(length=64), nullable=False),
        sa.Column("starts_at", MOMENT, nullable=False),
        sa.Column("ends_at", MOMENT, nullable=True),
        sa.Column("renews", sa.Boolean(), nullable=False),
        sa.Column("refresh", sa.String(length=40), nullable=False),
        sa.Column("deliveries", sa.JSON(), nullable=False),
        sa.Column("traceable", sa.Boolean(), nullable=False),
        sa.Column("rule", IDENTITY, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.Column("finalized_at", MOMENT, nullable=True),
        sa.Column("terminated_at", MOMENT, nullable=True),
        sa.Column("record", sa.Text(), nullable=True),
        sa.Column("log_sequence", sa.BigInteger(), nullable=False),
        sa.Column("log_hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["provider"], ["callers.id"], name=op.f("fk_agreements_provider")),
        sa.ForeignKeyConstraint(["consumer"], ["callers.id"], name=op.f("fk_agreements_consumer")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agreements")),
    )
    op.create_index(op.f("ix_agreements_provider"), "agreements", ["provider"])
    op.create_index(op.f("ix_agreements_consumer"), "agreements", ["consumer"])
    op.create_table(
        "agreement_items",
        sa.Column("agreement", IDENTITY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("dataset", IDENTITY, nullable=False),
        sa.Column("level", sa.String(length=200), nullable=False),
        sa.Column("noise_variance", sa.Float(53), nullable=False),
        sa.Column("columns", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("rows_since", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agreement"],
            ["agreements.id"],
            name=op.f("fk_agreement_items_agreement"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("agreement", "position", name=op.f("pk_agreement_items")),
    )
    op.create_index(op.f("ix_agreement_items_dataset"), "agreement_items", ["dataset"])
    op.create_table(
        "agreement_log",
        sa.Column("agreement", IDENTITY, nullable=False),
        sa.Column("sequence", SEQUENCE, autoincrement=False, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("caller", IDENTITY, nullable=False),
        sa.Column("party", sa.String(length=20), nullable=True),
        sa.Column("event", sa.String(length=60), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("previous_hash", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("agreement", "sequence", name=op.f("pk_agreement_log")),
    )
    op.create_table(
        "agreement_rules",
        sa.Column("id", IDENTITY, nullable=False),
        sa.Column("owner", IDENTITY, nullable=False),
        sa.Column("dataset", IDENTITY, nullable=True),
        sa.Column("recipients", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("purposes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("least_privacy", sa.Float(53), nullable=False),
        sa.Column("longest_days", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["callers.id"], name=op.f("fk_agreement_rules_owner")),
        sa.ForeignKeyConstraint(
            ["dataset"],
            ["datasets.id"],
            name=op.f("fk_agreement_rules_dataset"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agreement_rules")),
    )
    op.create_index(op.f("ix_agreement_rules_owner"), "agreement_rules", ["owner"])
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.String(length=60), nullable=False),
        sa.Column("public", sa.LargeBinary(length=32), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("retired_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signing_keys")),
    )


def _create_deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("id", IDENTITY, nullable=False),
        sa.Column("agreement", IDENTITY, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=20), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("cause", sa.String(length=60), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("copy", IDENTITY, nullable=True),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("checksum", sa.String(length=80), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("delivered_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(
            ["agreement"], ["agreements.id"], name=op.f("fk_deliveries_agreement")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint(
            "agreement",
            "position",
            "channel",
            "target",
            "cause",
            name=op.f("uq_deliveries_agreement_position_channel_target_cause"),
        ),
    )


def _create_webhooks() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", IDENTITY, nullable=False),
        sa.Column("caller", IDENTITY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["caller"], ["callers.id"], name=op.f("fk_webhooks_caller")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_caller"), "webhooks", ["caller"])
    op.create_table(
        "webhook_messages",
        sa.Column("id", IDENTITY, nullable=False),
        sa.Column("webhook", IDENTITY, nullable=False),
        sa.Column("agreement", IDENTITY, nullable=True),
        sa.Column("event", sa.String(length=60), nullable=False),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("last_try_at", MOMENT, nullable=True),
        sa.Column("last_answer", sa.String(length=200), nullable=True),
        sa.Column("delivered_at", MOMENT, nullable=True),
        sa.Column("given_up_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(
            ["webhook"],
            ["webhooks.id"],
            name=op.f("fk_webhook_messages_webhook"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_messages")),
        sa.UniqueConstraint("webhook", "cause", name=op.f("uq_webhook_messages_webhook_cause")),
    )
    op.create_index(op.f("ix_webhook_messages_agreement"), "webhook_messages", ["agreement"])


def downgrade() -> None:
    refuse_to_lose("agreement_log")
    for table in ("webhook_messages", "webhooks", "deliveries", "signing_keys", "agreement_rules"):
        op.drop_table(table)
    unprotect("agreement_log")
    for table in ("agreement_log", "agreement_items", "agreements"):
        op.drop_table(table)
    op.drop_index(op.f("ix_keys_agreement"), "keys")
    for table, column in (
        ("keys", "agreement"),
        ("levels", "offered"),
        ("datasets", "listed"),
        ("datasets", "description"),
    ):
        op.drop_column(table, column)
