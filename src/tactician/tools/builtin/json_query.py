"""Query of JSON."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from tactician.errors import ToolError
from tactician.tools.builtin.json_path import find_value
from tactician.tools.function import tool

MAX_DATA: Final = 5_000_000
"""Characters of JSON text."""


@tool(blocking=True)
def query_json(data: str, path: str) -> str:
    """Get a part of JSON.

    Args:
        data: the JSON text
        path: path of the part, such as items[1].name, items[-1], items[*].name, items[0:3] or ["a key"].name
    """
    if len(data) > MAX_DATA:
        raise ToolError(f"The data is longer than {MAX_DATA:,} characters.")
    try:
        parsed: JsonValue = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise ToolError(f"The data is not JSON: {error}.") from error
    value = find_value(parsed, path)
    return value if isinstance(value, str) else to_json(value, inf_nan_mode="strings").decode()
