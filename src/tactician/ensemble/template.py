"""Templates of tasks: `{name}` stands for a value, and `{{name}}` for the text `{name}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_PLACES: Final = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def find_names(template: str) -> tuple[str, ...]:
    """Return the names that a template needs values for, each once, in their order."""
    return tuple(dict.fromkeys(match[2] for match in _PLACES.finditer(template) if match[2] is not None))


def write_format(template: str) -> str:
    """Return the template as a format for the operator `%`, which fills it in much faster."""
    return _PLACES.sub(_write_place, template.replace("%", "%%"))


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the template with a value in each place. Braces in a value stay as they are.

    Raises:
        KeyError: when a value is missing.
    """
    return write_format(template) % values


def escape_template(text: str) -> str:
    """Return the template that stands for a text as it is."""
    return _PLACES.sub(lambda match: f"{{{match[0]}}}", text)


def _write_place(match: re.Match[str]) -> str:
    return f"{{{match[1]}}}" if match[2] is None else f"%({match[2]})s"
