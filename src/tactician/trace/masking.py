"""Masks of secrets in texts that are passed on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tactician.environment import read_environment
from tactician.frozen import frozen

if TYPE_CHECKING:
    from pydantic import JsonValue

MASK: Final = "***"
_SHORTEST: Final = 8
"""Characters of the shortest text that is masked for what it is, and not for its name."""
_NAMES: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_NAMED: Final = r"(?:api[_-]?key|(?:access|auth|bearer)[_-]?token|secret|password|passwd|authorization)"
_SECRET: Final = re.compile(rf".*[_-]?{_NAMED}", re.IGNORECASE)
_PREFIXES: Final = (
    *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "ghp_", "gho_", "ghu_"),
    *("ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "npm_", "pypi-"),
)


@frozen
class _Form:
    """Form of secrets, of which a text has at least one of the hints, in lower case."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str = MASK


_FORMS: Final = (
    _Form(
        ("private key",),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
    _Form(
        ("bearer", "basic"),
        re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
        rf"\1 {MASK}",
    ),
    _Form(_PREFIXES, re.compile(rf"\b(?:{'|'.join(_PREFIXES)})[A-Za-z0-9_-]{{12,}}")),
    _Form(("akia", "asia", "aiza"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b|\bAIza[A-Za-z0-9_-]{20,}")),
    _Form(("eyj",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*")),
    _Form(("://",), re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), rf"\1{MASK}@"),
    _Form(
        ("key", "token", "secret", "passw", "authorization"),
        re.compile(rf"""({_NAMED}\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\,;&}}]{{4,}}""", re.IGNORECASE),
        rf"\1{MASK}",
    ),
)
"""Forms of keys of well-known services, and of values that are named a key or a password."""


class Masking:
    """Mask of secrets: of what looks like a key, and of the values of environment variables that are named so.

    Args:
        environment: environment variables; those of this process by default.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._values = tuple(sorted(set(_find_values(read_environment(environment))), key=len, reverse=True))

    def mask(self, text: str, name: str = "") -> str:
        """Return a text without the secrets in it; only the mask for a value whose name says that it is a secret."""
        if name and _is_secret(name):
            return MASK
        if len(text) < _SHORTEST:
            return text
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        lowered = text.lower()
        for form in _FORMS:
            for hint in form.hints:  # a generator takes twice as long, and most texts have no hint
                if hint in lowered:
                    text = form.pattern.sub(form.replacement, text)
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


@lru_cache(1000)
def _is_secret(name: str) -> bool:
    return _SECRET.fullmatch(name) is not None


def _find_values(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if _NAMES.search(name) and len(value) >= _SHORTEST:
            yield value
