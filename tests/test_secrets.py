"""Secrets: one list of names and of shapes, for what is refused and for what is masked."""

import pytest

from tactician.blueprint import Blueprint
from tactician.errors import BlueprintError
from tactician.secrets import Masking, has_secret, is_secret_name

KEYS = [
    "sk-abcdefghijklmnop1234567890abcd",
    "sk_live_abcdefghijklmnopqrst",
    "hf_abcdefghijklmnopqrstuvwx",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi-AgEIcHlwaS5vcmcCJGFiY2Rl",
    "ghp_abcdefghijklmnopqrstuvwxyz012345",
    "glpat-abcdefghijklmnopqrst",
    "xoxb-123456789012-abcdefghijkl",
    "ASIAABCDEFGHIJKLMNOP",
    "AKIAABCDEFGHIJKLMNOP",
    "AIzaSyabcdefghijklmnopqrstuvwxyz0123456",
    "gsk_abcdefghijklmnopqrstuvwx",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij",
]
NAMES = ["DB_PASS", "pwd", "session_cookie", "SENTRY_DSN", "DB_PASSWORD", "HUB_TOKEN", "OPENAI_API_KEY", "API_TOKENS"]


@pytest.mark.parametrize("key", KEYS)
def test_every_shape_is_refused_and_masked(key: str) -> None:
    assert has_secret(key)
    assert has_secret({"notes": [f"use {key}"]})
    assert key not in Masking({}).mask(f"the key {key} was refused")


@pytest.mark.parametrize("name", NAMES)
def test_values_of_variables_with_secret_names_are_masked(name: str) -> None:
    assert is_secret_name(name)
    masking = Masking({name: "correct-horse-battery"})
    assert masking.mask("login with correct-horse-battery failed") == "login with *** failed"


def test_passwords_inside_of_addresses_and_settings_are_masked_alone() -> None:
    masking = Masking({"DATABASE_URL": "postgres://app:battery-staple@db/x", "PG": "host=db password=horse-correct"})
    assert (
        masking.mask("no role for battery-staple nor horse-correct at host db") == "no role for *** nor *** at host db"
    )


@pytest.mark.parametrize(
    "name", ["PWD", "XDG_SESSION_DESKTOP", "DBUS_SESSION_BUS_ADDRESS", "SSL_CERT_FILE", "SSH_AUTH_SOCK", "MAX_TOKENS"]
)
def test_paths_and_settings_of_the_machine_stay_readable(name: str) -> None:
    assert Masking({name: "/some/folder/file"}).mask("in /some/folder/file") == "in /some/folder/file"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("boom secret=abc", "boom secret=***"),
        ('{"session_cookie": "abcdef"}', '{"session_cookie": "***"}'),
        ("GET https://api.example.com/v1?key=abcdef&page=2", "GET https://api.example.com/v1?key=***&page=2"),
        ("postgres://app:pw@db/x", "postgres://app:***@db/x"),
        ("valid_token: yes, it was", "valid_token: yes, it was"),
        ("max_tokens=4096, key=order-1", "max_tokens=4096, key=order-1"),
    ],
)
def test_named_values_are_masked_in_texts(text: str, masked: str) -> None:
    assert Masking({}).mask(text) == masked


@pytest.mark.parametrize("key", KEYS)
def test_no_key_in_a_variable_of_a_blueprint_reaches_a_model(key: str) -> None:
    data = '{"type":"agent","name":"A","model":"gpt-5.4","maxTurns":3,"instructions":"use ${HUB}"}'
    with pytest.raises(BlueprintError, match="may be a secret"):
        Blueprint.from_json(data).build(environment={"HUB": key})
