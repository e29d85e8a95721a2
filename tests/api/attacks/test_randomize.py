"""Single-level noise over HTTP: its covariance, its repetition, its grid, and bad input."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from numpy.typing import NDArray

from tests.api.attacks.attack_forms import NAMES, csv, original
from tests.api.conftest import Service

FloatArray = NDArray[np.float64]


def randomized(service: Service, body: bytes, **params: Any) -> Any:
    return service.client().post(
        "/v1/randomize", params=params, content=body, headers={"content-type": "text/csv"}
    )


def numbers(answer: Any) -> FloatArray:
    assert answer.status_code == 200, answer.text
    table = pa.csv.read_csv(io.BytesIO(answer.content))
    assert tuple(table.column_names) == NAMES
    return np.column_stack([table[name].to_numpy() for name in NAMES])


def test_proportional_noise_has_the_shape_of_the_data(service: Service) -> None:
    x = original(4000)
    noise = numbers(randomized(service, csv(x), noise_variance=0.5, seed=1)) - x
    found, expected = np.cov(noise, rowvar=False), 0.5 * np.cov(x, rowvar=False)
    scale = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(
        found / np.outer(scale, scale), expected / np.outer(scale, scale), atol=0.08
    )
    assert abs(np.corrcoef(noise[:, 0], x[:, 0])[0, 1]) < 0.06


def test_independent_noise_has_no_correlations(service: Service) -> None:
    x = original(4000)
    noise = numbers(randomized(service, csv(x), noise_variance=9, noise="independent", seed=2)) - x
    np.testing.assert_allclose(np.cov(noise, rowvar=False), 9 * np.eye(3), atol=0.7)


def test_identifiers_are_left_out_unless_they_are_named(service: Service) -> None:
    header, *lines = csv(original(50)).decode().splitlines()
    body = "\n".join(
        [f"{header},row,e-mail"] + [f"{line},{at},a@b.org" for at, line in enumerate(lines)]
    )
    answer = randomized(service, body.encode(), noise_variance=1)
    numbers(answer)
    assert answer.headers["x-cornerwave-left-out"] == "row,e-mail"
    named = randomized(service, body.encode(), noise_variance=1, column=[NAMES[0], "row"])
    assert pa.csv.read_csv(io.BytesIO(named.content)).column_names == [NAMES[0], "row"]
    assert "x-cornerwave-left-out" not in named.headers


def test_a_seed_repeats_the_table_and_another_does_not(service: Service) -> None:
    x = csv(original(50))
    first, again, other = (
        randomized(service, x, noise_variance=1, seed=seed) for seed in (2**100, 2**100, 7)
    )
    assert first.content == again.content != other.content
    assert first.headers["x-cornerwave-seed"] == str(2**100)


def test_a_seed_that_was_not_given_is_told(service: Service) -> None:
    x = csv(original(50))
    first = randomized(service, x, noise_variance=1)
    second = randomized(service, x, noise_variance=1)
    assert first.headers["x-cornerwave-seed"] != second.headers["x-cornerwave-seed"]
    repeated = randomized(service, x, noise_variance=1, seed=first.headers["x-cornerwave-seed"])
    assert repeated.content == first.content


def test_released_numbers_lie_on_a_grid(service: Service) -> None:
    """Step 2^-20 of the noise's scale: between 2^-20 and 2^-19 of it for deviation 1."""
    x = original(50)
    found = numbers(randomized(service, csv(x), noise_variance=1, noise="independent", seed=3))
    steps = found * 2.0**20
    np.testing.assert_array_equal(steps, np.rint(steps))


def test_columns_that_are_not_disguised_do_not_leave(service: Service) -> None:
    body = b"name,age,hours\n" + b"".join(b"p%d,%d,%d\n" % (i, i % 7, i % 5) for i in range(30))
    answer = randomized(service, body, noise_variance=1, column=["age"])
    assert answer.status_code == 200, answer.text
    assert answer.text.splitlines()[0] == "age"


def test_it_answers_in_the_format_asked_for(service: Service) -> None:
    answer = service.client().post(
        "/v1/randomize?noise_variance=1",
        json={"columns": {"a": [1, 2, 4], "b": [3, 1, 9]}},
        headers={"Accept": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    assert set(answer.json()["columns"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("body", "params", "named"),
    [
        (b"a,b\n1,x\n2,y\n3,z\n", {"noise_variance": 1}, "'b'"),
        (b"a,b\n1,2\n2,\n3,4\n", {"noise_variance": 1}, "row 2"),
        (b"a,b\n1,2\n2,3\n", {"noise_variance": 1}, "more rows"),
        (b"a,b\n1,2\n2,2\n3,2\n", {"noise_variance": 1}, "constant"),
        (b"a\n1\n2\n3\n", {"noise_variance": 1, "column": "c"}, "'c'"),
        (b"a\n1\n2\n3\n", {"noise_variance": 0}, "noise_variance"),
        (b"a\n1\n2\n3\n", {"noise_variance": "inf"}, "noise_variance"),
        (b"a\n1\n2\n3\n", {}, "noise_variance"),
        (b"a\n1\n2\n3\n", {"noise_variance": 1, "noise": "loud"}, "noise"),
        (b"a\n1e40\n2e40\n", {"noise_variance": 1, "noise": "independent"}, "rounding"),
        (b"a\n", {"noise_variance": 1}, "rows"),
    ],
)
def test_what_cannot_be_randomized_is_a_clear_problem(
    service: Service, body: bytes, params: dict[str, Any], named: str
) -> None:
    answer = randomized(service, body, **params)
    assert answer.status_code == 422, answer.text
    assert named in answer.json()["detail"]


def test_randomizing_needs_a_key(service: Service) -> None:
    assert service.client(None).post("/v1/randomize?noise_variance=1").status_code == 401
