"""Every pair of state and message, by either side, against the protocol's diagram written out again."""

from __future__ import annotations

from itertools import product

import pytest

from app.agreement import (
    TRANSITIONS,
    Message,
    Party,
    State,
    messages_open_to,
    state_after,
)

DIAGRAM = """
- REQUESTED C request
- OFFERED P offer
REQUESTED OFFERED P offer
REQUESTED AGREED P agree
REQUESTED TERMINATED CP terminate
OFFERED REQUESTED C request
OFFERED ACCEPTED C accept
OFFERED TERMINATED CP terminate
ACCEPTED AGREED P agree
ACCEPTED TERMINATED P terminate
AGREED VERIFIED C verify
AGREED TERMINATED C terminate
VERIFIED FINALIZED P finalize
VERIFIED TERMINATED P terminate
FINALIZED TERMINATED CP terminate
"""
"""From, to, who (consumer, provider), what: the arrows of the Dataspace Protocol's figure, and the
last line, which is ours."""

ARROWS = {
    (source, party, message): target
    for source, target, parties, message in (line.split() for line in DIAGRAM.strip().splitlines())
    for party in parties
}
STATES = [None, *State]


@pytest.mark.parametrize(("state", "party", "message"), list(product(STATES, Party, Message)))
def test_every_state_and_message(state: State | None, party: Party, message: Message) -> None:
    arrow = ("-" if state is None else state.value, party.value[0].upper(), message.value)
    expected = ARROWS.get(arrow)
    found = state_after(state, party, message)
    assert (None if found is None else found.value) == expected
    assert (message in messages_open_to(state, party)) == (expected is not None)


def test_nothing_leads_out_of_the_end_and_every_state_can_be_reached() -> None:
    assert len(TRANSITIONS) == len(ARROWS) == 18
    assert all(messages_open_to(State.TERMINATED, party) == () for party in Party)
    assert set(TRANSITIONS.values()) == set(State)


def senders(message: Message) -> set[Party]:
    return {who for _, who, said in TRANSITIONS if said is message}


def test_only_a_consumer_accepts_and_only_a_provider_finalizes() -> None:
    assert senders(Message.ACCEPT) == senders(Message.VERIFY) == {Party.CONSUMER}
    assert senders(Message.AGREE) == senders(Message.FINALIZE) == {Party.PROVIDER}
    assert senders(Message.TERMINATE) == set(Party)
