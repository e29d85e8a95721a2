"""Pydantic models of the Dataspace Protocol's messages; unknown members are ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from app.service.sharing.dataspace.vocabulary import CONTEXT


def _context(context: list[str]) -> list[str]:
    if CONTEXT not in context:
        raise ValueError("the protocol's context is not named")
    return context


Pid = Annotated[str, Field(min_length=1, max_length=500)]
Address = Annotated[str, Field(max_length=2_000)]
Operator = Literal[
    "eq",
    "gt",
    "gteq",
    "lteq",
    "hasPart",
    "isA",
    "isAllOf",
    "isAnyOf",
    "isNoneOf",
    "isPartOf",
    "lt",
    "term-lteq",
    "neq",
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, alias_generator=to_camel)

    @model_validator(mode="after")
    def _nothing_is_null(self) -> Self:
        """Refuse null for optional members."""
        known = self.model_fields_set & type(self).model_fields.keys()
        if any(getattr(self, name) is None for name in known):
            raise ValueError("a member is null")
        return self


class _Message(_Part):
    context: Annotated[list[str], Field(alias="@context"), AfterValidator(_context)]


class AtomicConstraint(_Part):
    """One term of a policy."""

    left_operand: str
    operator: Operator
    right_operand: str | dict[str, Any] | list[Any]


class LogicalConstraint(_Part):
    """Several of them, joined by one word."""

    and_: list[Constraint] | None = Field(None, alias="and")
    and_sequence: list[Constraint] | None = None
    or_: list[Constraint] | None = Field(None, alias="or")
    xone: list[Constraint] | None = None

    @model_validator(mode="after")
    def _one_word(self) -> Self:
        if len(self.model_fields_set & {"and_", "and_sequence", "or_", "xone"}) != 1:
            raise ValueError("a constraint is a term, or has one of and, andSequence, or, xone")
        return self


Constraint = AtomicConstraint | LogicalConstraint


class PolicyRule(_Part):
    """Permission, prohibition or obligation."""

    action: str
    constraint: list[Constraint] = []


class OfferPart(_Part):
    """A policy in a message."""

    id: Annotated[str, Field(alias="@id", max_length=2_000)]
    type: Annotated[Literal["Offer"], Field(alias="@type")]
    profile: str | list[str] | None = None
    target: str | None = None
    permission: list[PolicyRule] | None = Field(None, min_length=1)
    prohibition: list[PolicyRule] | None = Field(None, min_length=1)
    obligation: list[PolicyRule] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.permission and not self.prohibition:
            raise ValueError("an offer has a permission or a prohibition")
        return self


class ContractRequest(_Message):
    """ContractRequestMessage: the first one names where to answer, later ones the negotiation."""

    type: Annotated[Literal["ContractRequestMessage"], Field(alias="@type")]
    consumer_pid: Pid
    provider_pid: Pid | None = None
    offer: OfferPart
    callback_address: Address | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if ("provider_pid" in self.model_fields_set) == (
            "callback_address" in self.model_fields_set
        ):
            raise ValueError("a request has a callbackAddress or a providerPid")
        return self

    def policy(self) -> dict[str, Any]:
        return self.offer.model_dump(by_alias=True, exclude_unset=True)


class ProcessMessage(_Message):
    """Message about a known process."""

    provider_pid: Pid
    consumer_pid: Pid

    def reason_text(self) -> str | None:
        """Return the code and the reasons in one text."""
        return None


class _Reasoned(ProcessMessage):
    code: str | None = None
    reason: list[Any] | None = Field(None, min_length=1)

    def reason_text(self) -> str | None:
        parts = [self.code, *(one for one in self.reason or () if isinstance(one, str))]
        return "; ".join(part for part in parts if part)[:2_000] or None


class NegotiationEvent(ProcessMessage):
    """ContractNegotiationEventMessage."""

    type: Annotated[Literal["ContractNegotiationEventMessage"], Field(alias="@type")]
    event_type: Literal["ACCEPTED", "FINALIZED"]


class AgreementVerification(ProcessMessage):
    """ContractAgreementVerificationMessage."""

    type: Annotated[Literal["ContractAgreementVerificationMessage"], Field(alias="@type")]


class NegotiationTermination(_Reasoned):
    """ContractNegotiationTerminationMessage."""

    type: Annotated[Literal["ContractNegotiationTerminationMessage"], Field(alias="@type")]


class CatalogRequest(_Message):
    """CatalogRequestMessage."""

    type: Annotated[Literal["CatalogRequestMessage"], Field(alias="@type")]
    filter: list[Any] | None = None


class EndpointProperty(_Part):
    """One thing that is said of an address."""

    type: Annotated[Literal["EndpointProperty"], Field(alias="@type")]
    name: str
    value: str


class DataAddress(_Part):
    """Address of data, or of the target of a push."""

    type: Annotated[Literal["DataAddress"], Field(alias="@type")]
    endpoint_type: str
    endpoint: str | None = None
    endpoint_properties: list[EndpointProperty] | None = Field(None, min_length=1)


class TransferRequest(_Message):
    """TransferRequestMessage."""

    type: Annotated[Literal["TransferRequestMessage"], Field(alias="@type")]
    agreement_id: str
    format: str
    data_address: DataAddress | None = None
    callback_address: Address
    consumer_pid: Pid


class TransferStart(ProcessMessage):
    """TransferStartMessage."""

    type: Annotated[Literal["TransferStartMessage"], Field(alias="@type")]
    data_address: DataAddress | None = None


class TransferCompletion(ProcessMessage):
    """TransferCompletionMessage."""

    type: Annotated[Literal["TransferCompletionMessage"], Field(alias="@type")]


class TransferSuspension(_Reasoned):
    """TransferSuspensionMessage."""

    type: Annotated[Literal["TransferSuspensionMessage"], Field(alias="@type")]


class TransferTermination(_Reasoned):
    """TransferTerminationMessage."""

    type: Annotated[Literal["TransferTerminationMessage"], Field(alias="@type")]
