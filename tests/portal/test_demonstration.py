"""The demonstration: what pooling gains is computed from issued copies; making and removing leave no trace else."""

from __future__ import annotations

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.errors import InvalidParameter, NotFound
from app.model import Principal, Role
from app.numerics.attacks.releases.findings import Risk
from app.numerics.attacks.releases.linkage import linkage
from app.service.context import RequestContext
from app.service.copies.generation.sampled_rows import sampled_rows
from app.service.demonstration import pooled_copies, scenes, setup
from app.service.resources import Resources
from app.store.database.engine import reading
from app.store.database.sharing import principals
from tests.api.conftest import Service
from tests.portal.test_sessions import OWN, signed_in, token_of


def asking(service: Service, role: str = "owner") -> tuple[Resources, RequestContext]:
    principal_id, _ = service.principal(role)
    return service.app.state.resources, RequestContext(
        Principal(principal_id, "somebody", Role(role)), "test"
    )


def test_pooling_gains_nothing_with_one_plan_and_wins_with_independent_noise(
    service: Service,
) -> None:
    resources, context = asking(service)
    setup.make_demonstration(resources, context)
    shown = setup.the_demonstration(resources, context)
    assert [one.who for one in shown.copies] == list(setup.TRUST)
    assert len({one.entry.copy for one in shown.copies}) == len(setup.TRUST)
    found = pooled_copies.pool_copies(resources, context, [one.id for one in shown.copies])
    # Each copy alone leaves what its level promises, up to what chance moves on 5,000 rows.
    np.testing.assert_allclose(found.alone, list(setup.TRUST.values()), atol=0.04)
    np.testing.assert_allclose(found.together.left, found.alone[0], atol=0.02)
    assert found.independent.left[0] == pytest.approx(found.alone[0], abs=0.05)
    assert np.all(np.diff(found.independent.left) < 0)
    # What theory leaves of m independent copies: 1/(1 + the sum of 1/v).
    variances = np.array([one.entry.noise_variance for one in shown.copies])
    expected = 1 / (1 + np.cumsum(1 / variances))
    np.testing.assert_allclose(found.independent.left, expected, atol=0.03)


def test_the_same_recipients_give_the_same_picture_and_others_are_left_out(
    service: Service,
) -> None:
    resources, context = asking(service)
    setup.make_demonstration(resources, context)
    ids = [one.id for one in setup.the_demonstration(resources, context).copies]
    first, again = (pooled_copies.pool_copies(resources, context, ids[1:3]) for _ in range(2))
    assert first.independent.left == again.independent.left
    assert [one.who for one in first.copies] == ["University", "Hospital"]
    assert min(first.together.left) > 0.5


def test_links_fail_and_drift_is_followed(service: Service) -> None:
    resources, context = asking(service)
    setup.make_demonstration(resources, context)
    links, drift = scenes.show_scenes(resources, context)
    assert len(links.found) == len(setup.TRUST)
    assert max(links.found) < 0.1
    assert np.all(np.diff(drift.first) < 0)
    assert drift.first[-1] < 0.3
    assert min(drift.measured) > drift.promised - 0.02
    assert drift.first[0] == pytest.approx(drift.measured[0])
    # The control: in rows without noise everybody is found, and the formula is (K⁻¹ + N⁻¹)⁻¹.
    shown = setup.the_demonstration(resources, context)
    with reading(resources.engine) as connection:
        rows = sampled_rows(resources, connection, shown.dataset, 5_000)
    bare = rows.released(1e-9, rows.matrix, rows.codes, np.arange(len(rows.matrix)))
    found = [one for one in linkage(bare, 0.5, rows.rng()) if one.risk is Risk.SINGLING_OUT]
    assert found[0].success == pytest.approx(1.0, abs=0.01)
    (protection,) = rows.protections.values()
    later = rows.matrix * np.where(np.isin(rows.numbers, scenes.GROWING), drift.growth[-1], 1.0)
    K = np.cov(later.T)
    noise = protection.applied(shown.copies[0].entry.noise_variance) * protection.matrix
    left = np.linalg.inv(np.linalg.inv(K) + np.linalg.inv(noise)) / K
    place = rows.numbers.index(drift.column)
    assert drift.first[-1] == pytest.approx(left[place, place])


def test_removing_takes_data_set_and_recipients_and_no_others(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database
    resources, context = asking(service)
    setup.make_demonstration(resources, context)
    shown = setup.the_demonstration(resources, context)
    client = service.client()
    bystander, _ = service.principal("recipient")
    grant = f"/v1/datasets/{shown.dataset.id}/grants/{bystander}"
    assert client.put(grant, json={"level": "privacy-85"}).status_code == 200
    setup.remove_demonstration(resources, context)
    assert client.get(f"/v1/datasets/{shown.dataset.id}").status_code == 404
    with reading(resources.engine) as connection:
        gone = [principals.one(connection, one.id) for one in shown.copies]
        stays = principals.one(connection, bystander)
    assert all(one is not None and one.revoked_at is not None for one in gone)
    assert stays is not None
    assert stays.revoked_at is None
    with pytest.raises(NotFound):
        setup.remove_demonstration(resources, context)
    setup.make_demonstration(resources, context)
    assert setup.find_demonstration(resources, context) is not None


def test_a_data_set_that_only_has_the_name_is_never_removed(service: Service) -> None:
    _, owner = service.principal("owner")
    body = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i % 7) for i in range(60))
    made = owner.post(
        "/v1/datasets",
        params={"name": setup.NAME},
        content=body,
        headers={"Content-Type": "text/csv"},
    )
    assert made.status_code == 201
    client = signed_in(service, owner.headers["authorization"].removeprefix("Bearer "))
    form = {"form_token": token_of(client)}
    assert "Nothing is made yet" in client.get("/portal/demonstration").text
    removed = client.post("/portal/demonstration/remove", data=form, headers=OWN)
    assert removed.status_code == 404
    taken = client.post("/portal/demonstration", data=form, headers=OWN)
    assert taken.status_code == 409
    assert owner.get(f"/v1/datasets/{made.json()['id']}").status_code == 200


@pytest.mark.parametrize("role", ["recipient", "auditor"])
def test_others_have_no_demonstration(role: str, service: Service) -> None:
    _, someone = service.principal(role)
    client: TestClient = signed_in(
        service, someone.headers["authorization"].removeprefix("Bearer ")
    )
    form = {"form_token": token_of(client)}
    assert client.get("/portal/demonstration").status_code == 403
    assert client.post("/portal/demonstration", data=form, headers=OWN).status_code == 403
    assert client.get("/portal/demonstration/pooled?recipient=x").status_code == 403


def test_what_fails_half_way_leaves_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources, context = asking(service)
    before = len(service.stored())
    monkeypatch.setitem(setup.TRUST, "Everybody", 2.0)  # no privacy: the last level is refused
    with pytest.raises(InvalidParameter):
        setup.make_demonstration(resources, context)
    assert setup.find_demonstration(resources, context) is None
    assert len(service.stored()) == before
