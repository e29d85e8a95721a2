"""JSON schemas of agreements, agreement rules and the catalogue."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, Field

from app.agreement import (
    Agreement,
    AgreementEntry,
    Channel,
    Delivery,
    Message,
    Party,
    PlannedDelivery,
    Rule,
    State,
    messages_open_to,
)
from app.api.datasets.schemas import LevelView
from app.api.transport.forms import Form, View
from app.model import Kind
from app.service.context import RequestContext
from app.service.sharing.agreements.lookup import party_of
from app.service.sharing.agreements.terms import MOST_ITEMS, Draft, DraftItem

Name = Annotated[str, Field(max_length=200)]
Id = Annotated[str, Field(max_length=40)]


class ItemForm(Form):
    """Level, columns and rows of a data set that are requested or offered."""

    dataset: Id
    level: Name
    columns: list[Annotated[str, Field(max_length=10_000)]] | None = Field(None, max_length=10_000)
    rows_since: int = Field(0, ge=0, le=2**53 - 1, description="The first ordinal that is shared.")


class DeliveryForm(Form):
    """Delivery channel: pull by API, Delta Sharing table, or push to a target."""

    channel: Channel = Channel.PULL
    target: Name | None = Field(
        None, description="For pushing: a target that the operator allowed."
    )


class TermsForm(Form):
    """Terms as one side proposes them."""

    items: list[ItemForm] = Field(min_length=1, max_length=MOST_ITEMS)
    purpose: str = Field(min_length=1, max_length=2_000, examples=["research on commuting"])
    legal_basis: str = Field("", max_length=2_000, examples=["GDPR Art. 6(1)(e)"])
    terms: str = Field("", max_length=200_000, description="In words; known by their SHA-256.")
    starts_at: AwareDatetime | None = Field(None, description="Now, if left out.")
    ends_at: AwareDatetime | None = Field(None, description="No end, if left out.")
    renews: bool = Field(
        False, description="At the end it runs on for as long again, until it is terminated."
    )
    refresh: str = Field(
        "once",
        max_length=40,
        description="`once`, `on_append`, or a schedule that is due every hour at most: a pause in ISO 8601,"
        " or the five fields of a cron line in UTC.",
        examples=["on_append", "P1D", "30 6 * * MON-FRI"],
    )
    deliveries: list[DeliveryForm] = Field([DeliveryForm(target=None)], min_length=1, max_length=20)
    traceable: bool = False

    def draft(self) -> Draft:
        terms = self.model_dump(include=DRAFT_FIELDS)
        return Draft(
            items=tuple(DraftItem(**vars(one)) for one in self.items),
            text=self.terms,
            deliveries=tuple(Delivery(one.channel, one.target) for one in self.deliveries),
            **terms,
        )


DRAFT_FIELDS = {one.name for one in fields(Draft)} - {"items", "text", "deliveries"}


class AgreementForm(TermsForm):
    """A new agreement: an offer names the recipient, a request is the recipient's own."""

    recipient: Id | None = None


class MessageForm(Form):
    """A message that changes no terms."""

    version: int | None = Field(None, description="The version that was seen; another is a 409.")

    def parts(self) -> dict[str, Any]:
        """Return the message as arguments of `negotiation.send`."""
        return {"version": self.version}


class ProposalForm(MessageForm):
    """Other terms, or none to keep the current ones."""

    terms: TermsForm | None = None

    def parts(self) -> dict[str, Any]:
        draft = None if self.terms is None else self.terms.draft()
        return {"version": self.version, "draft": draft}


class TerminationForm(MessageForm):
    """Termination of an agreement or a negotiation."""

    reason: str | None = Field(None, max_length=2_000)

    def parts(self) -> dict[str, Any]:
        return {"version": self.version, "reason": self.reason}


class ItemView(View):
    """Level, columns and rows of a data set that are shared, and the privacy of the level."""

    dataset: str
    level: str
    noise_variance: float
    privacy: float
    columns: list[str] | None
    rows_since: int


class DeliveryView(View):
    """Delivery channel."""

    channel: Channel
    target: str | None


class AgreementView(BaseModel):
    """An agreement; `open_to_you` lists what the principal may say now."""

    id: str
    state: State
    version: int
    provider: str
    recipient: str
    items: list[ItemView]
    purpose: str
    legal_basis: str
    terms: str
    terms_sha256: str
    starts_at: datetime
    ends_at: datetime | None
    renews: bool
    refresh: str
    deliveries: list[DeliveryView]
    traceable: bool
    rule: str | None = Field(description="The rule by which it was agreed without a person.")
    created_at: datetime
    changed_at: datetime
    finalized_at: datetime | None
    terminated_at: datetime | None
    log_sequence: int
    log_hash: str
    open_to_you: list[Message]

    @classmethod
    def of(cls, agreement: Agreement, context: RequestContext) -> AgreementView:
        terms = agreement.terms
        party = party_of(context, agreement)
        own = {
            "recipient": agreement.consumer,
            "terms": terms.text,
            "terms_sha256": terms.text_sha256,
            "rule": agreement.rule if party is not Party.CONSUMER else None,
            "open_to_you": () if party is None else messages_open_to(agreement.state, party),
        }
        values = {**vars(terms), **vars(agreement), **own}
        return cls.model_validate(values, from_attributes=True)


class AgreementList(BaseModel):
    """A page of agreements."""

    agreements: list[AgreementView]
    next_cursor: str | None


class AgreementLogView(BaseModel):
    """A page of an agreement's own log."""

    entries: list[AgreementEntry]
    next_cursor: str | None


class DeliveryList(BaseModel):
    """A page of an agreement's deliveries."""

    deliveries: list[PlannedDelivery]
    next_cursor: str | None


class ProfileView(BaseModel):
    """A profile that clients of Delta Sharing read, as the protocol writes it. The key is shown once."""

    shareCredentialsVersion: int = Field(1, ge=1, le=1)  # noqa: N815
    endpoint: str
    bearerToken: str  # noqa: N815
    expirationTime: datetime | None = Field(  # noqa: N815
        None, description="The end of the agreement; null where nothing but a termination ends it."
    )


class RuleForm(Form):
    """Conditions for automatic agreement; a request must meet all of them."""

    dataset: Id | None = Field(None, description="All of the owner's data sets, if left out.")
    recipients: list[Id] | None = Field(None, max_length=10_000)
    purposes: list[Annotated[str, Field(max_length=2_000)]] | None = Field(None, max_length=1_000)
    least_privacy: float = Field(gt=0, lt=1)
    longest_days: int = Field(ge=1, le=36_525)


class RuleList(BaseModel):
    """An owner's rules."""

    rules: list[Rule]


class ListedColumnView(View):
    """A column that a copy can have."""

    name: str
    kind: Kind


class ListingView(View):
    """A data set that can be requested."""

    id: str
    name: str
    description: str
    owner: str
    owner_name: str
    rows: int
    columns: list[ListedColumnView]
    levels: list[LevelView]


class CatalogueView(BaseModel):
    """A page of the catalogue."""

    datasets: list[ListingView]
    next_cursor: str | None
