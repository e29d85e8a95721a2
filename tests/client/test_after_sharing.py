"""What comes after an agreement: deliveries and their receipts, webhooks, and a found table that is traced."""

from __future__ import annotations

from pathlib import Path

import pytest

import cornerwave
from cornerwave.transport.progress import silent
from tests.client.commands import cornerwave_command
from tests.client.people_table import people

NOWHERE = "https://127.0.0.1:1/told"


def agreed(owner: cornerwave.Client, reader: cornerwave.Client, dataset: str, whom: str) -> str:
    """A finalized traceable agreement on the level `partner`."""
    offered = owner.open_agreement(
        [{"dataset": dataset, "level": "partner"}],
        purpose="research",
        recipient=whom,
        legal_basis="contract",
        ends_at="2099-12-31T00:00:00Z",
        traceable=True,
    )
    reader.answer_agreement(offered.id, "accept")
    owner.answer_agreement(offered.id, "agree")
    reader.answer_agreement(offered.id, "verify")
    owner.answer_agreement(offered.id, "finalize")
    return offered.id


def test_a_found_table_leads_to_its_recipient(
    cw: cornerwave.Client, admin: cornerwave.Client, tmp_path: Path
) -> None:
    frame = people(8_000, seed=311)
    dataset = cw.register(frame, name=f"traced-{cw.url[-5:]}")
    dataset.level("partner", privacy=0.2)
    hook = cw.add_webhook(NOWHERE, events=["agreement.finalized"])
    assert hook.secret.startswith("whsec_")
    assert hook.secret not in repr(hook) + hook._repr_html_()
    assert [(each.id, each.url, each.events) for each in cw.webhooks()] == [
        (hook.id, NOWHERE, ("agreement.finalized",))
    ]
    one, other = (admin.create_principal(f"{name}-{cw.url[-5:]}") for name in ("one", "other"))
    with (
        cornerwave.connect(cw.url, one.key, progress=silent) as first,
        cornerwave.connect(cw.url, other.key, progress=silent) as second,
    ):
        agreement = agreed(cw, first, dataset.id, one.id)
        agreed(cw, second, dataset.id, other.id)
        leaked = first.dataset(dataset.id).copy("partner").to_pandas()
        second.dataset(dataset.id).copy("partner")
        assert {each.agreement for each in first.agreement_deliveries(agreement)} == {agreement}
    found = leaked[["income", "age"]].dropna().sample(6_000, random_state=1)
    traced = dataset.trace(found)
    assert [each.recipient for each in traced.copies if each.named] == [one.id]
    with pytest.raises(cornerwave.InvalidTable):
        dataset.trace({"nothing": [1.0, 2.0], "in": [1.0, 2.0]})

    messages = cw.webhook_messages(hook.id)
    assert {each.event for each in messages} == {"agreement.finalized"}
    again = cw.send_message_again(hook.id, messages[0].id)
    assert (again.id, again.delivered_at) == (messages[0].id, None)
    cw.remove_webhook(hook.id)
    assert cw.webhooks() == []

    config = tmp_path / "credentials.json"
    key = admin.create_principal(f"auditor-{cw.url[-5:]}", role="auditor").key
    assert cornerwave_command(config, "login", cw.url, typed=f"{key}\n").returncode == 0
    found.to_csv(tmp_path / "found.csv", index=False)
    told = cornerwave_command(config, "trace", str(tmp_path / "found.csv"), "--dataset", dataset.id)
    assert one.id in told.stdout, told.stderr
    assert other.id not in told.stdout
