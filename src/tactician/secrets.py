"""Secrets: the names and the shapes of keys and passwords, and masks for them in what leaves the program.

There are two strictnesses. What may be a secret is never sent to a model (`has_secret`, `is_secret_name`); what is a
secret is masked in texts that people and other programs read (`Masking`, `mask_secrets`). Both use the same lists.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from tactician.environment import read_environment
from tactician.frozen import frozen

if TYPE_CHECKING:
    from pydantic import JsonValue

MASK: Final = "***"
SHORTEST_SECRET: Final = 8
"""Characters of the shortest text that is masked for what it is, and not for its name."""

_CERTAIN_NAMES: Final = (
    r"(?:api[_-]?key|private[_-]?key|(?:access|api|auth|bearer|refresh|session|(?<![a-z])id)[_-]?token|secret|password|passwd"
    r"|passphrase|pwd|credentials|authorization|(?:auth|session|set)[_-]?cookie|dsn)"
)
"""Names whose values are secrets, wherever they stand: in a field, in a header, or before `=` or `:` in a text."""
_CERTAIN_NAME: Final = re.compile(rf".*[_-]?{_CERTAIN_NAMES}s?", re.IGNORECASE)
_NAMED_IN_VALUE: Final = re.compile(rf"{_CERTAIN_NAMES}\s*=\s*([^\s;&]+)", re.IGNORECASE)
_POSSIBLE_NAMES: Final = re.compile(
    r"KEY(?:S|_|$)|TOKEN(?:_|$)|(?:API|AUTH|ACCESS|BEARER|REFRESH)_?TOKENS|SECRET|PASS|(?<!^)(?<!^OLD)PWD|(?-i:^pwd$)"
    r"|CREDENTIAL|(?:^|_)(?:AUTH|PRIVATE|DSN|PAT|BEARER|COOKIES?|SESSION|CERT)(?:_|$)",
    re.IGNORECASE,
)
"""Names of variables and fields that may hold a secret. `PWD` and `OLDPWD` are folders of the shell."""
_HARMLESS_NAMES: Final = re.compile(
    r"XDG_\w*|DBUS_\w*|(?:DESKTOP_|GNOME_\w*)SESSION\w*|SESSION_MANAGER|TOKENIZERS_\w*|\w*_(?:FILE|DIR|PATH|SOCK)"
)
"""Variables with such names whose values are paths and settings, which would only be missing in texts."""
_PARAMETERS: Final = re.compile(r"key|token|secret|sig|code|auth|passw", re.IGNORECASE)
"""Parameters of addresses that may hold a secret."""
_PUBLIC_HEADERS: Final = frozenset({"content-type", "accept", "user-agent", "anthropic-version", "anthropic-beta"})
"""Headers of requests that never hold a key; any other may, since custom providers choose the name."""

_KEY_PREFIXES: Final = (
    *("sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk-lf-", "gh[a-z]_", "github_pat_", "glpat-"),
    *("xox[a-z]-", "whsec_", "shpat_", "dop_v1_", "nvapi-", "pplx-", "tvly-", "gsk_", "lsv2_", r"hvs\.", r"ya29\."),
)
"""Beginnings of keys that are nothing else."""
_WORD_PREFIXES: Final = ("hf_", "npm_", "pypi-", "xai-", "sk_", "pk-", "pk_", "rk-", "rk_")
"""Beginnings of keys that other names have too, so that only long ones are secrets."""
_HINTS: Final = (
    *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "gh", "glpat-", "xox", "whsec_", "shpat_", "dop_v1_", "nvapi-"),
    *("pplx-", "tvly-", "gsk_", "lsv2_", "hvs.", "ya29.", "hf_", "npm_", "pypi-", "xai-"),
)
_PREFIXES: Final = "|".join((*_KEY_PREFIXES, *_WORD_PREFIXES))
_PRIVATE_KEY: Final = "-----BEGIN [A-Z ]*PRIVATE KEY"

_SUSPECTED: Final = re.compile(
    rf"(?<![\w-])(?:(?:{'|'.join(_KEY_PREFIXES)})[\w-]{{6}}|(?:{_PREFIXES})[\w-]{{12}}|A(?:KI|SI)A[0-9A-Z]{{12}}"
    r"|AIza[\w-]{20}|eyJ[\w-]+\.[\w-]+)"
    rf"|{_PRIVATE_KEY}"
    r"|://[^\s/?#:]*:[^\s/?#]*@"
    r"|(?:^|[\s?&;,])[\w-]*(?i:key|token|secret|password|passwd|pwd)\s?=\s?[^\s;&]"
    r"|^\*{10}$"  # how pydantic masks a secret
)


@frozen
class _Shape:
    """Shape of secrets, of which a text has at least one of the hints, in lower case."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str = MASK


