"""Who and what the browser tests and the screenshots meet: a survey, its owner, an analyst, an auditor."""

from __future__ import annotations

import io
from dataclasses import dataclass

import httpx2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True)
class Person:
    """Somebody with a key."""

    id: str
    key: str

    def client(self, url: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx2.Client(base_url=url, headers=headers, timeout=120)


@dataclass(frozen=True)
class Survey:
    """A registered table with levels, of which `partner` is granted and issued."""

    dataset: str
    copy: str
    owner: Person
    analyst: Person
    auditor: Person


def household_table(rows: int, seed: int = 7) -> pa.Table:
    """Households with the dependences that such tables have."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9.0, 5.2, rows) + 6, 18, 96).round()
    city = rng.choice(
        ["Bern", "Lyon", "Oslo", "Porto", "Turin"], rows, p=[0.3, 0.25, 0.2, 0.15, 0.1]
    )
    paid = np.select([city == "Oslo", city == "Bern"], [1.35, 1.6], 1.0)
    income = paid * (9_000 + 420 * age) * rng.lognormal(0.0, 0.35, rows)
    rent = np.where(rng.random(rows) < 0.4, rng.normal(620, 90, rows), rng.normal(1_350, 210, rows))
    moved = np.datetime64("1995-01-01") + rng.integers(0, 10_800, rows).astype("timedelta64[D]")
    home = np.where(income > np.quantile(income, 0.6), "owned", "rented")
    hours = np.clip(rng.normal(38, 9, rows), 0, 70)
    hours[rng.random(rows) < 0.06] = np.nan
    return pa.table(
        {
            "household": pa.array([f"H{seed}-{number:06d}" for number in range(rows)]),
            "age": pa.array(age),
            "income": pa.array(income.round(2)),
            "rent": pa.array(rent.round(2)),
            "hours_a_week": pa.array(hours, from_pandas=True),
            "moved_in": pa.array(moved.astype("datetime64[D]")),
            "city": pa.array(city),
            "home": pa.array(home),
        }
    )


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def person(admin: httpx2.Client, name: str, role: str) -> Person:
    answer = admin.post("/v1/principals", json={"name": name, "role": role})
    answer.raise_for_status()
    return Person(answer.json()["id"], answer.json()["key"])


def registered(owner: httpx2.Client, name: str, table: pa.Table, columns: str | None = None) -> str:
    """Register a table; its id."""
    params = {"name": name, "allow_overlap": "true"} | ({"columns": columns} if columns else {})
    headers = {"Content-Type": PARQUET}
    answer = owner.post("/v1/datasets", params=params, content=parquet(table), headers=headers)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def shared(owner: httpx2.Client, dataset: str, level: str, privacy: float, with_whom: str) -> None:
    """Define a level and grant it."""
    owner.put(
        f"/v1/datasets/{dataset}/levels/{level}", json={"privacy": privacy}
    ).raise_for_status()
    grant = {"level": level}
    owner.put(f"/v1/datasets/{dataset}/grants/{with_whom}", json=grant).raise_for_status()


def issued(client: httpx2.Client, dataset: str, level: str) -> str:
    """Have a copy made; its id."""
    answer = client.post(f"/v1/datasets/{dataset}/copies", json={"level": level})
    assert answer.status_code in (200, 201), answer.text
    return str(answer.json()["id"])


def survey(admin: httpx2.Client, url: str, rows: int = 4_000) -> Survey:
    """Register the survey, share it, and issue its copy."""
    owner = person(admin, "Statistics office", "owner")
    analyst = person(admin, "Ana Analyst", "recipient")
    auditor = person(admin, "Otto Auditor", "auditor")
    with owner.client(url) as client:
        table = household_table(rows)
        dataset = registered(client, "Households 2024", table)
        client.put(f"/v1/datasets/{dataset}/levels/public", json={"privacy": 0.8})
        shared(client, dataset, "partner", 0.5, analyst.id)
        issued(client, dataset, "partner")  # the first copy is the owner's to issue
    with analyst.client(url) as client:
        copy = issued(client, dataset, "partner")
    return Survey(dataset, copy, owner, analyst, auditor)


def traceable(owner: Person, recipient: Person, url: str, dataset: str, level: str) -> str:
    """An agreement in force by which a recipient has a copy of its own; the agreement's id."""
    terms = {
        "recipient": recipient.id,
        "items": [{"dataset": dataset, "level": level}],
        "purpose": "How people live",
        "traceable": True,
    }
    with owner.client(url) as office, recipient.client(url) as analyst:
        offered = office.post("/v1/agreements", json=terms)
        offered.raise_for_status()
        agreement = str(offered.json()["id"])
        for who, message in (
            (analyst, "accept"),
            (office, "agree"),
            (analyst, "verify"),
            (office, "finalize"),
        ):
            who.post(f"/v1/agreements/{agreement}/{message}", json={}).raise_for_status()
    return agreement
