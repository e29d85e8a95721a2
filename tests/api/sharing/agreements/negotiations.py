"""Two parties and a data set, for tests of agreements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi.testclient import TestClient

from tests.api.conftest import Service
from tests.api.datasets.test_datasets import register

PEOPLE = "person,age,income,city\n" + "".join(
    f"p{i},{20 + 7 * i % 41}.5,{1000 + 137 * i % 900},{('Rome', 'Oslo', 'Bern')[i % 3]}\n"
    for i in range(40)
)
FAR = "2099-01-01T00:00:00Z"


@dataclass
class Parties:
    """An owner with a listed data set of two levels, of which `public` is offered; a recipient."""

    service: Service
    owner_id: str
    owner: TestClient
    recipient_id: str
    recipient: TestClient
    dataset: str

    def terms(self, **changed: Any) -> dict[str, Any]:
        """Terms of a request that is fine."""
        return {
            "items": [{"dataset": self.dataset, "level": "public"}],
            "purpose": "research",
            "legal_basis": "GDPR Art. 6(1)(e)",
            "terms": "Use it well.",
            "ends_at": FAR,
            **changed,
        }

    def request(self, **changed: Any) -> Any:
        made = self.recipient.post("/v1/agreements", json=self.terms(**changed))
        assert made.status_code == 201, made.text
        return made.json()

    def offer(self, **changed: Any) -> Any:
        form = self.terms(**changed) | {"recipient": self.recipient_id}
        made = self.owner.post("/v1/agreements", json=form)
        assert made.status_code == 201, made.text
        return made.json()

    def say(self, who: TestClient, agreement: str, message: str, **form: Any) -> Any:
        said = who.post(f"/v1/agreements/{agreement}/{message}", json=form)
        assert said.status_code == 200, said.text
        return said.json()

    def finalized(self, **changed: Any) -> Any:
        """A request that both sides carried to the end."""
        agreement = self.request(**changed)["id"]
        self.say(self.owner, agreement, "agree")
        self.say(self.recipient, agreement, "verify")
        return self.say(self.owner, agreement, "finalize")


def parties(service: Service, body: str = PEOPLE) -> Parties:
    owner_id, owner = service.principal("owner")
    recipient_id, recipient = service.principal("recipient")
    dataset = register(owner, body, columns='{"person": "identifier"}', key_column="person")["id"]
    at = f"/v1/datasets/{dataset}"
    owner.put(f"{at}/levels/partner", json={"noise_variance": 0.25})
    owner.put(f"{at}/levels/public", json={"noise_variance": 1.5, "offered": True})
    said = owner.patch(at, json={"listed": True, "description": "Principals."})
    assert said.status_code == 200, said.text
    return Parties(service, owner_id, owner, recipient_id, recipient, dataset)
