"""Redaction of keys in errors: a provider or a proxy may quote the address and the headers of a request."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import lru_cache

from tactician.errors import ModelError
from tactician.secrets import MASK, SHORTEST_SECRET, find_header_secrets, find_url_secrets

# A text that was cut off may end within a key: so many of its first characters identify a key.
_HEAD = 12
_LONGEST_SPELLED = 128
_REST_OF_WORD = r"(?:&#x?[0-9a-fA-F]{1,6};|[^\s\"'<>&,;()\[\]{}])*"
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class Redaction:
    """Context that removes the keys of a request from every `ModelError` which leaves it.

    Args:
        url: the URL of the request.
        headers: its headers.
    """

    __slots__ = ("_headers", "_url")

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = headers

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, ModelError):
            self.redact(error)

    def redact(self, error: ModelError) -> None:
        """Remove the keys from an error."""
        _redact_error(error, _find_secrets(self._url, self._headers))


def _redact_error(error: ModelError, secrets: frozenset[str]) -> None:
    error.args = tuple(_redact(arg, secrets) if isinstance(arg, str) else arg for arg in error.args)
    if notes := getattr(error, "__notes__", None):
        error.__notes__ = [_redact(note, secrets) for note in notes]
    if any(_redact(text, secrets) != text for text in _list_causes(error)):
        error.__cause__ = error.__context__ = None


def _list_causes(error: BaseException) -> Iterator[str]:
    """Yield the texts of the causes of an error."""
    cause = error.__cause__ or error.__context__
    while cause is not None:
        yield f"{cause} {cause!r}"
        cause = cause.__cause__ or cause.__context__


def _redact(text: str, secrets: frozenset[str]) -> str:
    for secret in secrets:
        for pattern in _compile(secret):
            text = pattern.sub(MASK, text)
    return text


def _find_secrets(url: str, headers: Mapping[str, str]) -> frozenset[str]:
    """Return the keys in headers, and in the query and the user of a URL."""
    secrets = [*find_header_secrets(headers), *find_url_secrets(url)]
    secrets += [_decode_password(value) for value in secrets]
    return frozenset(secret for secret in secrets if len(secret) >= SHORTEST_SECRET)


def _decode_password(value: str) -> str:
    """Return the password in the credentials of basic authentication, or an empty string."""
    try:
        return b64decode(value, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


@lru_cache(maxsize=64)
def _compile(secret: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a key, whole or cut off, in whatever way it is escaped."""
    spelled = [_spell(character) for character in secret[:_LONGEST_SPELLED]]
    cut_off = re.compile("".join(spelled[:_HEAD]) + (_REST_OF_WORD if len(secret) > _HEAD else ""))
    whole = (re.compile("".join(spelled)),) if _HEAD < len(secret) <= _LONGEST_SPELLED else ()
    return (*whole, cut_off)


def _spell(character: str) -> str:
    """Return a pattern of a character: itself, or escaped as JSON, a URL or HTML may escape it."""
    code = ord(character)
    octets = "".join(f"%(?:25){{0,2}}(?i:{octet:02x})" for octet in character.encode("utf-8", "replace"))
    ways = [
        rf"\\{{0,8}}{re.escape(character)}",
        rf"\\{{1,8}}[uUx]0{{0,6}}(?i:{code:x})",
        octets,
        f"&#0{{0,4}}{code};",
        f"&#[xX]0{{0,4}}(?i:{code:x});",
    ]
    if character in _ENTITIES:
        ways.append(f"&{_ENTITIES[character]};")
    return f"(?:{'|'.join(ways)})"
