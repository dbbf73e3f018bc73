"""What may be a secret: by its name, and by what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

_NAMES: Final = re.compile(
    r"KEY(?:S|_|$)|TOKEN(?:_|$)|SECRET|PASS|(?<!^)(?<!^OLD)PWD|CREDENTIAL"
    r"|(?:^|_)(?:AUTH|PRIVATE|DSN|PAT|BEARER|COOKIES?|SESSION|CERT)(?:_|$)",
    re.IGNORECASE,
)
_OUR_OWN: Final = re.compile(r"(?:LLM_INSTANCES|ENABLED_PROVIDERS|(?:TACTICIAN|LANGFUSE)_\w*)")
_SHAPES: Final = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{6}|gh[a-z]_\w{6}|github_pat_\w{6}|glpat-[\w-]{6}|xox[a-z]-[\w-]{6}|AKIA[0-9A-Z]{12}"
    r"|AIza[\w-]{20}|eyJ[\w-]+\.[\w-]+)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|://[^\s/?#:]*:[^\s/?#]*@"
    r"|(?:^|[\s?&;,])[\w-]*(?i:key|token|secret|password|passwd|pwd)\s?=\s?[^\s;&]"
    r"|^\*{10}$"  # how pydantic writes one
)
_SHORT: Final = 8


def is_secret_name(name: str) -> bool:
    """Whether what is called so may be a secret."""
    return _NAMES.search(name) is not None


def is_own_variable(name: str) -> bool:
    """Whether Tactician itself reads the variable: keys may be in what it says."""
    return _OUR_OWN.fullmatch(name) is not None


def has_secret(data: object) -> bool:
    """Whether there may be a secret in JSON data, by the names and the texts in it."""
    if isinstance(data, str):
        return _SHAPES.search(data) is not None
    if isinstance(data, Mapping):
        named = (isinstance(one, str) and one and is_secret_name(str(name)) for name, one in data.items())
        return any(named) or any(map(has_secret, data.values()))
    return isinstance(data, list | tuple) and any(map(has_secret, data))


def holds_secret(name: str, environment: Mapping[str, str]) -> bool:
    """Whether there may be a secret in what a variable says: also that of another one."""
    text = environment[name]
    others = (one for other, one in environment.items() if other != name and is_secret_name(other))
    return has_secret(text) or _is_json_with_one(text) or any(len(one) >= _SHORT and one in text for one in others)


def _is_json_with_one(text: str) -> bool:
    try:
        return has_secret(json.loads(text))
    except (ValueError, RecursionError):
        return False
