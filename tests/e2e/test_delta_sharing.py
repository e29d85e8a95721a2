"""The real client of Delta Sharing against a real process: it reads its level, and nothing else."""

from __future__ import annotations

import html
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import delta_sharing
import httpx2
import pandas as pd
import pytest
from delta_sharing.protocol import DeltaSharingProfile, Table
from delta_sharing.reader import DeltaSharingReader
from delta_sharing.rest_client import DataSharingRestClient
from requests.exceptions import HTTPError

from tests.e2e.serving import HEADERS, serving

ROWS = 300
PARQUET = {"accept": "application/vnd.apache.parquet"}
CITIES = ("Rome", "Oslo", "Bern", "")


def people(prefix: str) -> str:
    """A table with a date, a gap here and there, and a column with a space in its name."""
    rows = [
        f"{prefix}{i},{20 + 7 * i % 41}.5,{'' if i % 9 == 0 else 1000 + 137 * i % 900},"
        f"{CITIES[i % 4]},19{50 + i % 50}-01-02\n"
        for i in range(ROWS)
    ]
    return "person,age,monthly income,city,born\n" + "".join(rows)


@dataclass
class World:
    """A service, an owner with a data set of three levels, and a recipient."""

    url: str
    owner: httpx2.Client
    recipient: httpx2.Client
    recipient_id: str
    dataset: str
    folder: Path

    def agreement(self, level: str) -> str:
        """A finalized agreement on one level."""
        form = {
            "recipient": self.recipient_id,
            "items": [{"dataset": self.dataset, "level": level}],
            "purpose": "research",
            "deliveries": [{"channel": "delta"}],
        }
        made = str(self.owner.post("/v1/agreements", json=form).raise_for_status().json()["id"])
        for who, message in (
            (self.recipient, "accept"),
            (self.owner, "agree"),
            (self.recipient, "verify"),
            (self.owner, "finalize"),
        ):
            who.post(f"/v1/agreements/{made}/{message}", json={}).raise_for_status()
        return made

    def profile(self, agreement: str) -> Path:
        file = self.folder / f"{agreement}.share"
        answer = self.recipient.post(f"/v1/agreements/{agreement}/profile").raise_for_status()
        file.write_bytes(answer.content)
        return file

    def downloaded(self, level: str) -> bytes:
        """The copy by the API, as Parquet."""
        at = f"/v1/datasets/{self.dataset}/copies"
        copy = self.recipient.post(at, json={"level": level}).raise_for_status().json()["id"]
        return self.recipient.get(f"/v1/copies/{copy}/content", headers=PARQUET).content


@pytest.fixture
def world(postgres_database: str, tmp_path: Path) -> Iterator[World]:
    with serving(postgres_database, tmp_path / "home") as (url,):
        admin = httpx2.Client(base_url=url, headers=HEADERS, timeout=60)

        def principal(role: str) -> tuple[str, httpx2.Client]:
            made = admin.post("/v1/principals", json={"name": role, "role": role}).json()
            key = {"Authorization": f"Bearer {made['key']}"}
            return made["id"], httpx2.Client(base_url=url, headers=key, timeout=60)

        _, owner = principal("owner")
        recipient_id, recipient = principal("recipient")
        params = {"name": "people", "columns": '{"person": "identifier"}'}
        csv = {"content-type": "text/csv"}
        made = owner.post("/v1/datasets", content=people("p"), params=params, headers=csv)
        dataset = made.raise_for_status().json()["id"]
        for level, variance in (("inner", 0.25), ("partner", 0.5), ("public", 1.5)):
            form = {"noise_variance": variance}
            owner.put(f"/v1/datasets/{dataset}/levels/{level}", json=form).raise_for_status()
        yield World(url, owner, recipient, recipient_id, dataset, tmp_path)
        for client in (admin, owner, recipient):
            client.close()


def loaded(url: str, **how: Any) -> pd.DataFrame:
    frame = delta_sharing.load_as_pandas(url, **how)
    assert isinstance(frame, pd.DataFrame)
    return frame


def refused(url: str, **how: Any) -> int:
    with pytest.raises(HTTPError) as told:
        delta_sharing.load_as_pandas(url, **how)
    answer = told.value.response
    assert answer is not None
    assert set(json.loads(answer.text)) == {"errorCode", "message"}
    return answer.status_code


