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
        ("MASTER_KEY", "secret-too-short"),
        ("ADMIN_KEY", "secret-too-short"),
        ("ADMIN_KEY", "secret with spaces secret with spaces"),
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
