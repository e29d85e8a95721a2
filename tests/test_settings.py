"""Settings: defaults run embedded, wrong values are one readable line without the value."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import WrongSetting, settings_from


def test_the_defaults_run_embedded() -> None:
    settings = settings_from({})
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.home == Path("var").absolute()
    assert settings.embedded
    assert settings.redis_url is None
    assert settings.master_key is None


def test_a_postgresql_url_names_the_driver_that_is_installed() -> None:
    url = settings_from({"CORNERWAVE_DATABASE_URL": "postgresql://u:p@h/d"}).database_url
    assert url == "postgresql+psycopg://u:p@h/d"


@pytest.mark.parametrize("text", ["ab" * 32, "q83v" * 10 + "q80="])
def test_a_master_key_may_be_hexadecimal_or_base64(text: str) -> None:
    key = settings_from({"CORNERWAVE_MASTER_KEY": text}).master_key
    assert key is not None
    assert len(key) == 32


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "80000"),
        ("PORT", "eighty"),
        ("DATABASE_URL", "mysql://secret-host/x"),
        ("DATABASE_URL", "not a url"),
        ("REDIS_URL", "http://secret-host"),
        ("BLOB_URL", "ftp://secret-host"),
        ("JOB_THREADS", "-1"),
        ("WORKERS", "0"),
        ("WORKERS", "2"),  # not on SQLite
        ("MASTER_KEY", "secret-too-short"),
        ("ADMIN_KEY", "secret-too-short"),
        ("ADMIN_KEY", "secret with spaces secret with spaces"),
        ("ADMIN_KEY", "secret" * 8),
        ("ADMIN_KEY", "0123456789" * 4),
        ("MAX_UPLOAD_BYTES", "-1"),
        ("MAX_COLUMNS", "0"),
        ("ALLOW_GENERATED_MASTER_KEY", "perhaps"),
        ("HOTS", "127.0.0.1"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_the_variable_and_not_the_value(
    name: str, value: str
) -> None:
    with pytest.raises(WrongSetting) as caught:
        settings_from({f"CORNERWAVE_{name}": value})
    message = str(caught.value)
    assert message.startswith(f"CORNERWAVE_{name} ")
    assert "\n" not in message
    assert "secret" not in message


def test_a_misspelt_variable_is_refused_with_the_name_that_was_meant() -> None:
    with pytest.raises(
        WrongSetting, match=r"^CORNERWAVE_HOTS is not a setting; CORNERWAVE_HOST is\.$"
    ):
        settings_from({"CORNERWAVE_HOTS": "127.0.0.1"})
    with pytest.raises(WrongSetting, match=r"; CORNERWAVE_MASTER_KEY_FILE is\.$"):
        settings_from({"CORNERWAVE_MASTERKEY_FILE": "/run/secrets/key"})
    with pytest.raises(WrongSetting, match=r"; there are CORNERWAVE_HOST, CORNERWAVE_PORT, "):
        settings_from({"CORNERWAVE_QQQQQ": "1"})


def test_what_kubernetes_sets_for_services_of_our_name_is_ignored() -> None:
    injected = {
        "CORNERWAVE_PORT": "tcp://10.0.0.11:8000",
        "CORNERWAVE_PORT_8000_TCP": "tcp://10.0.0.11:8000",
        "CORNERWAVE_PORT_8000_TCP_PROTO": "tcp",
        "CORNERWAVE_PORT_8000_TCP_PORT": "8000",
        "CORNERWAVE_PORT_8000_TCP_ADDR": "10.0.0.11",
        "CORNERWAVE_SERVICE_HOST": "10.0.0.11",
        "CORNERWAVE_SERVICE_PORT": "8000",
        "CORNERWAVE_SERVICE_PORT_HTTP": "8000",
        "CORNERWAVE_REDIS_PORT": "tcp://10.0.0.12:6379",
        "CORNERWAVE_REDIS_PORT_6379_TCP_ADDR": "10.0.0.12",
        "CORNERWAVE_REDIS_SERVICE_HOST": "10.0.0.12",
    }
    assert settings_from(injected) == settings_from({})
    with pytest.raises(WrongSetting, match="CORNERWAVE_SERVICE_HOTS"):
        settings_from({"CORNERWAVE_SERVICE_HOTS": "10.0.0.11"})


def test_what_is_meant_for_the_client_is_ignored() -> None:
    said = {"CORNERWAVE_URL": "https://cornerwave.example", "CORNERWAVE_KEY": "a recipient's"}
    assert settings_from(said) == settings_from({})


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("ab" * 32 + "\n")
    (tmp_path / "url").write_text("postgresql://u:p@h/d\n")
    settings = settings_from(
        {
            "CORNERWAVE_MASTER_KEY_FILE": str(tmp_path / "key"),
            "CORNERWAVE_DATABASE_URL_FILE": str(tmp_path / "url"),
        }
    )
    assert settings.master_key == bytes.fromhex("ab" * 32)
    assert settings.database_url == "postgresql+psycopg://u:p@h/d"


def test_a_secret_that_two_places_or_none_give_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    name = "CORNERWAVE_ADMIN_KEY_FILE"
    for environment in (
        {name: str(tmp_path / "absent")},
        {name: str(tmp_path / "empty")},
        {name: str(tmp_path / "empty"), "CORNERWAVE_ADMIN_KEY": "Q7f0xM2kd9Lw4zT8hB5nR1vJ6sYp3cGu"},
    ):
        with pytest.raises(WrongSetting, match=f"^{name} ") as caught:
            settings_from(environment)
        assert str(tmp_path) not in str(caught.value)


def test_the_settings_show_nothing_of_themselves() -> None:
    settings = settings_from(
        {
            "CORNERWAVE_ADMIN_KEY": "Q7f0xM2kd9Lw4zT8hB5nR1vJ6sYp3cGu",
            "CORNERWAVE_DATABASE_URL": "postgresql://u:secret@h/d",
        }
    )
    assert "secret" not in f"{settings!r} {settings}"


def test_proxies_are_addresses_or_networks() -> None:
    said = {"CORNERWAVE_TRUSTED_PROXIES": "10.0.0.7, 10.1.0.0/16"}
    assert settings_from(said).trusted_proxies == ("10.0.0.7", "10.1.0.0/16")
    with pytest.raises(WrongSetting, match="CORNERWAVE_TRUSTED_PROXIES must list addresses"):
        settings_from({"CORNERWAVE_TRUSTED_PROXIES": "a proxy"})


def test_targets_of_deliveries_are_named_folders_and_buckets() -> None:
    said = {"CORNERWAVE_DELIVERY_TARGETS": "partner=/srv/out, lake=s3://bucket/prefix"}
    assert settings_from(said).delivery_targets == {
        "partner": "/srv/out",
        "lake": "s3://bucket/prefix",
    }
    for wrong in ("partner", "=/srv", "a b=/srv", "partner=srv", "partner=ftp://x"):
        with pytest.raises(WrongSetting, match="CORNERWAVE_DELIVERY_TARGETS must list"):
            settings_from({"CORNERWAVE_DELIVERY_TARGETS": wrong})


@pytest.mark.parametrize(
    ("changed", "variable"),
    [
        ({"TOKEN_ROLES": "*=owner"}, "CORNERWAVE_TOKEN_ROLES"),
        ({"TOKEN_ROLE_CLAIM": "roles"}, "CORNERWAVE_TOKEN_ROLE_CLAIM"),
        ({"TOKEN_AUDIENCE": "portal"}, "CORNERWAVE_TOKEN_AUDIENCE"),
    ],
)
def test_one_provider_gives_one_person_one_role_and_no_id_token_opens_the_api(
    changed: dict[str, str], variable: str
) -> None:
    said = {
        "OIDC_ISSUER": "https://id.example.org",
        "OIDC_CLIENT_ID": "portal",
        "OIDC_CLIENT_SECRET": "s" * 20,
        "OIDC_ROLES": "*=recipient",
        "TOKEN_ISSUERS": "https://id.example.org",
        "TOKEN_AUDIENCE": "https://data.example.org",
        "TOKEN_ROLE_CLAIM": "groups",
        "TOKEN_ROLES": "*=recipient",
    }
    named = {f"CORNERWAVE_{name}": value for name, value in said.items()}
    assert settings_from(named).token_issuers
    with pytest.raises(WrongSetting, match=variable):
        settings_from(named | {f"CORNERWAVE_{name}": value for name, value in changed.items()})
