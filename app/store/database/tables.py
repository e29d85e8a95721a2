"""Database schema for SQLite and PostgreSQL; `migrations/` upgrades to it.

A test compares the two: what is declared here is what the migrations build.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)
from sqlalchemy.schema import SchemaItem

from app.agreement import Channel, DeliveryState, Party, State, TransferState
from app.store.database.engine import Deliveries, Enumeration, Instant, Strings

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _table(name: str, *parts: SchemaItem) -> Table:
    return Table(name, metadata, *parts)


Identity = String(40)
Sequence = BigInteger().with_variant(Integer, "sqlite")

principals = _table(
    "principals",
    Column("id", Identity, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("revoked_at", Instant),
    # Who it is in a data space, if it is in one.
    Column("participant_id", String(500), unique=True, index=True),
    # What its owner proposes; nothing is reachable under it, so any number of principals may have the same.
    Column("proposed_participant_id", String(500)),
    # Who made it; nobody knows of those that came by an identity provider.
    Column("created_by", Identity, index=True),
    # Where it is notified of changes, if it wants to be.
    Column("email", String(254)),
    # The last use of any of its sessions.
    Column("visited_at", Instant),
)

keys = _table(
    "keys",
    Column("id", Identity, primary_key=True),
    Column("principal", Identity, ForeignKey("principals.id"), nullable=False, index=True),
    Column("secret_hash", LargeBinary(32), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("revoked_at", Instant),
    # The only agreement that the key is good for, if it is bound to one.
    Column("agreement", Identity, index=True),
    # The only transfer, likewise.
    Column("transfer", Identity),
)

sessions = _table(
    "sessions",
    Column("id", Identity, primary_key=True),
    Column("token_hash", LargeBinary(32), nullable=False, unique=True),
    Column("principal", Identity, ForeignKey("principals.id"), nullable=False, index=True),
    Column("key", Identity, ForeignKey("keys.id")),
    Column("browser", String(80), nullable=False),
    Column("begun_at", Instant, nullable=False),
    # The principal's last use of a session before this one.
    Column("since", Instant),
    Column("seen_at", Instant, nullable=False),
    Column("ends_at", Instant, nullable=False),
)

sign_in_links = _table(
    "sign_in_links",
    Column("token_hash", LargeBinary(32), primary_key=True),
    Column("principal", Identity, ForeignKey("principals.id"), nullable=False),
    Column("ends_at", Instant, nullable=False),
)

datasets = _table(
    "datasets",
    Column("id", Identity, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("owner", Identity, ForeignKey("principals.id"), nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("retired", BigInteger, nullable=False),
    Column("key_column", Text),
    Column("created_at", Instant, nullable=False),
    Column("frozen_at", Instant),
    Column("secret", LargeBinary, nullable=False),
    Column("statistics", LargeBinary, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("listed", Boolean, nullable=False, server_default=false()),
    # Texts that stand for a missing cell, in rows to come too.
    Column("missing_tokens", JSON),
    # The owner's own minimum of rows of a part, 0 for none.
    Column("part_rows", BigInteger, nullable=False, server_default="0"),
    Column("publish_noise", Boolean, nullable=False, server_default=true()),
    Column("protection", String(20), nullable=False, server_default="measured"),
    # Of formal protection: no copy has less noise, and one key has no more rows.
    Column("least_variance", Float(53)),
    Column("person_rows", BigInteger, nullable=False, server_default="1"),
    UniqueConstraint("owner", "name"),
)

columns = _table(
    "columns",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("storage", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("missing", BigInteger, nullable=False),
    Column("integer", Boolean, nullable=False),
    Column("round_to_integer", Boolean, nullable=False),
    Column("lower", Float(53)),
    Column("upper", Float(53)),
    # The sign that its numbers came with, empty for plain ones, null where nobody knows.
    Column("unit", String(20)),
    Column("date_format", String(40)),
    # What the owner declared: values, and which of them stand for others and for missing cells.
    Column("categories", Strings),
    Column("other", Text),
    Column("missing_as", Text),
    Column("weight", Float(53), nullable=False, server_default="1"),
    # Of its log scale; null on the linear scale.
    Column("scale_unit", Float(53)),
)

parts = _table(
    "parts",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("first_row", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("blob", Text, nullable=False, unique=True),
    Column("digest", String(64), nullable=False),
    # Hash of the protection that its rows are released under; null before the first copy.
    Column("protection", String(64)),
)

pending_batches = _table(
    "pending_batches",
    Column("id", Identity, primary_key=True),
    Column(
        "dataset",
        Identity,
        ForeignKey("datasets.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("sequence", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    # How many values each numeric column has among them.
    Column("counts", JSON, nullable=False),
    # Places of rows that were retired while they were pending.
    Column("retired", JSON, nullable=False),
    Column("blob", Text, nullable=False, unique=True),
    Column("sketches", LargeBinary, nullable=False),
    Column("decimal", String(10), nullable=False),
    Column("appended_at", Instant, nullable=False),
    UniqueConstraint("dataset", "sequence"),
)

retired_rows = _table(
    "retired_rows",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("row", BigInteger, primary_key=True),
)

key_books = _table(
    "key_books",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("bits", Integer, nullable=False),
    Column("keys", BigInteger, nullable=False),
    Column("most_versions", BigInteger, nullable=False),
)

key_pages = _table(
    "key_pages",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("page", Integer, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

sketches = _table(
    "sketches",
    # No foreign keys: the sketch of rows that were released outlives their data set.
    Column("dataset", Identity, primary_key=True),
    Column("owner", Identity, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
)

service_secrets = _table(
    "service_secrets",
    Column("name", String(60), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
)

levels = _table(
    "levels",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("noise_variance", Float(53), nullable=False),
    Column("issued_at", Instant),
    Column("offered", Boolean, nullable=False, server_default=false()),
    Column("delta", Float(53)),
)

grants = _table(
    "grants",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("recipient", Identity, ForeignKey("principals.id"), primary_key=True),
    Column("level", String(200), nullable=False),
    Column("expires_at", Instant),
    Column("columns", Strings),
)

slots = _table(
    "slots",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("recipient", Identity, ForeignKey("principals.id"), primary_key=True),
    Column("level_variance", Float(53), primary_key=True, autoincrement=False),
    Column("slot", Integer, nullable=False),
    Column("noise_variance", Float(53), nullable=False),
    UniqueConstraint("dataset", "noise_variance"),
)

protections = _table(
    "protections",
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("hash", String(64), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
)

history = _table(
    "history",
    # No foreign key: the history of a data set outlives it.
    Column("dataset", Identity, primary_key=True),
    Column("sequence", Sequence, primary_key=True, autoincrement=False),
    Column("copy", Identity, nullable=False, unique=True),
    Column("noise_variance", Float(53), nullable=False),
    Column("lower", Float(53)),
    Column("upper", Float(53)),
    Column("recipe", String(60), nullable=False),
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("at", Instant, nullable=False),
    Column("principal", Identity, nullable=False),
    UniqueConstraint("dataset", "noise_variance"),
)

audit_log = _table(
    "audit_log",
    Column("sequence", Sequence, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
    Column("principal", Identity, nullable=False),
    Column("action", String(60), nullable=False),
    Column("subject", Text, nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("request_id", String(100), nullable=False),
    Column("facts", JSON, nullable=False),
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

audit_head = _table(
    "audit_head",
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("at", Instant),
)

receipts = _table(
    "receipts",
    Column("principal", Identity, primary_key=True),
    Column("idempotency_key", String(200), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("subject", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("status", Integer),
    Column("answer", LargeBinary),
)

surveys = _table(
    "surveys",
    Column("id", Identity, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("owner", Identity, ForeignKey("principals.id"), nullable=False),
    Column("categories", JSON(none_as_null=True)),
    Column("edges", JSON(none_as_null=True)),
    Column("perturbation", JSON, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("responses", BigInteger, nullable=False),
    Column("responses_per_principal", BigInteger, nullable=False),
    Column("totals", JSON, nullable=False),
    UniqueConstraint("owner", "name"),
)

survey_respondents = _table(
    "survey_respondents",
    Column("survey", Identity, ForeignKey("surveys.id", ondelete="CASCADE"), primary_key=True),
    Column("principal", Identity, ForeignKey("principals.id"), primary_key=True),
    Column("responses", BigInteger, nullable=False),
)

results = _table(
    "results",
    Column("id", Identity, primary_key=True),
    Column("kind", String(40), nullable=False),
    Column("principal", Identity, nullable=False),
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), index=True),
    Column("created_at", Instant, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

installation = _table(
    "installation",
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("identity", Identity, nullable=False),
    Column("wrapped_key", LargeBinary, nullable=False),
    Column("probed_at", Instant),
)

orphaned_blobs = _table(
    "orphaned_blobs",
    # No foreign key: these blobs belong to no data set.
    Column("blob", String(200), primary_key=True),
    Column("reason", String(20), nullable=False),
    Column("since", Instant, nullable=False),
    Column("set_aside_at", Instant),
)

jobs = _table(
    "jobs",
    Column("id", Identity, primary_key=True),
    Column("kind", String(60), nullable=False),
    # No foreign key: a job may be the service's own.
    Column("principal", Identity),
    Column("role", String(20)),
    Column("subject", Text, nullable=False),
    Column("request_id", String(100), nullable=False),
    Column("dedup_key", String(200)),
    Column("created_at", Instant, nullable=False),
    Column("run_at", Instant, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("state", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("step", String(200), nullable=False),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("lease", String(40)),
    Column("lease_until", Instant),
    Column("concurrency_key", String(200), nullable=False),
    Column("claimed_at", Instant),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("outcome", LargeBinary),
    Index("ix_jobs_principal_created_at", "principal", "created_at"),
    Index("ix_jobs_state_run_at", "state", "run_at"),
    Index("ix_jobs_concurrency_key_claimed_at", "concurrency_key", "claimed_at"),
    Index(
        "uq_jobs_dedup_key",
        "dedup_key",
        unique=True,
        sqlite_where=text("state IN ('queued', 'running')"),
        postgresql_where=text("state IN ('queued', 'running')"),
    ),
)

agreements = _table(
    "agreements",
    Column("id", Identity, primary_key=True),
    Column("provider", Identity, ForeignKey("principals.id"), nullable=False, index=True),
    Column("consumer", Identity, ForeignKey("principals.id"), nullable=False),
    Column("state", Enumeration(State), nullable=False),
    Column("version", Integer, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("legal_basis", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_sha256", String(64), nullable=False),
    Column("starts_at", Instant, nullable=False),
    Column("ends_at", Instant),
    Column("renews", Boolean, nullable=False),
    Column("refresh", String(40), nullable=False),
    Column("deliveries", Deliveries, nullable=False),
    Column("traceable", Boolean, nullable=False),
    Column("rule", Identity),
    Column("created_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("finalized_at", Instant),
    Column("terminated_at", Instant),
    # The signed document, once it is finalized.
    Column("record", Text),
    Column("log_sequence", BigInteger, nullable=False),
    Column("log_hash", String(64), nullable=False),
    # A recipient's shares are listed by id, a page at a time.
    Index("ix_agreements_consumer_id", "consumer", "id"),
)

agreement_items = _table(
    "agreement_items",
    Column(
        "agreement", Identity, ForeignKey("agreements.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("position", Integer, primary_key=True),
    # No foreign key: an agreement outlives its data sets.
    Column("dataset", Identity, nullable=False, index=True),
    Column("level", String(200), nullable=False),
    Column("noise_variance", Float(53), nullable=False),
    Column("columns", Strings),
    Column("rows_since", BigInteger, nullable=False),
    # As the tables of a share they are listed by data set, a page at a time.
    Index("ix_agreement_items_agreement_dataset_position", "agreement", "dataset", "position"),
)

agreement_log = _table(
    "agreement_log",
    Column("agreement", Identity, primary_key=True),
    Column("sequence", Sequence, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
    Column("principal", Identity, nullable=False),
    Column("party", Enumeration(Party)),
    Column("event", String(60), nullable=False),
    Column("state", Enumeration(State), nullable=False),
    Column("facts", JSON, nullable=False),
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

agreement_rules = _table(
    "agreement_rules",
    Column("id", Identity, primary_key=True),
    Column("owner", Identity, ForeignKey("principals.id"), nullable=False, index=True),
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE")),
    Column("recipients", Strings),
    Column("purposes", Strings),
    Column("least_privacy", Float(53), nullable=False),
    Column("longest_days", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
)

signing_keys = _table(
    "signing_keys",
    Column("id", String(60), primary_key=True),
    Column("public", LargeBinary(32), nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("retired_at", Instant),
)

deliveries = _table(
    "deliveries",
    Column("id", Identity, primary_key=True),
    Column("agreement", Identity, ForeignKey("agreements.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("channel", Enumeration(Channel), nullable=False),
    Column("target", String(200), nullable=False),
    # Why: `finalized`, `rows:<count>` or `due:<moment>`. One cause is delivered once.
    Column("cause", String(60), nullable=False),
    Column("state", Enumeration(DeliveryState), nullable=False),
    Column("copy", Identity),
    Column("rows", BigInteger),
    Column("checksum", String(80)),
    Column("problem", Text),
    Column("created_at", Instant, nullable=False),
    Column("delivered_at", Instant),
    UniqueConstraint("agreement", "position", "channel", "target", "cause"),
)

webhooks = _table(
    "webhooks",
    Column("id", Identity, primary_key=True),
    Column("principal", Identity, ForeignKey("principals.id"), nullable=False, index=True),
    Column("url", Text, nullable=False),
    Column("events", Strings),
    Column("secret", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False),
)

outbox = _table(
    "outbox",
    Column("id", Identity, primary_key=True),
    Column("format", String(20), nullable=False),
    # The webhook, or the negotiation or transfer of a data space; messages with a sequence go in that order.
    Column("stream", Identity, nullable=False),
    Column("sequence", Integer),
    # One stream has one message of one cause.
    Column("cause", String(200), nullable=False),
    Column("receiver", Identity, nullable=False),
    Column("agreement", Identity, nullable=False, index=True),
    Column("event", String(60), nullable=False),
    # None for the URL of the webhook.
    Column("url", Text),
    # Sealed; it may carry a key.
    Column("body", LargeBinary),
    Column("created_at", Instant, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("last_try_at", Instant),
    Column("last_answer", String(200)),
    Column("delivered_at", Instant),
    Column("given_up_at", Instant),
    UniqueConstraint("stream", "cause"),
    UniqueConstraint("stream", "sequence"),
)

dataspace_negotiations = _table(
    "dataspace_negotiations",
    Column("agreement", Identity, ForeignKey("agreements.id"), primary_key=True),
    Column("consumer", Identity, ForeignKey("principals.id"), nullable=False),
    Column("consumer_pid", String(500), nullable=False),
    Column("offer", Text, nullable=False),
    Column("callback", Text, nullable=False),
    UniqueConstraint("consumer", "consumer_pid"),
)

transfers = _table(
    "transfers",
    Column("id", Identity, primary_key=True),
    Column("agreement", Identity, ForeignKey("agreements.id"), nullable=False, index=True),
    Column("consumer", Identity, ForeignKey("principals.id"), nullable=False),
    Column("consumer_pid", String(500), nullable=False),
    Column("state", Enumeration(TransferState), nullable=False),
    Column("format", String(40), nullable=False),
    Column("target", String(200)),
    Column("callback", Text, nullable=False),
    # Our own address as the consumer knows it.
    Column("base", Text, nullable=False),
    Column("copy", Identity),
    Column("key", Identity),
    # Where the data are and the key to them, sealed: told again when the transfer is resumed.
    Column("address", LargeBinary),
    Column("suspended_by", Enumeration(Party)),
    Column("created_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
    UniqueConstraint("consumer", "consumer_pid"),
)

released_files = _table(
    "released_files",
    Column("id", String(32), primary_key=True),
    Column(
        "dataset",
        Identity,
        ForeignKey("datasets.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("copy", Identity, nullable=False),
    Column("first_row", BigInteger, nullable=False),
    Column("end_row", BigInteger, nullable=False),
    Column("columns", JSON, nullable=False),
    Column("retired", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("size", BigInteger),
    Column("sha256", String(64)),
    Column("statistics", LargeBinary),
    Column("object", String(80)),
    Column("used_at", Instant, nullable=False),
    Column("promised_until", Instant),
)

released_objects = _table(
    "released_objects",
    # No foreign key: an object may outlive its file, until somebody removes it.
    Column("object", String(80), primary_key=True),
    Column("dataset", Identity, nullable=False),
    Column("since", Instant, nullable=False),
)
