"""What can be found: listed data sets, offered levels, no identifier and nothing else."""

from __future__ import annotations

from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import parties


def test_the_catalogue_shows_what_is_listed_at_the_levels_on_offer(
    service: Service,
) -> None:
    both = parties(service)
    found = both.recipient.get("/v1/catalogue").json()["datasets"]
    assert [one["id"] for one in found] == [both.dataset]
    assert found[0]["description"] == "Principals."
    assert found[0]["owner"] == both.owner_id
    assert found[0]["rows"] == 40
    assert [column["name"] for column in found[0]["columns"]] == ["age", "income", "city"]
    assert [(level["name"], level["privacy"]) for level in found[0]["levels"]] == [("public", 0.6)]
    assert both.recipient.get(f"/v1/catalogue/{both.dataset}").json() == found[0]
    # To find a data set is not to have it.
    assert both.recipient.get(f"/v1/datasets/{both.dataset}").status_code == 404
    both.owner.patch(f"/v1/datasets/{both.dataset}", json={"listed": False})
    assert both.recipient.get("/v1/catalogue").json()["datasets"] == []
    hidden = both.recipient.get(f"/v1/catalogue/{both.dataset}")
    assert hidden.status_code == 404
    assert both.owner.get(f"/v1/datasets/{both.dataset}").json()["description"] == "Principals."


def test_only_the_owner_describes_and_lists(service: Service) -> None:
    two = parties(service)
    _, other = service.principal("owner")
    for client in (two.recipient, other):
        said = client.patch(f"/v1/datasets/{two.dataset}", json={"listed": False})
        assert said.status_code == 404
    assert service.client(key=None).get("/v1/catalogue").status_code == 401


def test_the_catalogue_pages(service: Service) -> None:
    two = parties(service)
    for name in ("a", "b", "c"):
        from tests.api.datasets.test_datasets import register

        made = register(two.owner, name=name)["id"]
        two.owner.patch(f"/v1/datasets/{made}", json={"listed": True})
    first = two.recipient.get("/v1/catalogue", params={"limit": 3}).json()
    cursor = first["next_cursor"]
    rest = two.recipient.get("/v1/catalogue", params={"limit": 3, "cursor": cursor}).json()
    ids = [one["id"] for one in first["datasets"] + rest["datasets"]]
    assert len(ids) == len(set(ids)) == 4
    assert rest["next_cursor"] is None