_SHAPES: Final = (
    _Shape(
        ("private key",),
        re.compile(rf"{_PRIVATE_KEY}-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
    _Shape(
        ("bearer", "basic"),
        re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
        rf"\1 {MASK}",
    ),
    _Shape(_HINTS, re.compile(rf"\b(?:{_PREFIXES})[A-Za-z0-9_-]{{12,}}")),
    _Shape(("akia", "asia", "aiza"), re.compile(r"\bA(?:KI|SI)A[A-Z0-9]{12,}\b|\bAIza[A-Za-z0-9_-]{20,}")),
    _Shape(("eyj",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*")),
    _Shape(("://",), re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), rf"\1{MASK}@"),
    _Shape(
        ("key=", "token=", "sig=", "signature=", "code="),
        re.compile(r"([?&](?:key|token|sig|signature|code)=)[^\s&#\"'<>]+", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    _Shape(
        ("key", "token", "secret", "passw", "passp", "pwd", "authorization", "credentials", "cookie", "dsn"),
        re.compile(
            rf"""({_CERTAIN_NAMES}\\?["']?\s*(?:=\s*\\?["']?(?=[^\s"'\\])|:\s*\\?["']?(?=[^\s"'\\,;&}}]{{4}})))"""
            r"""[^\s"'\\,;&}]+""",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
)
"""Keys of well-known services, and values that are named a key or a password."""


class Masking:
    """Mask of secrets: of what looks like a key, and of the values of environment variables that are named so.

    Args:
        environment: environment variables; this process's variables by default.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._values = tuple(sorted(set(_list_values(read_environment(environment))), key=len, reverse=True))

    def mask(self, text: str, name: str = "") -> str:
        """Return a text without the secrets in it; only the mask for a value whose name says that it is a secret."""
        if name and _is_certain_name(name):
            return MASK
        if len(text) < SHORTEST_SECRET:
            return text
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        lowered = text.lower()
        for shape in _SHAPES:
            for hint in shape.hints:  # a generator takes twice as long, and most texts have no hint
                if hint in lowered:
                    text = shape.pattern.sub(shape.replacement, text)
                    break
        return text

    def mask_json(self, value: JsonValue, name: str = "") -> JsonValue:
        """Return a JSON value with masks for the secrets in its texts, and for the values whose names say so."""
        if isinstance(value, str):
            return self.mask(value, name)
        if isinstance(value, list):
            return [self.mask_json(item, name) for item in value]
        if isinstance(value, dict):
            return {key: self.mask_json(item, key) for key, item in value.items()}
        return value


def find_masking() -> Masking:
    """Return the masks for the environment of this process, as it is now."""
    return _create_masking(frozenset(read_environment().items()))


def mask_secrets(text: str) -> str:
    """Return a text for people or for other programs, with masks for the secrets in it."""
    return find_masking().mask(text)


def is_secret_name(name: str) -> bool:
    """Return whether a variable or field with this name may hold a secret."""
    return _POSSIBLE_NAMES.search(name) is not None


def has_secret(data: object) -> bool:
    """Return whether JSON data may hold a secret, by its names and texts."""
    if isinstance(data, str):
        return _SUSPECTED.search(data) is not None
    if isinstance(data, Mapping):
        named = (isinstance(item, str) and item and is_secret_name(str(name)) for name, item in data.items())
        return any(named) or any(map(has_secret, data.values()))
    return isinstance(data, list | tuple) and any(map(has_secret, data))


def holds_secret(name: str, environment: Mapping[str, str]) -> bool:
    """Return whether the value of a variable may hold a secret, perhaps the secret of another variable."""
    text = environment[name]
    others = (secret for other, secret in environment.items() if other != name and is_secret_name(other))
    return (
        has_secret(text)
        or _is_json_with_secret(text)
        or any(len(secret) >= SHORTEST_SECRET and secret in text for secret in others)
    )


def find_url_secrets(url: str) -> Iterator[str]:
    """Yield the password in an address, its form in a header, and the parameters that may be secrets."""
    try:
        parts = urlsplit(url)
        yield from (value for name, value in parse_qsl(parts.query) if _PARAMETERS.search(name))
        if parts.password is not None:
            user, password = unquote(parts.username or ""), unquote(parts.password)
            yield from (parts.password, password)
            yield b64encode(f"{user}:{password}".encode("utf-8", "replace")).decode()
    except ValueError:
        return


def find_header_secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of headers that may be secrets, each without the word before it, as in `Bearer KEY`."""
    for name, value in headers.items():
        if name.lower() not in _PUBLIC_HEADERS:
            yield value.rpartition(" ")[2]


@lru_cache(1)
def _create_masking(environment: frozenset[tuple[str, str]]) -> Masking:
    return Masking(dict(environment))


@lru_cache(1000)
def _is_certain_name(name: str) -> bool:
    return _CERTAIN_NAME.fullmatch(name) is not None


def _list_values(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets in an environment: whole values, and passwords inside of addresses and settings."""
    for name, value in environment.items():
        secrets = [match[1] for match in _NAMED_IN_VALUE.finditer(value)] if "=" in value else []
        if "://" in value:
            secrets += find_url_secrets(value)
        if is_secret_name(name) and not _HARMLESS_NAMES.fullmatch(name):
            secrets.append(value)
        yield from (secret for secret in secrets if len(secret) >= SHORTEST_SECRET)


def _is_json_with_secret(text: str) -> bool:
    try:
        return has_secret(json.loads(text))
    except (ValueError, RecursionError):
        return False
