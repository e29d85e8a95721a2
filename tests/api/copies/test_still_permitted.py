"""In the middle of a download: whatever ends the right to it is seen at the next look."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from app.errors import DomainError, NotFound, Refusal, Unauthenticated
from app.service.authentication import principal_by_id
from app.service.context import RequestContext
from app.service.copies.download_permission import (
    LOOK_SECONDS,
    StillPermitted,
    require_still_permitted,
)
from app.service.sharing.sessions import principal_of_session
from app.store.database.engine import reading
from app.store.database.sharing import principals
from tests.api.conftest import ADMIN_KEY, Service
from tests.api.copies.copy_tables import issue, mixed_table, register
from tests.api.sharing.agreements.negotiations import parties
from tests.portal.test_sessions import OWN, signed_in, token_of


def never() -> float:
    """A clock that stands still: what is seen is not seen by the passing of time."""
    return 0.0


def key_of(service: Service) -> tuple[str, str]:
    made = service.client().post("/v1/principals", json={"name": "reader"}).json()
    return made["id"], made["key"]


def download(
    service: Service, key: str, copy: str, columns: list[str], token: str | None = None
) -> StillPermitted:
    """What a download under way asks, that has been asked once already."""
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        principal = principals.principal_of(connection, key)
    assert principal is not None
    find_principal = (
        principal_by_id(principal.id, principals.public_id(key))
        if token is None
        else principal_of_session(token)
    )
    look = partial(
        require_still_permitted,
        resources,
        RequestContext(principal, "test"),
        find_principal,
        copy,
        "GET it",
        columns=columns,
        first_row=0,
    )
    go_on = StillPermitted(resources, look, never)
    go_on()
    go_on()
    return go_on


ENDINGS: dict[str, tuple[Callable[[str, str], tuple[str, str, object]], type[DomainError]]] = {
    "the key is revoked": (
        lambda _, who: ("DELETE", f"/v1/principals/{who}/keys/{{key}}", None),
        Unauthenticated,
    ),
    "the keys are replaced": (
        lambda _, who: ("POST", f"/v1/principals/{who}/keys", None),
        Unauthenticated,
    ),
    "the principal is revoked": (
        lambda _, who: ("DELETE", f"/v1/principals/{who}", None),
        Unauthenticated,
    ),
    "the grant is withdrawn": (
        lambda data, who: ("DELETE", f"/v1/datasets/{data}/grants/{who}", None),
        NotFound,
    ),
    "the grant has fewer columns": (
        lambda data, who: (
            "PUT",
            f"/v1/datasets/{data}/grants/{who}",
            {"level": "b", "columns": ["age"]},
        ),
        Refusal,
    ),
    "the grant is of a level that is more perturbed": (
        lambda data, who: ("PUT", f"/v1/datasets/{data}/grants/{who}", {"level": "c"}),
        NotFound,
    ),
    "the data set is removed": (lambda data, _: ("DELETE", f"/v1/datasets/{data}", None), NotFound),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_right_that_ends_is_seen_by_the_next_look(service: Service, ending: str) -> None:
    admin = service.client()
    dataset = register(admin, mixed_table(300))
    copy = issue(admin, dataset, level="b")["id"]
    who, key = key_of(service)
    grant = {"level": "b", "columns": ["age", "income"]}
    assert admin.put(f"/v1/datasets/{dataset}/grants/{who}", json=grant).is_success
    go_on = download(service, key, copy, ["age", "income"])
    request, refusal = ENDINGS[ending]
    method, path, form = request(dataset, who)
    path = path.format(key=admin.get(f"/v1/principals/{who}").json()["keys"][0])
    assert admin.request(method, path, json=form).is_success
    with pytest.raises(refusal):
        go_on()


def test_a_terminated_agreement_is_seen_by_the_next_look(service: Service) -> None:
    both = parties(service)
    agreement = both.finalized()["id"]
    copy = issue(both.recipient, both.dataset, level="public")["id"]
    key = both.recipient.headers["authorization"].removeprefix("Bearer ")
    go_on = download(both.service, key, copy, [])
    both.say(both.owner, agreement, "terminate")
    with pytest.raises(NotFound):
        go_on()


def test_a_key_that_another_principal_holds_now_is_not_the_one_that_asked(service: Service) -> None:
    admin = service.client()
    copy = issue(admin, register(admin, mixed_table(300)), level="b")["id"]
    _, key = key_of(service)
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        principal = principals.principal_of(connection, ADMIN_KEY)
    assert principal is not None
    context, other = (
        RequestContext(principal, "test"),
        principal_by_id(principal.id, principals.public_id(key)),
    )
    with pytest.raises(Unauthenticated):
        require_still_permitted(resources, context, other, copy, "GET it", columns=[], first_row=0)


def test_a_right_that_is_left_and_begins_at_a_later_row_is_another(service: Service) -> None:
    both = parties(service)
    grant = f"/v1/datasets/{both.dataset}/grants/{both.recipient_id}"
    assert both.owner.put(grant, json={"level": "public"}).is_success
    item = {"dataset": both.dataset, "level": "public", "rows_since": 30}
    both.finalized(items=[item])
    copy = issue(both.recipient, both.dataset, level="public")["id"]
    key = both.recipient.headers["authorization"].removeprefix("Bearer ")
    go_on = download(both.service, key, copy, [])
    assert both.owner.delete(grant).is_success
    with pytest.raises(Refusal):
        go_on()


def test_a_session_that_ends_is_seen_by_the_next_look(service: Service) -> None:
    admin = service.client()
    copy = issue(admin, register(admin, mixed_table(300)), level="b")["id"]
    browser = signed_in(service)
    token = browser.cookies["cornerwave_session"]
    go_on = download(service, ADMIN_KEY, copy, ["age"], token)
    browser.post("/portal/sign-out", data={"form_token": token_of(browser)}, headers=OWN)
    with pytest.raises(Unauthenticated):
        go_on()


def test_what_ends_by_the_clock_is_looked_for_every_second(service: Service) -> None:
    looks, now = 0, 0.0

    def look() -> None:
        nonlocal looks
        looks += 1

    go_on = StillPermitted(service.app.state.resources, look, lambda: now)
    for moment, expected in ((5.0, 1), (5.5, 1), (5.0 + LOOK_SECONDS, 2), (6.5, 2)):
        now = moment
        go_on()
        assert looks == expected


def test_a_look_that_failed_is_not_taken_for_one_that_passed(service: Service) -> None:
    def look() -> None:
        raise Refusal("the right has ended")

    go_on = StillPermitted(service.app.state.resources, look, never)
    for _ in range(3):
        with pytest.raises(Refusal):
            go_on()
