"""The sequences of the public technology compatibility kit for providers, replayed.

A sequence is read from left to right: `request` and other words are the consumer's messages, one with
a `!` is refused with 400, `owner:offer` is what the provider's person says, `<offers` waits until the
consumer was told so, `=OFFERED` is how our side says the process stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.service.sharing.dataspace import callbacks
from tests.api.conftest import Service
from tests.api.dsp.consumer import AT, Consumer, Negotiating, Transferring, consuming
from tests.api.dsp.messages import require_valid
from tests.api.sharing.agreements.receiving import LOOPBACK

OFFER, AGREEMENT = "<ContractOfferMessage", "<ContractAgreementMessage"
FINALIZED, ENDED = "<ContractNegotiationEventMessage", "<ContractNegotiationTerminationMessage"
START, SUSPENSION = "<TransferStartMessage", "<TransferSuspensionMessage"
COMPLETION, STOPPED = "<TransferCompletionMessage", "<TransferTerminationMessage"

NEGOTIATIONS = {
    "CN:01-01": f"=REQUESTED owner:offer {OFFER} terminate =TERMINATED",
    "CN:01-02": f"owner:offer {OFFER} counter =REQUESTED owner:terminate {ENDED} =TERMINATED",
    "CN:01-03": f"owner:offer {OFFER} accept =ACCEPTED owner:agree {AGREEMENT} =AGREED verify"
    f" =VERIFIED owner:finalize {FINALIZED} =FINALIZED",
    "CN:01-04": f"by-rule {AGREEMENT} verify {FINALIZED} =FINALIZED",
    "CN:02-01": f"owner:terminate {ENDED} =TERMINATED",
    "CN:02-02": "terminate =TERMINATED",
    "CN:02-03": f"by-rule {AGREEMENT} terminate =TERMINATED",
    "CN:02-04": f"owner:offer {OFFER} terminate =TERMINATED",
    "CN:02-05": f"owner:offer {OFFER} owner:terminate {ENDED} =TERMINATED",
    "CN:02-06": f"owner:offer {OFFER} accept owner:terminate {ENDED} =TERMINATED",
    "CN:02-07": f"owner:agree {AGREEMENT} verify owner:terminate {ENDED} =TERMINATED",
    "CN:03-01": f"by-rule {AGREEMENT} verify {FINALIZED} terminate! =FINALIZED",
    "CN:03-02": f"owner:offer {OFFER} verify! =OFFERED",
    "CN:03-03": f"owner:offer {OFFER} accept verify! =ACCEPTED",
    "CN:03-04": f"owner:offer {OFFER} counter counter! =REQUESTED",
}
TRANSFERS = {
    "TP:01-01": f"{START} owner:terminate {STOPPED} =TERMINATED",
    "TP:01-02": f"{START} owner:complete {COMPLETION} =COMPLETED",
    "TP:01-03": f"{START} owner:suspend {SUSPENSION} owner:terminate {STOPPED} =TERMINATED",
    "TP:01-04": f"{START} owner:suspend {SUSPENSION} owner:resume {START} owner:complete"
    f" {COMPLETION} =COMPLETED",
    "TP:01-05": f"later =REQUESTED owner:terminate {STOPPED} =TERMINATED",
    "TP:02-01": f"{START} =STARTED terminate =TERMINATED",
    "TP:02-02": f"{START} =STARTED complete =COMPLETED",
    "TP:02-03": f"{START} =STARTED suspend =SUSPENDED terminate =TERMINATED",
    "TP:02-04": f"{START} suspend =SUSPENDED start =STARTED complete =COMPLETED",
    "TP:02-05": "later =REQUESTED terminate =TERMINATED",
    "TP:03-01": "later =REQUESTED complete! =REQUESTED",
    "TP:03-02": "later =REQUESTED suspend! =REQUESTED",
    "TP:03-03": f"{START} suspend complete! =SUSPENDED",
    "TP:03-04": f"{START} terminate start! =TERMINATED",
    "TP:03-05": f"{START} terminate suspend! =TERMINATED",
    "TP:03-06": f"{START} terminate complete! =TERMINATED",
}
# Beyond the kit: what the state machines forbid besides, and what is ours.
NEGOTIATIONS |= {
    "accepting one's own request": "accept! =REQUESTED",
    "anything after the end": "terminate accept! verify! counter! terminate! =TERMINATED",
    "ending the agreement leaves the negotiation final": f"by-rule {AGREEMENT} verify {FINALIZED}"
    " owner:terminate =FINALIZED",
}
TRANSFERS |= {
    "what the provider stopped": f"{START} owner:suspend {SUSPENSION} start! =SUSPENDED",
    "anything after the end": f"{START} complete start! suspend! terminate! =COMPLETED",
}


@pytest.fixture(scope="module")
def consumer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consumer]:
    home: Path = tmp_path_factory.mktemp("dataspace")
    service = Service(f"sqlite:///{home}/dataspace.sqlite", home, **LOOPBACK)
    patched = pytest.MonkeyPatch()
    patched.setattr(callbacks, "DELAY", timedelta(0))
    with consuming(service) as consumer:
        yield consumer
    patched.undo()
    service.close()


@pytest.mark.parametrize("name", NEGOTIATIONS)
def test_negotiations_go_as_the_kit_has_them(consumer: Consumer, name: str) -> None:
    by_rule, _, steps = NEGOTIATIONS[name].rpartition("by-rule ")
    follow(consumer.request(by_rule=bool(by_rule or "by-rule" in NEGOTIATIONS[name])), steps)


@pytest.mark.parametrize("name", TRANSFERS)
def test_transfers_go_as_the_kit_has_them(consumer: Consumer, name: str) -> None:
    _, later, steps = TRANSFERS[name].rpartition("later ")
    ahead = [
        {
            "leftOperand": "dateTime",
            "operator": operator,
            "rightOperand": (datetime.now(UTC) + timedelta(days=days)).isoformat(),
        }
        for operator, days in (("gteq", 1), ("lt", 3))
    ]
    agreement = consumer.agreed(constraint=ahead if later else [])
    follow(consumer.transfer(agreement), steps)


def test_the_versions_are_told_to_everyone(consumer: Consumer) -> None:
    told = consumer.two.service.client(None).get("/.well-known/dspace-version")
    require_valid(told.json(), "VersionResponse")
    [version] = told.json()["protocolVersions"]
    assert (version["version"], version["path"], version["binding"]) == ("2025-1", AT, "HTTPS")


def test_the_catalogue_has_data_sets_at_levels_and_says_what_it_has_not(consumer: Consumer) -> None:
    listed = consumer.dataset()
    shown = consumer.client.get(f"{AT}/catalog/datasets/{listed['@id']}")
    require_valid(shown.json())
    assert shown.json()["hasPolicy"] == listed["hasPolicy"]
    for absent in ("urn:example:nothing", f"{listed['@id']}x", "urn:cornerwave:dataset:a:b"):
        missing = consumer.client.get(f"{AT}/catalog/datasets/{absent}")
        require_valid(missing.json(), "CatalogError")
        assert missing.status_code == 404


def follow(process: Negotiating | Transferring, steps: str) -> None:
    """Take the steps of a sequence; every message sent, answered and told is checked on the way."""
    waited: dict[str, int] = {}
    for step in steps.split():
        if step.startswith("="):
            assert process.state() == step[1:], (step, steps)
        elif step.startswith("<"):
            waited[step] = waited.get(step, 0) + 1
            process.hears(step[1:], waited[step])
        elif step.startswith("owner:"):
            process.owner(step.removeprefix("owner:"))
        else:
            answered = getattr(process, step.rstrip("!"))()
            assert answered.status_code == (400 if step.endswith("!") else 200), answered.text
            assert answered.json()["@type"].endswith("Error") == step.endswith("!")
