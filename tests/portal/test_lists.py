"""Lists that are searched, sorted and paged; data sets renamed, rows paged, access withdrawn by mistake, invitations."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from app.model import ListQuery
from app.service.sharing import grants
from app.store.database.datasets import datasets
from app.store.database.engine import moment, reading
from app.store.database.sharing import agreements as agreements_store
from app.store.database.sharing import principals as principals_store
from tests.api.conftest import Service
from tests.portal.test_administration import made
from tests.portal.test_owner import registered, sending
from tests.portal.test_sessions import HTML, OWN, signed_in


def names_on(page: str) -> list[str]:
    """What a page of cards or rows lists, in order."""
    return re.findall(r'<(?:h2|h3|th scope="row")><a href="/portal/\w+/[^"]+">([^<]+)</a>', page)


def test_people_are_searched_sorted_and_paged(service_on_each_database: Service) -> None:
    service = service_on_each_database
    for number in range(60):
        made(service, f"Person {59 - number:02d}", "recipient")
    made(service, "100% certain", "auditor")
    client = signed_in(service)

    def shown(**params: str) -> list[str]:
        return names_on(client.get("/portal/principals", params=params).text)

    by_name = ["100% certain", "administrator", *(f"Person {number:02d}" for number in range(60))]
    assert shown() + shown(page="2") == by_name
    assert len(shown()) == 50
    assert shown(q="person 1") == [f"Person {number}" for number in range(10, 20)]
    # A sign that databases know is looked for as it is.
    assert shown(q="%") == ["100% certain"]
    assert shown(sort="newest", q="person")[:2] == ["Person 00", "Person 01"]
    assert shown(page="3") == []
    following = re.search(
        r'rel="next" href="([^"]+)"', client.get("/portal/principals?q=person&sort=newest").text
    )
    assert following is not None
    assert len(names_on(client.get(html.unescape(following[1])).text)) == 10


def test_data_sets_are_searched_and_those_one_has_are_not_offered(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database
    office = signed_in(service, made(service, "office", "owner")["key"])
    analyst = made(service, "analyst", "recipient")
    found = {
        name: registered(office, name, seed) for seed, name in enumerate(("beta", "Alpha", "gamma"))
    }
    for dataset in found.values():
        at = f"/portal/owned/{dataset}"
        level = {"name": "a", "percent": "50", "offered": "true"}
        office.post(f"{at}/levels", data=level, headers=sending(office))
        said = {"name": next(n for n in found if found[n] == dataset), "listed": "true"}
        office.post(f"{at}/description", data=said, headers=sending(office))
    assert names_on(office.get("/portal/owned").text) == ["Alpha", "beta", "gamma"]
    assert names_on(office.get("/portal/owned?sort=newest").text) == ["gamma", "Alpha", "beta"]
    assert names_on(office.get("/portal/owned?q=ALPH").text) == ["Alpha"]
    grant = {"recipient": analyst["id"], "level": "a"}
    office.post(f"/portal/owned/{found['beta']}/people", data=grant, headers=sending(office))
    catalogue = signed_in(service, analyst["key"]).get("/portal/catalogue").text
    granted, _, offered = catalogue.partition("Available on request")
    assert names_on(granted) == ["beta"]
    assert names_on(offered) == ["Alpha", "gamma"]
    with reading(service.app.state.resources.engine) as connection:
        everything = ListQuery("", "rows", 1, 1)
        page = datasets.search(connection, everything, now=moment(connection))
        assert (len(page.items), page.total) == (1, 3)


def test_a_data_set_is_renamed_unless_the_name_is_taken(service: Service) -> None:
    office = signed_in(service, made(service, "office", "owner")["key"])
    one, _ = registered(office, "one", 1), registered(office, "two", 2)
    at = f"/portal/owned/{one}/description"
    taken = office.post(at, data={"name": "two"}, headers=sending(office))
    assert taken.json()["type"] == "/problems/name-taken"
    office.post(at, data={"name": "three", "description": "x"}, headers=sending(office))
    assert names_on(office.get("/portal/owned").text) == ["three", "two"]


@pytest.fixture
def granted(service: Service) -> tuple[TestClient, dict[str, str], str]:
    """An owner's browser, an analyst, and a data set that the analyst was granted."""
    office = signed_in(service, made(service, "office", "owner")["key"])
    analyst = made(service, "analyst", "recipient")
    dataset = registered(office, "Rents", 1)
    at = f"/portal/owned/{dataset}"
    office.post(f"{at}/levels", data={"name": "a", "percent": "50"}, headers=sending(office))
    grant = {"recipient": analyst["id"], "level": "a", "until": "2999-12-31"}
    office.post(f"{at}/people", data=grant, headers=sending(office))
    return office, analyst, dataset


