"""Templates of tasks: `{name}` stands for a value, and `{{name}}` for the text `{name}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_PLACES: Final = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


def find_names(template: str) -> tuple[str, ...]:
    """Return the names that a template needs values for, each once, in their order."""
    return tuple(dict.fromkeys(match[2] for match in _PLACES.finditer(template) if match[2] is not None))


class Template:
    """Template that is read once, and filled in by each run.

    Args:
        template: the template.
    """

    __slots__ = ("_format", "_names")

    def __init__(self, template: str) -> None:
        self._names = find_names(template)
        # The operator `%` fills in many times faster than a function can.
        self._format = _PLACES.sub(_write_place, template.replace("%", "%%") if self._names else template)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the template with a value in each place. Braces in a value stay as they are.

        Raises:
            KeyError: when a value is missing.
        """
        return self._format % values if self._names else self._format


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return a template with a value in each place; see `Template`."""
    return Template(template).fill(values)


def escape_template(text: str) -> str:
    """Return the template that stands for a text as it is."""
    return _PLACES.sub(lambda match: f"{{{match[0]}}}", text)


def _write_place(match: re.Match[str]) -> str:
    return f"{{{match[1]}}}" if match[2] is None else f"%({match[2]})s"
