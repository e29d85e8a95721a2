"""The one schema, for SQLite and PostgreSQL; migrations/ brings a database to it.

A test compares the two: what is declared here is what the migrations build.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


class Instant(TypeDecorator[datetime]):
    """A moment in UTC; SQLite forgets the zone and gets it back here."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("a moment needs a zone")
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Identity = String(40)
Sequence = BigInteger().with_variant(Integer, "sqlite")

callers = Table(
    "callers",
    metadata,
    Column("id", Identity, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("revoked_at", Instant),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Identity, primary_key=True),
    Column("caller", Identity, ForeignKey("callers.id"), nullable=False, index=True),
    Column("secret_hash", LargeBinary(32), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("revoked_at", Instant),
)

datasets = Table(
    "datasets",
    metadata,
    Column("id", Identity, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("owner", Identity, ForeignKey("callers.id"), nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("retired", BigInteger, nullable=False),
    Column("key_column", Text),
    Column("created_at", Instant, nullable=False),
    Column("frozen_at", Instant),
    Column("secret", LargeBinary, nullable=False),
    Column("statistics", LargeBinary, nullable=False),
    UniqueConstraint("owner", "name"),
)

columns = Table(
    "columns",
    metadata,
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("storage", String(20), nullable=False),
    Column("because", Text, nullable=False),
    Column("missing", BigInteger, nullable=False),
    Column("integer", Boolean, nullable=False),
    Column("round_to_integer", Boolean, nullable=False),
    Column("lower", Float(53)),
    Column("upper", Float(53)),
)

parts = Table(
    "parts",
    metadata,
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("first_row", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("blob", Text, nullable=False, unique=True),
)

retired_rows = Table(
    "retired_rows",
    metadata,
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("row", BigInteger, primary_key=True),
)

levels = Table(
    "levels",
    metadata,
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("noise_variance", Float(53), nullable=False),
    Column("issued_at", Instant),
)

grants = Table(
    "grants",
    metadata,
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("recipient", Identity, ForeignKey("callers.id"), primary_key=True),
    Column("level", String(200), nullable=False),
    Column("expires_at", Instant),
    Column("columns", JSON(none_as_null=True)),
)

shapes = Table(
    "shapes",
    metadata,
    Column("dataset", Identity, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
)

history = Table(
    "history",
    metadata,
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
    Column("caller", Identity, nullable=False),
    UniqueConstraint("dataset", "noise_variance"),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("sequence", Sequence, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
    Column("caller", Identity, nullable=False),
    Column("action", String(60), nullable=False),
    Column("subject", Text, nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("request_id", String(100), nullable=False),
    Column("facts", JSON, nullable=False),
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
)

receipts = Table(
    "receipts",
    metadata,
    Column("caller", Identity, primary_key=True),
    Column("idempotency_key", String(200), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("subject", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("status", Integer),
    Column("answer", LargeBinary),
)

reports = Table(
    "reports",
    metadata,
    Column("id", Identity, primary_key=True),
    Column("caller", Identity, nullable=False, index=True),
    Column("created_at", Instant, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

surveys = Table(
    "surveys",
    metadata,
    Column("id", Identity, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("owner", Identity, ForeignKey("callers.id"), nullable=False),
    Column("categories", JSON(none_as_null=True)),
    Column("edges", JSON(none_as_null=True)),
    Column("perturbation", JSON, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("responses", BigInteger, nullable=False),
    Column("totals", JSON, nullable=False),
    UniqueConstraint("owner", "name"),
)

audits = Table(
    "audits",
    metadata,
    Column("id", Identity, primary_key=True),
    Column(
        "dataset",
        Identity,
        ForeignKey("datasets.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("caller", Identity, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
