"""Addresses where no Cornerwave service answers: one sentence says so, and the key goes no further."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import cornerwave
from cornerwave.command.output import exit_code
from cornerwave.problems import UnlikeService, problem_of
from cornerwave.transport.calls import Call
from cornerwave.transport.progress import silent
from cornerwave.transport.service_identity import check_head
from cornerwave.values import Level, Principal, Report, load
from tests.client.commands import cornerwave_command
from tests.client.strangers import stranger

KEY = "a-key-that-no-stranger-should-be-sent"
PAGE = "<!doctype html><title>Moved</title><p>It is elsewhere."
HTML = {"Content_Type": "text/html; charset=utf-8"}

CALLS: dict[str, Callable[[cornerwave.Client], object]] = {
    "reads": lambda cw: cw.datasets(),
    "writes": lambda cw: cw.create_principal("somebody"),
    "removes": lambda cw: cw.remove_survey("s"),
    "uploads": lambda cw: cw.register(lambda: iter([{"a": [1, 2]}]), name="people"),
    "downloads": lambda cw: cw.synthesise(b"a,b\n1,2\n"),
    "reads bytes": lambda cw: cw.signing_keys(),
}


def connected(url: str) -> cornerwave.Client:
    return cornerwave.connect(url, KEY, progress=silent)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_not_followed(status: int, call: str) -> None:
    with stranger(200, "{}", Content_Type="application/json") as behind:
        with (
            stranger(status, PAGE, Location=behind.url, **HTML) as there,
            connected(there.url) as cw,
            pytest.raises(cornerwave.NotCornerwave) as told,
        ):
            CALLS[call](cw)
        assert f"{there.url} answers with a redirect to {behind.url}" in str(told.value)
    assert behind.asked == []
    assert len(there.asked) == 1
    assert exit_code(told.value) == 6


@pytest.mark.parametrize("call", CALLS)
def test_a_page_is_no_answer(call: str) -> None:
    with (
        stranger(200, PAGE, **HTML) as there,
        connected(there.url) as cw,
        pytest.raises(cornerwave.NotCornerwave) as told,
    ):
        CALLS[call](cw)
    assert f"What answers at {there.url} is not a Cornerwave service" in str(told.value)
    assert "text/html" in str(told.value)
    assert len(there.asked) == 1


def test_a_page_is_no_copy_and_leaves_no_file(tmp_path: Path) -> None:
    info = cornerwave.values.CopyInfo("c", "d", ("l",), 1.0, 0.5, "", 1, (), "")
    with stranger(200, PAGE, **HTML) as there, connected(there.url) as cw:
        copy = cornerwave.Copy(cw._driver, info)
        with pytest.raises(cornerwave.NotCornerwave):
            copy.save(tmp_path / "copy.csv", verify=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "answer", [(308, {"Location": "https://cornerwave.example/v1/datasets"}), (200, HTML)]
)
def test_those_who_await_are_told_the_same(answer: tuple[int, dict[str, str]]) -> None:
    status, headers = answer

    async def ask(url: str) -> None:
        async with cornerwave.connect_async(url, KEY, progress=silent) as cw:
            await cw.datasets()

    with stranger(status, PAGE, **headers) as there:
        with pytest.raises(cornerwave.NotCornerwave) as told:
            asyncio.run(ask(there.url))
        with connected(there.url) as cw, pytest.raises(cornerwave.NotCornerwave) as blocked:
            cw.datasets()
    assert str(told.value) == str(blocked.value)


@pytest.mark.parametrize(
    ("address", "location", "said"),
    [
        # The same request elsewhere: what is before it is the address.
        ("http://a.example", "https://a.example/v1/datasets?limit=9", "to https://a.example: use"),
        ("http://a.example/b", "https://c.example/b/v1/datasets", "to https://c.example/b: use"),
        ("http://a.example", "//c.example/v1/datasets", "to http://c.example: use that address."),
        # Another page: where somebody logs in, or the same again.
        ("https://a.example", "/login?next=secret", "to https://a.example/login, as no Cornerwave"),
        ("https://a.example", "/v1/datasets", "to https://a.example/v1/datasets, as no Cornerwave"),
        # From TLS to the clear: not advised.
        ("https://a.example", "http://a.example/v1/datasets", "as no Cornerwave service does"),
        ("https://a.example", "", "a redirect that leads nowhere"),
        ("https://a.example", "https://[/v1/datasets", "a redirect that leads nowhere"),
    ],
)
def test_where_a_redirect_leads_is_an_address_only_for_the_same_request(
    address: str, location: str, said: str
) -> None:
    with pytest.raises(cornerwave.NotCornerwave) as told:
        check_head(Call("GET", "/v1/datasets"), address, 301, {"location": location})
    assert said in str(told.value)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("address", ["127.0.0.1:8000", "cornerwave.example/", "ftp://a.example"])
def test_an_address_without_its_scheme_is_told_how_to_look(address: str) -> None:
    bare = address.strip("/").removeprefix("ftp://")
    for connect in (cornerwave.connect, cornerwave.connect_async):
        with pytest.raises(cornerwave.InvalidAddress) as told:
            connect(address, KEY)
        assert f"say https://{bare}, or http://{bare} " in str(told.value)
    assert exit_code(told.value) == 2


@pytest.mark.parametrize(
    "address", ["https://", "http://a.example:port", "http://[::1", "http://?"]
)
def test_what_is_no_address_is_told_so(address: str) -> None:
    with pytest.raises(cornerwave.InvalidAddress, match="is not an address such as"):
        cornerwave.connect(address, KEY)


def test_an_address_may_have_a_port_a_path_and_a_slash() -> None:
    for address in (
        "http://127.0.0.1:8000",
        "https://a.example/b",
        "HTTPS://a.example",
        "http://[::1]:8",
    ):
        with cornerwave.connect(f" {address}/\n", KEY) as cw:
            assert cw.url == address


def test_the_command_refuses_an_address_before_it_asks_for_a_key(tmp_path: Path) -> None:
    with stranger(200, "{}", Content_Type="application/json") as there:
        bare = there.url.removeprefix("http://")
        for command in ("login", "datasets"):
            code, said = ran(tmp_path, bare, command)
            assert (code, said.count("\n")) == (2, 1), said
            assert f"say https://{bare}, or {there.url} " in said
        # No key is given: the address is what is wrong, not that.
        nothing = cornerwave_command(tmp_path / "none.json", "login", bare)
        assert (nothing.returncode, "No key" in nothing.stderr) == (2, False)
    assert there.asked == []


WRONG_KEYS = ["sécret-0123", "secret-0123\nsecret-4567", "secret 0123", "secret-\x00", "“secret”"]


@pytest.mark.parametrize("key", WRONG_KEYS)
def test_a_key_that_is_none_is_not_sent_and_not_shown(key: str) -> None:
    for connect in (cornerwave.connect, cornerwave.connect_async):
        with pytest.raises(cornerwave.NoKey, match="characters that no key has") as told:
            connect("https://a.example", key)
        assert "cret" not in str(told.value)
    assert exit_code(told.value) == 3


def test_a_blank_key_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORNERWAVE_KEY", " ")
    with pytest.raises(cornerwave.NoKey, match="No key for"):
        cornerwave.connect("https://a.example")


@pytest.mark.parametrize(
    "content", ["sécret".encode(), b"secret\nsecret\n", b"secret\xff", b"\xff"]
)
def test_the_command_refuses_a_file_that_holds_no_key(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "key"
    place.write_bytes(content)
    done = cornerwave_command(
        tmp_path / "none.json", "login", "https://a.example", "--key-file", str(place)
    )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert "characters that no key has" in done.stderr
    assert "cret" not in done.stdout + done.stderr


def test_a_key_file_may_begin_with_a_mark_of_its_encoding(tmp_path: Path) -> None:
    place = tmp_path / "key"
    place.write_bytes(b"\xef\xbb\xbf" + KEY.encode() + b"\r\n")
    with stranger(200, "{}", Content_Type="application/json") as there:
        done = cornerwave_command(
            tmp_path / "none.json", "login", there.url, "--key-file", str(place)
        )
    assert done.returncode == 6, done.stderr
    assert there.headers[0]["authorization"] == f"Bearer {KEY}"


OTHER_JSON = [
    "{}",
    "[]",
    "3",
    "{",
    '{"datasets": [], "jobs": [], "recipients": []}',
    '{"datasets": 3, "jobs": {}, "recipients": "none", "next_cursor": null}',
    '{"datasets": [3], "jobs": [null], "recipients": [[]], "next_cursor": null}',
    '{"datasets": [{}], "jobs": [{}], "recipients": [{}], "next_cursor": null}',
]
"""What other services may say with 200."""

READS: dict[str, Callable[[cornerwave.Client], object]] = {
    "datasets": lambda cw: cw.datasets(),
    "a data set": lambda cw: cw.dataset("people"),
    "catalogue": lambda cw: cw.catalogue(),
    "jobs": lambda cw: cw.jobs(),
    "a job": lambda cw: cw.wait("j"),
    "principals": lambda cw: cw.principals(),
    "a new key": lambda cw: cw.create_principal("somebody"),
    "webhooks": lambda cw: cw.webhooks(),
    "health": lambda cw: cw.health(),
    "a score": lambda cw: cw.score(b"a,b\n1,2\n", b"a,b\n1,2\n"),
    "an estimate": lambda cw: cw.estimate([1.0]),
    "a record": lambda cw: cw.agreement_record("a"),
    "keys": lambda cw: cw.signing_keys(),
    "a profile": lambda cw: cw.agreement_profile("a"),
}


@pytest.mark.parametrize("body", OTHER_JSON)
def test_other_json_is_no_answer(body: str) -> None:
    with (
        stranger(200, body, Content_Type="application/json") as there,
        connected(there.url) as cw,
    ):
        for name, read in READS.items():
            with pytest.raises(cornerwave.NotCornerwave) as told:
                read(cw)
            assert f"What answers at {there.url} is not a Cornerwave service" in str(told.value)
            assert there.asked[-1].partition("?")[0] in str(told.value), name


@pytest.mark.parametrize("body", ["3", "[]", "{"])
def test_a_result_that_is_no_object_is_none(body: str) -> None:
    with (
        stranger(200, body, Content_Type="application/json") as there,
        connected(there.url) as cw,
        pytest.raises(cornerwave.NotCornerwave),
    ):
        cw.result("j")


def test_those_who_await_are_told_of_other_json() -> None:
    async def ask(url: str) -> None:
        async with cornerwave.connect_async(url, KEY, progress=silent) as cw:
            await cw.jobs()

    with (
        stranger(200, '{"jobs": []}', Content_Type="application/json") as there,
        pytest.raises(cornerwave.NotCornerwave, match=r"GET /v1/jobs gave .* `next_cursor`"),
    ):
        asyncio.run(ask(there.url))


def test_a_value_is_whole_to_its_depth() -> None:
    members = {"id": "j", "name": "n", "role": "owner", "keys": ["k"]}
    assert load(Principal, {**members, "more": 1}) == Principal("j", "n", "owner", keys=("k",))
    for wrong, told in (
        ({"id": "j", "name": "n"}, "`role`"),
        ({**members, "keys": "k"}, "a list"),
    ):
        with pytest.raises(UnlikeService, match=told):
            load(Principal, wrong)
    level = {"name": "l", "noise_variance": 1, "privacy": 0.5, "issued": False}
    assert load(Level, {**level, "advice": {"a": 1}}).advice == Report({"a": 1})
    with pytest.raises(UnlikeService, match="an object"):
        load(Level, {**level, "advice": 3})


def test_problems_of_others_may_hold_anything() -> None:
    told = problem_of(400, b'{"errors": null, "detail": 3}', "")
    assert (told.errors, told.detail) == ([], "3")


@pytest.mark.parametrize(
    "command",
    [("login",), ("catalogue",), ("jobs",), ("principals",), ("level", "people", "partner")],
)
def test_the_command_says_so_of_other_json(tmp_path: Path, command: tuple[str, ...]) -> None:
    with stranger(200, '{"hello": "world"}', Content_Type="application/json") as there:
        code, said = ran(tmp_path, there.url, *command)
    assert (code, said.count("\n")) == (6, 1), said
    assert f"What answers at {there.url} is not a Cornerwave service" in said


@pytest.mark.parametrize("command", ["login", "catalogue", "datasets"])
@pytest.mark.parametrize("status", [200, 301])
def test_the_command_says_it_in_a_line(tmp_path: Path, command: str, status: int) -> None:
    with stranger(status, PAGE, Location="https://cornerwave.example/", **HTML) as there:
        done = ran(tmp_path, there.url, command)
    assert done == (6, done[1])
    assert done[1].count("\n") == 1
    assert there.url in done[1]
    assert ("redirect to https://cornerwave.example/" in done[1]) == (status == 301)


def ran(folder: Path, url: str, *arguments: str) -> tuple[int, str]:
    """How a command ends, and what it says to people, for somebody who believes in this address."""
    config = folder / "credentials.json"
    if arguments[0] == "login":
        done = cornerwave_command(config, "login", url, typed=f"{KEY}\n")
    else:
        config.write_text(f'{{"default": "{url}", "keys": {{"{url}": "{KEY}"}}}}')
        done = cornerwave_command(config, *arguments)
    assert KEY not in done.stdout + done.stderr
    assert done.stdout == ""
    return done.returncode, done.stderr
