"""Templates of tasks: `{name}` stands for a value, and `{{name}}` for the text `{name}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_PLACES: Final = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def find_names(template: str) -> tuple[str, ...]:
    """Return the names that a template needs values for, each once, in their order."""
    return tuple(dict.fromkeys(match[2] for match in _PLACES.finditer(template) if match[2] is not None))


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the template with a value in each place. Braces in a value stay as they are.

    Raises:
        KeyError: when a value is missing.
    """
    if "{" not in template:
        return template
    return _PLACES.sub(lambda match: values[match[2]] if match[1] is None else f"{{{match[1]}}}", template)


def escape_template(text: str) -> str:
    """Return the template that stands for a text as it is."""
    return _PLACES.sub(lambda match: f"{{{match[0]}}}", text)
