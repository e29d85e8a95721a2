"""The schema of version 0.2.0, the first to be released."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.append_only import protect, refuse_to_lose, unprotect

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None

LOGS = ("history", "audit_log", "agreement_log")
TABLES = (
    "agreement_log",
    "audit_head",
    "audit_log",
    "principals",
    "outbox",
    "history",
    "installation",
    "jobs",
    "orphaned_blobs",
    "receipts",
    "released_objects",
    "service_secrets",
    "signing_keys",
    "sketches",
    "agreements",
    "datasets",
    "keys",
    "sign_in_links",
    "surveys",
    "webhooks",
    "agreement_items",
    "agreement_rules",
    "columns",
    "dataspace_negotiations",
    "deliveries",
    "grants",
    "key_books",
    "key_pages",
    "levels",
    "parts",
    "pending_batches",
    "protections",
    "released_files",
    "results",
    "retired_rows",
    "sessions",
    "slots",
    "survey_respondents",
    "transfers",
)
"""In an order in which each refers to those before it."""


def upgrade() -> None:  # noqa: PLR0915  # one statement for each table and index
    op.create_table(
        "agreement_log",
        sa.Column("agreement", sa.String(length=40), nullable=False),
        sa.Column(
            "sequence",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.Column("party", sa.String(length=20), nullable=True),
        sa.Column("event", sa.String(length=60), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("previous_hash", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("agreement", "sequence", name=op.f("pk_agreement_log")),
    )
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=True),
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
        sa.Column("principal", sa.String(length=40), nullable=False),
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
        "principals",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("participant_id", sa.String(length=500), nullable=True),
        sa.Column("proposed_participant_id", sa.String(length=500), nullable=True),
        sa.Column("created_by", sa.String(length=40), nullable=True),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("visited_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_principals")),
        sa.UniqueConstraint("name", name=op.f("uq_principals_name")),
    )
    op.create_index(op.f("ix_principals_created_by"), "principals", ["created_by"], unique=False)
    op.create_index(
        op.f("ix_principals_participant_id"), "principals", ["participant_id"], unique=True
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("format", sa.String(length=20), nullable=False),
        sa.Column("stream", sa.String(length=40), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=True),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("receiver", sa.String(length=40), nullable=False),
        sa.Column("agreement", sa.String(length=40), nullable=False),
        sa.Column("event", sa.String(length=60), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("last_try_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_answer", sa.String(length=200), nullable=True),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("given_up_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("stream", "cause", name=op.f("uq_outbox_stream_cause")),
        sa.UniqueConstraint("stream", "sequence", name=op.f("uq_outbox_stream_sequence")),
    )
    op.create_index(op.f("ix_outbox_agreement"), "outbox", ["agreement"], unique=False)
    op.create_table(
        "history",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column(
            "sequence",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("copy", sa.String(length=40), nullable=False),
        sa.Column("noise_variance", sa.Float(precision=53), nullable=False),
        sa.Column("lower", sa.Float(precision=53), nullable=True),
        sa.Column("upper", sa.Float(precision=53), nullable=True),
        sa.Column("recipe", sa.String(length=60), nullable=False),
        sa.Column("previous_hash", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.PrimaryKeyConstraint("dataset", "sequence", name=op.f("pk_history")),
        sa.UniqueConstraint("copy", name=op.f("uq_history_copy")),
        sa.UniqueConstraint(
            "dataset", "noise_variance", name=op.f("uq_history_dataset_noise_variance")
        ),
    )
    op.create_table(
        "installation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("identity", sa.String(length=40), nullable=False),
        sa.Column("wrapped_key", sa.LargeBinary(), nullable=False),
        sa.Column("probed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=60), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=True),
        sa.Column("role", sa.String(length=20), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("request_id", sa.String(length=100), nullable=False),
        sa.Column("dedup_key", sa.String(length=200), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(length=200), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("lease", sa.String(length=40), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("concurrency_key", sa.String(length=200), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(
        "ix_jobs_principal_created_at", "jobs", ["principal", "created_at"], unique=False
    )
    op.create_index(
        "ix_jobs_concurrency_key_claimed_at",
        "jobs",
        ["concurrency_key", "claimed_at"],
        unique=False,
    )
    op.create_index("ix_jobs_state_run_at", "jobs", ["state", "run_at"], unique=False)
    op.create_index(
        "uq_jobs_dedup_key",
        "jobs",
        ["dedup_key"],
        unique=True,
        sqlite_where=sa.text("state IN ('queued', 'running')"),
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "orphaned_blobs",
        sa.Column("blob", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("set_aside_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("blob", name=op.f("pk_orphaned_blobs")),
    )
    op.create_table(
        "receipts",
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("principal", "idempotency_key", name=op.f("pk_receipts")),
    )
    op.create_table(
        "released_objects",
        sa.Column("object", sa.String(length=80), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("object", name=op.f("pk_released_objects")),
    )
    op.create_table(
        "service_secrets",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_service_secrets")),
    )
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.String(length=60), nullable=False),
        sa.Column("public", sa.LargeBinary(length=32), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signing_keys")),
    )
    op.create_table(
        "sketches",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_sketches")),
    )
    op.create_table(
        "agreements",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("provider", sa.String(length=40), nullable=False),
        sa.Column("consumer", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("legal_basis", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("renews", sa.Boolean(), nullable=False),
        sa.Column("refresh", sa.String(length=40), nullable=False),
        sa.Column("deliveries", sa.JSON(), nullable=False),
        sa.Column("traceable", sa.Boolean(), nullable=False),
        sa.Column("rule", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finalized_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("terminated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("record", sa.Text(), nullable=True),
        sa.Column("log_sequence", sa.BigInteger(), nullable=False),
        sa.Column("log_hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["consumer"], ["principals.id"], name=op.f("fk_agreements_consumer")
        ),
        sa.ForeignKeyConstraint(
            ["provider"], ["principals.id"], name=op.f("fk_agreements_provider")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agreements")),
    )
    op.create_index("ix_agreements_consumer_id", "agreements", ["consumer", "id"], unique=False)
    op.create_index(op.f("ix_agreements_provider"), "agreements", ["provider"], unique=False)
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
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("listed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("missing_tokens", sa.JSON(), nullable=True),
        sa.Column("part_rows", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("publish_noise", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("protection", sa.String(length=20), server_default="measured", nullable=False),
        sa.Column("least_variance", sa.Float(precision=53), nullable=True),
        sa.Column("person_rows", sa.BigInteger(), server_default="1", nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["principals.id"], name=op.f("fk_datasets_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
        sa.UniqueConstraint("owner", "name", name=op.f("uq_datasets_owner_name")),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("agreement", sa.String(length=40), nullable=True),
        sa.Column("transfer", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(["principal"], ["principals.id"], name=op.f("fk_keys_principal")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    op.create_index(op.f("ix_keys_agreement"), "keys", ["agreement"], unique=False)
    op.create_index(op.f("ix_keys_principal"), "keys", ["principal"], unique=False)
    op.create_table(
        "sign_in_links",
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["principal"], ["principals.id"], name=op.f("fk_sign_in_links_principal")
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sign_in_links")),
    )
    op.create_table(
        "surveys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("categories", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("edges", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("perturbation", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("responses", sa.BigInteger(), nullable=False),
        sa.Column("responses_per_principal", sa.BigInteger(), nullable=False),
        sa.Column("totals", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["principals.id"], name=op.f("fk_surveys_owner")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_surveys")),
        sa.UniqueConstraint("owner", "name", name=op.f("uq_surveys_owner_name")),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["principal"], ["principals.id"], name=op.f("fk_webhooks_principal")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_principal"), "webhooks", ["principal"], unique=False)
    op.create_table(
        "agreement_items",
        sa.Column("agreement", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("level", sa.String(length=200), nullable=False),
        sa.Column("noise_variance", sa.Float(precision=53), nullable=False),
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
    op.create_index(
        "ix_agreement_items_agreement_dataset_position",
        "agreement_items",
        ["agreement", "dataset", "position"],
        unique=False,
    )
    op.create_index(
        op.f("ix_agreement_items_dataset"), "agreement_items", ["dataset"], unique=False
    )
    op.create_table(
        "agreement_rules",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=True),
        sa.Column("recipients", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("purposes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("least_privacy", sa.Float(precision=53), nullable=False),
        sa.Column("longest_days", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"],
            ["datasets.id"],
            name=op.f("fk_agreement_rules_dataset"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["owner"], ["principals.id"], name=op.f("fk_agreement_rules_owner")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agreement_rules")),
    )
    op.create_index(op.f("ix_agreement_rules_owner"), "agreement_rules", ["owner"], unique=False)
    op.create_table(
        "columns",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("storage", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("missing", sa.BigInteger(), nullable=False),
        sa.Column("integer", sa.Boolean(), nullable=False),
        sa.Column("round_to_integer", sa.Boolean(), nullable=False),
        sa.Column("lower", sa.Float(precision=53), nullable=True),
        sa.Column("upper", sa.Float(precision=53), nullable=True),
        sa.Column("unit", sa.String(length=20), nullable=True),
        sa.Column("date_format", sa.String(length=40), nullable=True),
        sa.Column("categories", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("other", sa.Text(), nullable=True),
        sa.Column("missing_as", sa.Text(), nullable=True),
        sa.Column("weight", sa.Float(precision=53), server_default="1", nullable=False),
        sa.Column("scale_unit", sa.Float(precision=53), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_columns_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "position", name=op.f("pk_columns")),
    )
    op.create_table(
        "dataspace_negotiations",
        sa.Column("agreement", sa.String(length=40), nullable=False),
        sa.Column("consumer", sa.String(length=40), nullable=False),
        sa.Column("consumer_pid", sa.String(length=500), nullable=False),
        sa.Column("offer", sa.Text(), nullable=False),
        sa.Column("callback", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agreement"], ["agreements.id"], name=op.f("fk_dataspace_negotiations_agreement")
        ),
        sa.ForeignKeyConstraint(
            ["consumer"], ["principals.id"], name=op.f("fk_dataspace_negotiations_consumer")
        ),
        sa.PrimaryKeyConstraint("agreement", name=op.f("pk_dataspace_negotiations")),
        sa.UniqueConstraint(
            "consumer", "consumer_pid", name=op.f("uq_dataspace_negotiations_consumer_consumer_pid")
        ),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("agreement", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=20), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("cause", sa.String(length=60), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("copy", sa.String(length=40), nullable=True),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("checksum", sa.String(length=80), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
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
        sa.ForeignKeyConstraint(["recipient"], ["principals.id"], name=op.f("fk_grants_recipient")),
        sa.PrimaryKeyConstraint("dataset", "recipient", name=op.f("pk_grants")),
    )
    op.create_table(
        "key_books",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("bits", sa.Integer(), nullable=False),
        sa.Column("keys", sa.BigInteger(), nullable=False),
        sa.Column("most_versions", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_key_books_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_key_books")),
    )
    op.create_table(
        "key_pages",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_key_pages_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "page", name=op.f("pk_key_pages")),
    )
    op.create_table(
        "levels",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("noise_variance", sa.Float(precision=53), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("offered", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("delta", sa.Float(precision=53), nullable=True),
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
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("protection", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_parts_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "number", name=op.f("pk_parts")),
        sa.UniqueConstraint("blob", name=op.f("uq_parts_blob")),
    )
    op.create_table(
        "pending_batches",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("retired", sa.JSON(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("sketches", sa.LargeBinary(), nullable=False),
        sa.Column("decimal", sa.String(length=10), nullable=False),
        sa.Column("appended_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"],
            ["datasets.id"],
            name=op.f("fk_pending_batches_dataset"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pending_batches")),
        sa.UniqueConstraint("blob", name=op.f("uq_pending_batches_blob")),
        sa.UniqueConstraint(
            "dataset", "sequence", name=op.f("uq_pending_batches_dataset_sequence")
        ),
    )
    op.create_index(
        op.f("ix_pending_batches_dataset"), "pending_batches", ["dataset"], unique=False
    )
    op.create_table(
        "protections",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_protections_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "hash", name=op.f("pk_protections")),
    )
    op.create_table(
        "released_files",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("copy", sa.String(length=40), nullable=False),
        sa.Column("first_row", sa.BigInteger(), nullable=False),
        sa.Column("end_row", sa.BigInteger(), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("retired", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("statistics", sa.LargeBinary(), nullable=True),
        sa.Column("object", sa.String(length=80), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("promised_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_released_files_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_released_files")),
    )
    op.create_index(op.f("ix_released_files_dataset"), "released_files", ["dataset"], unique=False)
    op.create_table(
        "results",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.Column("dataset", sa.String(length=40), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_results_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_results")),
    )
    op.create_index(op.f("ix_results_dataset"), "results", ["dataset"], unique=False)
    op.create_table(
        "retired_rows",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("row", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_retired_rows_dataset"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset", "row", name=op.f("pk_retired_rows")),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=True),
        sa.Column("browser", sa.String(length=80), nullable=False),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["principal"], ["principals.id"], name=op.f("fk_sessions_principal")
        ),
        sa.ForeignKeyConstraint(["key"], ["keys.id"], name=op.f("fk_sessions_key")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sessions_token_hash")),
    )
    op.create_index(op.f("ix_sessions_principal"), "sessions", ["principal"], unique=False)
    op.create_table(
        "slots",
        sa.Column("dataset", sa.String(length=40), nullable=False),
        sa.Column("recipient", sa.String(length=40), nullable=False),
        sa.Column("level_variance", sa.Float(precision=53), autoincrement=False, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("noise_variance", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.id"], name=op.f("fk_slots_dataset"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["recipient"], ["principals.id"], name=op.f("fk_slots_recipient")),
        sa.PrimaryKeyConstraint("dataset", "recipient", "level_variance", name=op.f("pk_slots")),
        sa.UniqueConstraint(
            "dataset", "noise_variance", name=op.f("uq_slots_dataset_noise_variance")
        ),
    )
    op.create_table(
        "survey_respondents",
        sa.Column("survey", sa.String(length=40), nullable=False),
        sa.Column("principal", sa.String(length=40), nullable=False),
        sa.Column("responses", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["principal"], ["principals.id"], name=op.f("fk_survey_respondents_principal")
        ),
        sa.ForeignKeyConstraint(
            ["survey"],
            ["surveys.id"],
            name=op.f("fk_survey_respondents_survey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("survey", "principal", name=op.f("pk_survey_respondents")),
    )
    op.create_table(
        "transfers",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("agreement", sa.String(length=40), nullable=False),
        sa.Column("consumer", sa.String(length=40), nullable=False),
        sa.Column("consumer_pid", sa.String(length=500), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("format", sa.String(length=40), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=True),
        sa.Column("callback", sa.Text(), nullable=False),
        sa.Column("base", sa.Text(), nullable=False),
        sa.Column("copy", sa.String(length=40), nullable=True),
        sa.Column("key", sa.String(length=40), nullable=True),
        sa.Column("address", sa.LargeBinary(), nullable=True),
        sa.Column("suspended_by", sa.String(length=20), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agreement"], ["agreements.id"], name=op.f("fk_transfers_agreement")
        ),
        sa.ForeignKeyConstraint(
            ["consumer"], ["principals.id"], name=op.f("fk_transfers_consumer")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transfers")),
        sa.UniqueConstraint(
            "consumer", "consumer_pid", name=op.f("uq_transfers_consumer_consumer_pid")
        ),
    )
    op.create_index(op.f("ix_transfers_agreement"), "transfers", ["agreement"], unique=False)
    op.execute(f"INSERT INTO audit_head (id, sequence, hash) VALUES (1, 0, '{'0' * 64}')")
    for log in LOGS:
        protect(log)


def downgrade() -> None:
    for log in LOGS:
        refuse_to_lose(log)
        unprotect(log)
    for table in reversed(TABLES):
        op.drop_table(table)