def code_to_paste(world: World) -> str:
    """What the portal shows on the page of the data set."""
    key = world.recipient.headers["authorization"].removeprefix("Bearer ")
    with httpx2.Client(base_url=world.url, headers={"accept": "text/html"}, timeout=60) as browser:
        browser.post("/portal/sign-in", data={"key": key}, headers={"Origin": world.url})
        page = browser.get(f"/portal/datasets/{world.dataset}", params={"level": "partner"})
    found = re.search(r'<code id="code-delta">(.*?)</code>', page.text, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def test_the_real_client_reads_its_level_and_nothing_else(world: World) -> None:
    agreement = world.agreement("partner")
    other = world.agreement("public")
    profile = world.profile(agreement)
    client = delta_sharing.SharingClient(str(profile))
    assert [share.name for share in client.list_shares()] == [agreement]
    tables = client.list_all_tables()
    assert tables == [Table("partner", agreement, "people")]
    assert client.list_tables(client.list_schemas(client.list_shares()[0])[0]) == tables
    url = f"{profile}#{agreement}.people.partner"

    original = world.downloaded("partner")
    expected = pd.read_parquet(io.BytesIO(original))
    for use_delta in (False, True, None):
        frame = loaded(url, use_delta_format=use_delta)
        pd.testing.assert_frame_equal(frame, expected, check_exact=True)
        first = loaded(url, limit=7, use_delta_format=use_delta)
        pd.testing.assert_frame_equal(first, expected.head(7), check_exact=True)
        pinned = loaded(url, version=ROWS, use_delta_format=use_delta)
        pd.testing.assert_frame_equal(pinned, expected, check_exact=True)
    assert delta_sharing.get_table_version(url) == ROWS
    rest = DataSharingRestClient(DeltaSharingProfile.read_from_file(str(profile)))
    hinted = DeltaSharingReader(tables[0], rest, predicateHints=["age > 30"]).to_pandas()
    assert len(hinted) == ROWS
    # To the byte: the file behind the signed address is the API's copy.
    [file] = rest.list_files_in_table(tables[0]).add_files
    assert httpx2.get(file.url, timeout=60).content == original

    # Neither another level, nor the other agreement, nor anything but the share.
    for elsewhere in (f"{agreement}.people.inner", f"{agreement}.people.public"):
        assert refused(f"{profile}#{elsewhere}") == 404
    assert refused(f"{profile}#{other}.people.public") == 404
    key = {"Authorization": f"Bearer {json.loads(profile.read_text())['bearerToken']}"}
    for path in ("/v1/datasets", f"/v1/agreements/{agreement}", f"/v1/datasets/{world.dataset}"):
        assert httpx2.get(world.url + path, headers=key, timeout=60).status_code == 403

    # The code of the portal makes a profile of its own, which ends the one that was used so far.
    pasted = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code_to_paste(world)],
        cwd=world.folder,
        env={**os.environ, "CORNERWAVE_KEY": world.recipient.headers["authorization"][7:]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert pasted.returncode == 0, pasted.stderr
    assert f"count  {ROWS}.0" in " ".join(pasted.stdout.split()).replace("count ", "count  ")
    client = delta_sharing.SharingClient(str(profile))

    # New rows make a new version; of the one before nothing is kept.
    more = world.owner.post(
        f"/v1/datasets/{world.dataset}/rows",
        content=people("q"),
        params={"allow_overlap": "true"},
        headers={"content-type": "text/csv"},
    )
    more.raise_for_status()
    assert delta_sharing.get_table_version(url) == 2 * ROWS
    assert refused(url, version=ROWS) == 400
    assert refused(url, timestamp="2022-01-01T00:00:00Z") == 400
    grown = pd.read_parquet(io.BytesIO(world.downloaded("partner")))
    for use_delta in (False, True):
        pd.testing.assert_frame_equal(loaded(url, use_delta_format=use_delta), grown)

    world.owner.post(f"/v1/agreements/{agreement}/terminate", json={}).raise_for_status()
    assert refused(url) in (401, 403)
    assert httpx2.get(file.url, timeout=60).status_code in (401, 403)
    with pytest.raises(HTTPError):
        client.list_shares()
