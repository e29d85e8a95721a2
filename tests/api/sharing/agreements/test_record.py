"""The signed record: whole, checkable offline, and no longer after a single changed byte."""

from __future__ import annotations

import json
import random
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app import cli
from app.service.sharing.agreements import record
from app.service.sharing.agreements.verification import NotVerified, verified
from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import Parties, parties

KEYS = "/.well-known/cornerwave-keys.json"


@pytest.fixture
def two(service: Service) -> Parties:
    return parties(service)


def record_and_keys(two: Parties) -> tuple[bytes, bytes]:
    agreement = two.finalized(terms="Bis zum Ende ✓")["id"]
    record = two.recipient.get(f"/v1/agreements/{agreement}/record")
    assert record.status_code == 200
    assert record.content == two.owner.get(f"/v1/agreements/{agreement}/record").content
    return record.content, two.service.client(key=None).get(KEYS).content


def test_a_record_says_what_was_agreed_and_is_verified(service: Service) -> None:
    both = parties(service)
    item = {"dataset": both.dataset, "level": "public", "columns": ["age"], "rows_since": 3}
    agreement = both.request(items=[item])["id"]
    at = f"/v1/agreements/{agreement}/record"
    assert both.recipient.get(at).status_code == 404
    both.say(both.owner, agreement, "agree")
    both.say(both.recipient, agreement, "verify")
    final = both.say(both.owner, agreement, "finalize")
    record = both.recipient.get(at).content
    keys = both.recipient.get(KEYS).content
    said = verified(record, keys)
    assert said["id"] == agreement
    assert said["recipient"]["id"] == both.recipient_id
    assert said["items"] == [{**final["items"][0], "name": "people"}]
    assert said["log"] == {"sequence": final["log_sequence"], "hash": final["log_hash"]}
    assert said["terms"] == "Use it well."
    policy = both.recipient.get(f"/v1/agreements/{agreement}/policy")
    assert policy.headers["content-type"] == "application/ld+json"
    assert policy.json() == said["policy"]
    operands = [one["leftOperand"] for one in policy.json()["permission"][0]["constraint"]]
    assert operands == [
        "purpose",
        "dateTime",
        "cw:level",
        "cw:noiseVariance",
        "dateTime",
        "cw:column",
        "cw:firstRow",
    ]
    # It outlives the agreement, to the byte.
    both.say(both.owner, agreement, "terminate")
    assert both.recipient.get(at).content == record
    _, stranger = both.service.principal("recipient")
    assert stranger.get(at).status_code == 404


def test_a_changed_byte_fails_the_check(two: Parties) -> None:
    """Every place at least once as far as 1,000 go, each time another byte."""
    record, keys = record_and_keys(two)
    verified(record, keys)
    rng = random.Random(1)
    places = rng.sample(range(len(record)), 1_000)
    assert len(record) > 1_000
    for place in places:
        other = rng.choice([byte for byte in range(256) if byte != record[place]])
        with pytest.raises(NotVerified):
            verified(record[:place] + bytes([other]) + record[place + 1 :], keys)
    # And every bit of the signature, whose last character has bits that carry nothing.
    start = record.index(b'"signature":"')
    for place in range(start, len(record)):
        for bit in range(8):
            changed = bytes([record[place] ^ (1 << bit)])
            with pytest.raises(NotVerified):
                verified(record[:place] + changed + record[place + 1 :], keys)


@pytest.mark.parametrize("change", ["", " ", "\n"])
def test_bytes_added_or_lost_fail_the_check(two: Parties, change: str) -> None:
    record, keys = record_and_keys(two)
    for broken in (record + change.encode(), record[:-1], record[1:], b"", b"{}"):
        if broken != record:
            with pytest.raises(NotVerified):
                verified(broken, keys)


def test_another_key_under_the_same_name_is_found_out(two: Parties) -> None:
    """Who can swap the key set cannot keep the name of the key, which is its thumbprint."""
    record, keys = record_and_keys(two)
    said = json.loads(record)
    own = Ed25519PrivateKey.generate()
    head = said["signature"].split("..")[0]
    content = urlsafe_b64encode(rfc8785.dumps(said["agreement"])).rstrip(b"=")
    forged = own.sign(head.encode() + b"." + content)
    said["signature"] = head + ".." + urlsafe_b64encode(forged).rstrip(b"=").decode()
    swapped = json.loads(keys)
    public = own.public_key().public_bytes_raw()
    swapped["keys"][0]["x"] = urlsafe_b64encode(public).rstrip(b"=").decode()
    with pytest.raises(NotVerified, match="not the one that its name says"):
        verified(rfc8785.dumps(said), json.dumps(swapped).encode())
    with pytest.raises(NotVerified, match="not one of this agreement"):
        verified(rfc8785.dumps(said), keys)


def test_a_key_is_rotated_and_what_it_signed_stays_good(
    service: Service,
) -> None:
    both = parties(service)
    old, _ = record_and_keys(both)
    fresh = record.rotate_signing_key(both.service.app.state.resources)
    new, keys = record_and_keys(both)
    assert [key["kid"] for key in json.loads(keys)["keys"]][-1] == fresh
    assert verified(old, keys)["id"] != verified(new, keys)["id"]
    newest = {"keys": json.loads(keys)["keys"][-1:]}
    verified(new, json.dumps(newest).encode())
    with pytest.raises(NotVerified):
        verified(old, json.dumps(newest).encode())
    # No half of a key that signs ever leaves.
    assert all(set(key) == {"kty", "crv", "x", "kid", "use", "alg"} for key in newest["keys"])


def test_the_command_checks_a_file_offline(
    two: Parties,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record, keys = record_and_keys(two)
    (tmp_path / "record.json").write_bytes(record)
    (tmp_path / "keys.json").write_bytes(keys)
    command = ["verify-agreement", str(tmp_path / "record.json")]
    monkeypatch.setattr(sys, "argv", ["app", *command, "--keys", str(tmp_path / "keys.json")])
    cli.main()
    assert capsys.readouterr().out.startswith("verified:")
    (tmp_path / "record.json").write_bytes(record.replace(b"research", b"anything"))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert str(ended.value).startswith("not verified:")