def test_a_withdrawal_is_undone_within_a_minute(
    granted: tuple[TestClient, dict[str, str], str],
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office, analyst, dataset = granted
    at, who = f"/portal/owned/{dataset}/people", {"recipient": analyst["id"]}
    client = service.client(analyst["key"])
    with reading(service.app.state.resources.engine) as connection:
        before = agreements_store.grants_by_hand(connection, dataset)

    def withdraw() -> str:
        page = office.post(
            f"{at}/withdraw",
            data=who,
            headers=OWN | {"X-Form-Token": sending(office)["X-Form-Token"]},
        )
        assert client.get(f"/v1/datasets/{dataset}").status_code == 404
        return page.text

    assert ">Undo<" in withdraw()
    assert office.post(f"{at}/restore", data=who, headers=sending(office)).status_code == 200
    assert client.get(f"/v1/datasets/{dataset}").status_code == 200
    with reading(service.app.state.resources.engine) as connection:
        assert agreements_store.grants_by_hand(connection, dataset) == before
    # Once is enough, and after the minute nothing comes back.
    assert office.post(f"{at}/restore", data=who, headers=sending(office)).status_code == 409
    monkeypatch.setattr(grants, "UNDO_LASTS", timedelta(0))
    assert ">Undo<" not in withdraw()
    assert office.post(f"{at}/restore", data=who, headers=sending(office)).status_code == 409
    assert client.get(f"/v1/datasets/{dataset}").status_code == 404


def test_rows_are_paged_and_shared_by_a_link_that_ends_with_the_right(
    granted: tuple[TestClient, dict[str, str], str], service: Service
) -> None:
    office, analyst, dataset = granted
    office.post(f"/portal/datasets/{dataset}/copies", data={"level": "a"}, headers=sending(office))
    reader = signed_in(service, analyst["key"])
    first, last, beyond = (
        reader.get(f"/portal/datasets/{dataset}", params={"page": page}).text
        for page in ("1", "12", "13")
    )
    rows = [re.findall(r'<tr>(<td class="nowrap.*?)</tr>', page) for page in (first, last, beyond)]
    assert [len(one) for one in rows] == [25, 25, 0]
    assert rows[0] != rows[1]
    copy = re.findall(r"/portal/copies/(cp_\w+)/content", first)[0]
    link = reader.post(
        f"/portal/datasets/{dataset}/copies/{copy}/link",
        data={"form_token": sending(reader)["X-Form-Token"]},
        headers=OWN,
    ).text
    address = html.unescape(re.findall(r'id="link-1">([^<]+)<', link)[0])
    stranger = service.client(None)
    assert stranger.get(address).content[:4] == b"PAR1"
    who = {"recipient": analyst["id"]}
    office.post(f"/portal/owned/{dataset}/people/withdraw", data=who, headers=sending(office))
    assert stranger.get(address).status_code in (403, 404)


def test_levels_of_equal_privacy_name_their_copy_together(
    granted: tuple[TestClient, dict[str, str], str], service: Service
) -> None:
    office, _, dataset = granted
    at = f"/portal/owned/{dataset}"
    office.post(f"{at}/levels", data={"name": "b", "percent": "50"}, headers=sending(office))
    office.post(f"/portal/datasets/{dataset}/copies", data={"level": "b"}, headers=sending(office))
    assert "<td>a, b</td>" in office.get(f"{at}/people").text
    copy = re.findall(
        r"/portal/copies/(cp_\w+)/content", office.get(f"/portal/datasets/{dataset}").text
    )[0]
    sent = office.get(f"/portal/copies/{copy}/content")
    assert "Rents-a-b.csv" in sent.headers["content-disposition"]


def test_an_invitation_signs_in_once_by_a_button(service: Service) -> None:
    client = signed_in(service)
    form = {"form_token": sending(client)["X-Form-Token"], "name": "Guest", "role": "recipient"}
    page = client.post("/portal/principals", data={**form, "by": "invitation"}, headers=OWN).text
    address = re.findall(r'id="invitation">([^<]+)<', page)[0]
    assert "cw_" not in page
    guest = service.client(None)
    guest.headers.update(HTML)
    # A program that looks at the link ahead of a person does not use it up.
    for _ in range(2):
        assert guest.get(address).status_code == 200
    assert guest.post(address, headers={"Origin": "http://evil.example"}).status_code == 403
    assert guest.post(address, headers=OWN).status_code == 200
    assert guest.get("/portal", follow_redirects=False).status_code == 200
    other = service.client(None)
    assert other.post(address, headers=OWN | HTML).status_code == 401
    # A first key is made on the account page.
    token = sending(guest)["X-Form-Token"]
    new = guest.post("/portal/account/keys", data={"form_token": token}, headers=OWN).text
    key = new.partition('id="new-key">')[2].partition("<")[0]
    assert service.client(key).get("/v1/datasets").status_code == 200
    with reading(service.app.state.resources.engine) as connection:
        assert principals_store.id_of(connection, "guest") is not None
    owner = signed_in(service, made(service, "office", "owner")["key"])
    form = {
        "form_token": sending(owner)["X-Form-Token"],
        "name": "x",
        "role": "admin",
        "by": "invitation",
    }
    assert owner.post("/portal/principals", data=form, headers=OWN).status_code == 403


def test_an_invitation_ends_with_the_keys_and_is_never_in_the_log(service: Service) -> None:
    client = signed_in(service)
    form = {"form_token": sending(client)["X-Form-Token"], "name": "Guest", "role": "recipient"}
    page = client.post("/portal/principals", data={**form, "by": "invitation"}, headers=OWN).text
    address = re.findall(r'id="invitation">([^<]+)<', page)[0]
    token = address.rpartition("/")[2]
    guest = service.client(None)
    guest.headers.update(HTML)
    assert guest.post(address, headers={"Origin": "http://evil.example"}).status_code == 403
    assert guest.post(f"{address}.", headers=OWN).status_code == 401
    log = service.client().get("/v1/audit-log", params={"limit": 1000}).text
    assert "/portal/invitation/" in log
    assert token not in log
    with reading(service.app.state.resources.engine) as connection:
        invited = principals_store.id_of(connection, "Guest")
    assert service.client().post(f"/v1/principals/{invited}/keys").status_code == 201
    assert guest.post(address, headers=OWN).status_code == 401
