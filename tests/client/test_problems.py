"""Problems as exceptions, values and reports, and how they show themselves in a notebook."""

from __future__ import annotations

import pickle

import httpx2
import pytest

import cornerwave
from cornerwave.problems import problem_of
from cornerwave.values import Report
from tests.client.people_table import people


def test_a_problem_says_where_and_opens_its_page(cw: cornerwave.Client) -> None:
    rows = [f"{age},{1000 + age}" for age in range(30, 60)]
    table = "\n".join(["age,income", rows[0], "31,many", *rows[2:]]).encode()
    with pytest.raises(cornerwave.InvalidTable) as refused:
        cw.register(table, name="people")
    problem = refused.value
    assert (problem.status, problem.slug, problem.column, problem.row) == (
        422,
        "invalid-table",
        "income",
        2,
    )
    assert "many" not in str(problem)
    assert problem.request_id in str(problem)
    assert problem.title in problem._repr_html_()
    assert httpx2.get(problem.type, timeout=60).status_code == 200
    again = pickle.loads(pickle.dumps(problem))
    assert (again.detail, again.type, again.row) == (problem.detail, problem.type, problem.row)


def test_every_family_of_problems_is_an_exception_of_its_own(cw: cornerwave.Client) -> None:
    cw.register(people(seed=40), name="people")
    with pytest.raises(cornerwave.Conflict) as taken:
        cw.register(people(seed=41), name="people")
    assert taken.value.slug == "name-taken"
    with pytest.raises(cornerwave.NotFound):
        cw.dataset("nothing")
    with pytest.raises(cornerwave.InvalidRequest):
        cw.dataset("people").level("partner", privacy=2)
    with pytest.raises(cornerwave.Forbidden):
        cw.create_principal("somebody", role="admin")
    with (
        cornerwave.connect(cw.url, "not-a-key-of-this-service-0123456789") as stranger,
        pytest.raises(cornerwave.Unauthenticated),
    ):
        stranger.datasets()


def test_what_a_proxy_answers_is_a_problem_too() -> None:
    told = problem_of(502, b"<html>Bad gateway</html>", "https://cornerwave.example")
    assert isinstance(told, cornerwave.Unavailable)
    assert isinstance(problem_of(418, b"[]", ""), cornerwave.Problem)


def test_names_are_escaped_in_a_notebook(cw: cornerwave.Client) -> None:
    frame = people(seed=42).rename(columns={"city": "<script>alert(1)<script>"})
    dataset = cw.register(frame, name="<b>people<b>")
    dataset.level("partner", privacy=0.2)
    for shown in (dataset._repr_html_(), dataset.copy("partner")._repr_html_()):
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown
    assert "<b>" not in dataset._repr_html_()


def test_a_report_is_a_mapping_whose_members_are_attributes() -> None:
    report = Report({"attacks": [{"attack": "be-dr", "score": {"rmse": 1.5}}], "seed": 3})
    assert report.attacks[0].score.rmse == report["attacks"][0]["score"]["rmse"] == 1.5
    assert dict(report)["seed"] == 3
    assert "attacks" in dir(report)
    assert not hasattr(report, "nothing")
    assert "be-dr" in report._repr_html_()


def test_a_key_is_in_no_repr() -> None:
    with cornerwave.connect("https://cornerwave.example", "secret-key") as client:
        assert "secret" not in repr(client) + repr(client._driver)
    key = cornerwave.values.NewKey("1", "a", "owner", "secret-key")
    assert "secret" not in repr(key) + key._repr_html_()
