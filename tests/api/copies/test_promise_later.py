"""The promise of rows that come later, few at a time or related otherwise than those before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, shape_factor
from tests.api.conftest import Service
from tests.api.copies.attackers import indicators, left, matrix, noise_like_the_data
from tests.api.copies.copy_tables import issue, register, rows_of, try_append
from tests.api.copies.test_promise import SAMPLING, kept_rows, numbers

Matrix = NDArray[np.float64]

PAY = ["gross", "bonus", "total"]


def pay(rng: np.random.Generator, rows: int, correction: float) -> Matrix:
    """total = gross + bonus, but for a correction."""
    gross, bonus = rng.normal(3_000, 500, rows), rng.normal(300, 100, rows)
    return np.column_stack([gross, bonus, gross + bonus + correction * rng.choice([-1, 1], rows)])


def test_many_small_parts_do_not_bare_what_one_large_part_would_not(admin: TestClient) -> None:
    """Each part is near enough to be hidden by itself; all of them would be a table of corrections."""
    rng = np.random.default_rng(3)
    w = np.array([-1.0, -1.0, 1.0])
    first = pay(rng, 1_000, 0.0)
    dataset = register(admin, numbers(first, PAY), columns=None)
    copy = issue(admin, dataset, noise_variance=9.0)["id"]
    answers, taken = [], []
    for _ in range(15):
        part = pay(rng, 30, 150.0)
        answers.append(try_append(admin, dataset, numbers(part, PAY)))
        if answers[-1].status_code == 201:
            taken.append(part)
    assert answers[-1].json()["type"] == "/problems/rows-uncovered"
    assert answers[-1].json()["rows_needed"] == 40
    assert len(taken) < 2
    # Enough at once have a shape of their own.
    many = pay(rng, 20_000, 150.0)
    assert try_append(admin, dataset, numbers(many, PAY)).status_code == 201
    released = matrix(rows_of(admin, copy))[-20_000:]
    assert left(many @ w, released) > SAMPLING * 0.9
    # Noise of the first shape, which each of the parts was near enough to, hides no correction.
    old = many + noise_like_the_data(first + 1e-3 * rng.normal(size=first.shape), 20_000, 9.0)
    assert left(many @ w, old) < 0.1


def test_large_parts_between_small_ones_do_not_make_them_forgotten(admin: TestClient) -> None:
    """Each large part has a shape of its own, and every small part is the first under one."""
    rng = np.random.default_rng(6)
    dataset = register(admin, pa.table({"x": rng.normal(size=400)}), columns=None)
    issue(admin, dataset, noise_variance=1.0)
    answers = []
    for _ in range(12):
        between = pa.table({"x": rng.normal(0, 0.7, 21)})
        assert try_append(admin, dataset, between).status_code == 201
        wide = 2.0 * np.repeat([1, -1], 9) + rng.normal(0, 0.05, 18)
        answers.append(try_append(admin, dataset, pa.table({"x": wide})))
    taken = [answer.status_code for answer in answers].count(201)
    assert taken < 3
    assert answers[-1].json()["type"] == "/problems/rows-uncovered"
    # Rows like those before are still taken.
    like_them = pa.table({"x": rng.normal(size=18)})
    assert try_append(admin, dataset, like_them).status_code == 201


def test_small_parts_like_the_rows_before_are_taken_for_ever(admin: TestClient) -> None:
    rng = np.random.default_rng(4)
    dataset = register(admin, numbers(pay(rng, 1_000, 20.0), PAY), columns=None)
    issue(admin, dataset, noise_variance=9.0)
    for rows in [30, 30, 60] * 7:
        assert try_append(admin, dataset, numbers(pay(rng, rows, 20.0), PAY)).status_code == 201


def test_small_parts_that_spread_a_little_further_are_hidden_by_more_noise(
    admin: TestClient,
) -> None:
    """Too little to be refused while they are few; by the second part they are enough to be measured."""
    rng = np.random.default_rng(8)
    own, shown, spreads = [], [], []
    for number in range(8):
        pilot = rng.normal(size=30)
        table = pa.table({"x": pilot})
        dataset = register(admin, table, columns='{"x": "numeric"}', name=f"pilot {number}")
        copy = issue(admin, dataset, noise_variance=1.0)["id"]
        came = [pilot]
        for _ in range(12):
            part = rng.normal(0, 1.4, 19)
            if try_append(admin, dataset, pa.table({"x": part})).status_code == 201:
                came.append(part)
        assert len(came) > 4
        shown.append(matrix(rows_of(admin, copy))[49:])
        own.append(np.concatenate(came)[49:])
        spreads.append(np.full(len(own[-1]), pilot.std()))
    x, seen = np.concatenate(own), np.concatenate(shown)
    assert left(x, seen) > SAMPLING * 0.5
    # The pilot's own noise, which each part was near enough to, hides less.
    old = x + np.concatenate(spreads) * rng.normal(size=len(x))
    assert left(x, old[:, None]) < 0.9 * 0.5


@pytest.mark.parametrize(
    ("rows", "parts", "variance"), [(500, 4, 1.25), (100, 8, 1.5), (15, 60, 1.5), (500, 2, 4.0)]
)
def test_rows_that_all_lack_a_column_are_hidden_by_noise_of_their_own(
    admin: TestClient, rows: int, parts: int, variance: float
) -> None:
    """None of them is complete, and in one direction none says anything; in the others they are as many as they are."""
    rng = np.random.default_rng(10)
    own, shown = [], []
    for number in range(3):
        first = rng.normal(size=(1_000, 3))
        dataset = register(admin, numbers(first, PAY), columns=None, name=f"without {number}")
        copy = issue(admin, dataset, noise_variance=1.0)["id"]
        for _ in range(parts):
            part = np.sqrt(variance) * rng.normal(size=(rows, 3))
            part[:, 2] = np.nan
            if try_append(admin, dataset, numbers(part, PAY)).status_code == 201:
                own.append(part[:, :2])
        shown.append(matrix(rows_of(admin, copy), PAY[:2])[1_000:])
    x, seen = np.vstack(own), np.vstack(shown)
    assert len(x) > 2.7 * rows * parts
    for column in x.T:
        assert left(column, seen) > SAMPLING * 0.5
    # The noise of the first rows, which is what they had before.
    old = x + rng.normal(size=x.shape)
    assert left(x[:, 0], old) < SAMPLING * 0.5


def nearly_equal(rng: np.random.Generator, rows: int, own_variance: float) -> Matrix:
    """Fourteen columns that differ by what each has of its own."""
    common, own = rng.normal(size=(rows, 1)), rng.normal(size=(rows, 14))
    return np.asarray(common + np.sqrt(own_variance) * own)


def differences(rows: Matrix) -> Matrix:
    """Of the two cells that each row has."""
    two = rows[~np.isnan(rows)].reshape(-1, 2)
    return np.asarray(two[:, 0] - two[:, 1])


def test_rows_that_have_few_of_many_nearly_equal_columns_are_hidden_together(
    admin: TestClient,
) -> None:
    """Each tells of one of 91 differences. Along none of them there are enough rows to see that all are twice as wide."""
    rng = np.random.default_rng(13)
    names = [f"x{place}" for place in range(14)]
    own, shown, old = [], [], []
    for number in range(3):
        first = nearly_equal(rng, 1_000, 0.05)
        dataset = register(admin, numbers(first, names), columns=None, name=f"few {number}")
        copy = issue(admin, dataset, noise_variance=1.0)["id"]
        came = []
        for _ in range(8):
            part = nearly_equal(rng, 100, 0.2)
            for row in part:
                row[rng.permutation(14)[2:]] = np.nan
            if try_append(admin, dataset, numbers(part, names)).status_code == 201:
                came.append(part)
        assert len(came) > 4
        own.append(differences(np.vstack(came)))
        shown.append(differences(matrix(rows_of(admin, copy), names)[1_000:]))
        frozen = shape_factor(covariance_shape(row_moments(first)))
        noise = rng.normal(size=(100 * len(came), 14)) @ frozen.T
        old.append(differences(np.vstack(came) + noise))
    apart = np.concatenate(own)
    assert left(apart, np.concatenate(shown)[:, None]) > 0.45
    # With the shape of the first rows, which is what they had before.
    assert left(apart, np.concatenate(old)[:, None]) < 0.3


def test_rows_that_lack_a_column_do_not_wait_for_ever(admin: TestClient) -> None:
    rng = np.random.default_rng(11)
    dataset = register(admin, numbers(rng.normal(size=(500, 3)), PAY), columns=None)
    issue(admin, dataset, noise_variance=1.0)
    for came, waits in ((30, True), (10, False)):
        part = 9 * rng.normal(size=(came, 3))
        part[:, 2] = np.nan
        answer = try_append(admin, dataset, numbers(part, PAY), uncovered="wait").json()
        assert answer["waiting"] is waits
    assert (answer["rows"], answer["waiting_rows"]) == (540, 0)


def three(rng: np.random.Generator, rows: int, spread: float) -> Matrix:
    """Two numbers that go together and one by itself."""
    x, own, z = spread * rng.normal(size=(3, rows))
    return np.column_stack([100 + 10 * x, 8 * x + 6 * own, z])


def test_rows_that_begin_to_spread_further_are_hidden_whatever_came_before(
    admin: TestClient,
) -> None:
    """Parts like the first rows outweigh what later ones show; these are measured by themselves too."""
    rng = np.random.default_rng(9)
    names = ["x", "y", "z"]
    own, shown, old = [], [], []
    for number in range(5):
        first = three(rng, 500, 1.0)
        dataset = register(admin, numbers(first, names), columns=None, name=f"jump {number}")
        copy = issue(admin, dataset, noise_variance=1.0)["id"]
        came = []
        for place in range(50):
            part = three(rng, 15, 1.0 if place < 10 else 1.8)
            if try_append(admin, dataset, numbers(part, names)).status_code == 201:
                came.append(part)
        assert len(came) > 40
        own.append(np.vstack(came)[150:])
        shown.append(matrix(rows_of(admin, copy))[650:])
        old.append(own[-1] + noise_like_the_data(first, len(own[-1]), 1.0))
    rows, seen = np.vstack(own), np.vstack(shown)
    for column in range(3):
        assert left(rows[:, column], seen) > SAMPLING * 0.5
    # Noise of the first rows, which each part was near enough to, hides less.
    assert left(rows[:, 0], np.vstack(old)) < 0.9 * 0.5


def people(rng: np.random.Generator, rows: int, *, related: bool) -> tuple[pa.Table, Matrix]:
    """Ages, incomes and bands of age, which in a garbled pilot are those of other people."""
    age = rng.normal(45, 15, rows)
    income = 1_000 + 30 * age + rng.normal(0, 300, rows)
    band = np.digitize(age if related else rng.permutation(age), [38, 55])
    texts = [f"band {one}" for one in band]
    return pa.table({"age": age, "income": income, "band": texts}), age


def test_later_rows_whose_categories_tell_more_are_refused(service: Service) -> None:
    admin = service.client()
    rng = np.random.default_rng(5)
    pilot, _ = people(rng, 2_000, related=False)
    real, age = people(rng, 60_000, related=True)
    dataset = register(admin, pilot, columns=None)
    copy = issue(admin, dataset, noise_variance=1.0)
    assert copy["applied_variance"] < 1.1
    refused = try_append(admin, dataset, real)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/rows-tell-more")
    assert "Register these rows as a data set of their own" in refused.json()["detail"]
    assert rows_of(admin, copy["id"]).num_rows == 2_000
    # Others like the pilot, and records that no donor has, which are never shown, are taken.
    assert try_append(admin, dataset, people(rng, 3_000, related=False)[0]).status_code == 201
    strange = [f"other {text}" for text in real.column("band").to_pylist()]
    strangers = real.set_column(2, "band", pa.array(strange))
    assert try_append(admin, dataset, strangers).status_code == 201
    # A data set of their own holds them; noise of the pilot's a would not.
    own = issue(admin, register(admin, real, columns=None, name="own"), noise_variance=1.0)
    kept = kept_rows(service, own, len(age))
    assert left(age, seen(rows_of(admin, own["id"]), kept)) > SAMPLING * 0.5
    a = copy["applied_variance"]
    rows = matrix(real, ["age", "income"])
    noisy = rows + noise_like_the_data(rows, len(rows), a)
    old = real.set_column(0, "age", pa.array(noisy[:, 0])).set_column(
        1, "income", pa.array(noisy[:, 1])
    )
    assert left(age, seen(old, rng.random(len(age)) < 1 / (1 + a))) < 0.8 * 0.5


def seen(copy: pa.Table, kept: NDArray[np.bool_]) -> Matrix:
    """What a copy tells one who knows which records were kept."""
    numbers = matrix(copy, ["age", "income"])
    band = np.array([int(text.split()[1]) for text in copy.column("band").to_pylist()])
    told = indicators(band[:, None]) * kept[:, None]
    return np.column_stack([numbers, numbers * kept[:, None], told])


EFFECTS = np.array([-1.3, -0.4, 0.4, 1.3])


def told(rng: np.random.Generator, rows: int, *, tells: bool) -> pa.Table:
    """A number that a group tells or does not, beside a category of very many values."""
    group = rng.integers(0, 4, rows)
    own = EFFECTS[group if tells else rng.permutation(group)]
    return pa.table(
        {
            "group": [f"group {one}" for one in group],
            "many": [f"value {one}" for one in rng.integers(0, 600, rows)],
            "x": own + rng.normal(0, 0.05, rows),
        }
    )


KINDS = '{"group": "categorical", "many": "categorical", "x": "numeric"}'


def test_a_category_of_many_values_does_not_hide_what_another_tells(admin: TestClient) -> None:
    rng = np.random.default_rng(7)
    dataset = register(admin, told(rng, 1_200, tells=False), columns=KINDS)
    issue(admin, dataset, noise_variance=1.0)
    refused = try_append(admin, dataset, told(rng, 500, tells=True))
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/rows-tell-more")
    assert admin.get(f"/v1/datasets/{dataset}").json()["rows"] == 1_200
    for _ in range(6):
        assert try_append(admin, dataset, told(rng, 500, tells=False)).status_code == 201


def test_small_parts_that_tell_more_only_together_are_refused(admin: TestClient) -> None:
    """Fifteen rows tell nothing; parts of fifteen are judged with those before them."""
    rng = np.random.default_rng(8)
    dataset = register(admin, told(rng, 1_200, tells=False), columns=KINDS)
    issue(admin, dataset, noise_variance=0.25)
    answers = [try_append(admin, dataset, told(rng, 15, tells=True)) for _ in range(20)]
    refused = [answer.json() for answer in answers if answer.status_code == 409]
    assert len(refused) >= 12
    assert {one["type"] for one in refused} == {"/problems/rows-tell-more"}
    assert "appended before" in refused[-1]["detail"]
    # A large part that tells nothing does not make them forgotten.
    assert try_append(admin, dataset, told(rng, 10_000, tells=False)).status_code == 201
    again = try_append(admin, dataset, told(rng, 15, tells=True))
    assert again.status_code == 409


def test_small_parts_that_tell_as_little_as_before_are_taken(admin: TestClient) -> None:
    rng = np.random.default_rng(9)
    dataset = register(admin, told(rng, 1_200, tells=False), columns=KINDS)
    issue(admin, dataset, noise_variance=0.25)
    for _ in range(25):
        assert try_append(admin, dataset, told(rng, 15, tells=False)).status_code == 201


def homes(rng: np.random.Generator, rows: int) -> pa.Table:
    """Who owns its home follows from the income."""
    age = rng.gamma(9.0, 5.2, rows) + 6
    income = (9_000 + 420 * age) * rng.lognormal(0.0, 0.35, rows)
    home = np.where(income > 35_000, "owned", "rented")
    return pa.table({"age": age, "income": income, "home": home})


def test_rows_like_those_before_are_taken_where_a_category_follows_from_a_number(
    admin: TestClient,
) -> None:
    """At a small variance few rows tell how much of such a category is left, and differ by chance."""
    for seed in range(3):
        rng = np.random.default_rng([10, seed])
        dataset = register(admin, homes(rng, 1_500), columns=None, name=f"homes {seed}")
        issue(admin, dataset, noise_variance=1.0)
        answers = [try_append(admin, dataset, homes(rng, 300)) for _ in range(4)]
        assert [answer.status_code for answer in answers] == 4 * [201]


def test_rows_that_lie_elsewhere_are_taken_with_a_word_on_it(admin: TestClient) -> None:
    rng = np.random.default_rng(9)
    names = ["x", "y"]
    dataset = register(admin, numbers(rng.normal(size=(400, 2)), names), columns=None)
    issue(admin, dataset, noise_variance=1.0)
    alike = try_append(admin, dataset, numbers(rng.normal(size=(300, 2)), names))
    moved = try_append(admin, dataset, numbers(rng.normal([1.0, 0.0], size=(300, 2)), names))
    assert alike.json()["warnings"] == []
    assert [(one["type"], one["column"]) for one in moved.json()["warnings"]] == [
        ("rows-elsewhere", "x")
    ]


def test_categories_that_begin_to_tell_of_numbers_are_seen_whatever_came_before(
    admin: TestClient,
) -> None:
    """Among thousands of rows in which they told nothing, hundreds that tell all would hardly be seen."""
    rng = np.random.default_rng(12)

    def rows(count: int, told: float) -> pa.Table:
        group = rng.integers(0, 2, count)
        x = told * (2 * group - 1) + np.sqrt(1 - told**2) * rng.normal(size=count)
        return pa.table({"x": x, "group": np.where(group, "a", "b")})

    dataset = register(admin, rows(1_000, 0.0), columns=None)
    issue(admin, dataset, noise_variance=1.0)
    for _ in range(6):
        assert try_append(admin, dataset, rows(300, 0.0)).status_code == 201
    answers = [try_append(admin, dataset, rows(19, 0.95)) for _ in range(15)]
    taken = [answer.status_code for answer in answers].count(201)
    assert answers[-1].json()["type"] == "/problems/rows-tell-more"
    assert 19 * taken < 2 * 100
    # Rows that tell nothing more are still taken.
    assert try_append(admin, dataset, rows(150, 0.0)).status_code == 201


def test_rare_categories_that_begin_to_tell_of_numbers_are_seen(admin: TestClient) -> None:
    """Of 300 categories hardly one has rows enough to be judged; told which records are kept, 0.3 of 0.5 was left."""
    rng = np.random.default_rng(12)
    effects = rng.normal(size=300)

    def rows(count: int, told: float) -> pa.Table:
        group = rng.integers(0, 300, count)
        x = told * effects[group] + np.sqrt(1 - told**2) * rng.normal(size=count)
        return pa.table(
            {"x": x, "y": rng.normal(size=count), "group": [f"g{one}" for one in group]}
        )

    dataset = register(admin, rows(3_000, 0.0), columns=None)
    issue(admin, dataset, noise_variance=1.0)
    for _ in range(3):
        assert try_append(admin, dataset, rows(100, 0.0)).status_code == 201
    answers = [try_append(admin, dataset, rows(100, 0.95)) for _ in range(13)]
    taken = [answer.status_code for answer in answers].count(201)
    assert answers[-1].json()["type"] == "/problems/rows-tell-more"
    assert 100 * taken <= 1_200
    assert try_append(admin, dataset, rows(100, 0.0)).status_code == 201
