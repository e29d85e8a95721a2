"""Responses to surveys are counted per principal, and bounded."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("surveys") as surveys:
        surveys.add_column(
            sa.Column(
                "responses_per_principal", sa.BigInteger(), nullable=False, server_default="10000"
            )
        )
    with op.batch_alter_table("surveys") as surveys:
        surveys.alter_column(
            "responses_per_principal", existing_type=sa.BigInteger(), server_default=None
        )
    op.create_table(
        "survey_respondents",
        sa.Column("survey", sa.String(40), nullable=False),
        sa.Column("principal", sa.String(40), nullable=False),
        sa.Column("responses", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["survey"],
            ["surveys.id"],
            name="fk_survey_respondents_survey_surveys",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["principal"], ["callers.id"], name="fk_survey_respondents_principal_callers"
        ),
        sa.PrimaryKeyConstraint("survey", "principal", name="pk_survey_respondents"),
    )


def downgrade() -> None:
    op.drop_table("survey_respondents")
    with op.batch_alter_table("surveys") as surveys:
        surveys.drop_column("responses_per_principal")
