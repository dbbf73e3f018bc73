"""JSON texts as bounded data. The line of each value is located on demand."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from tactician.documents.data import (
    Data,
    DataPath,
    DocumentLimits,
    UnreadableTextError,
    check_data,
    check_text,
    create_depth_error,
    create_surrogate_error,
)
from tactician.documents.lines import Place, PlaceBuilder

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}\n]|[^\s\[\]{}:,"]++')

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str, limits: DocumentLimits) -> Data:
    """Return the data of a JSON text.

    Raises:
        UnreadableTextError: when the text is not JSON, has a name twice in an object, or exceeds the limits.
    """
    check_text(text, limits)
    try:
        data: Data = json.loads(
            text, object_pairs_hook=_make_object, parse_constant=_refuse_constant, parse_float=parse_float
        )
    except json.JSONDecodeError as error:  # an exception that holds the text
        raise UnreadableTextError(f"it is not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise create_depth_error(limits) from None
    except _RepeatedNameError:
        locate_json(text)  # finds where that is
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise UnreadableTextError(f"it is not JSON: {error}") from None
    check_data(data, limits)
    if _SURROGATE.search(text):
        _check_texts(data)
    return data


def locate_json(text: str) -> Place:
    """Return the places of all values in a JSON text."""
    line, builder = 1, PlaceBuilder()
    for match in _TOKEN.finditer(text):
        match (token := match[0])[0]:
            case "\n":
                line += 1
            case "[" | "{":
                builder.open(line, is_object=token == "{")
            case "]" | "}":
                builder.close()
            case '"' if builder.expects_name:
                builder.name(json.loads(token), line)
            case _:
                builder.value(line)
    return builder.root


def parse_float(token: str) -> float:
    """Return the number of a token.

    Raises:
        UnreadableTextError: when the number is infinite or not a number.
    """
    if math.isfinite(number := float(token)):
        return number
    raise UnreadableTextError(f"{token[:40]} is {'not a number' if math.isnan(number) else 'too large a number'}")


class _RepeatedNameError(Exception):
    """Error for an object that has a name twice."""


def _make_object(pairs: list[tuple[str, Data]]) -> dict[str, Data]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _RepeatedNameError
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise UnreadableTextError(f"{name} is not a number")


def _check_texts(data: Data, path: DataPath = ()) -> None:
    """Check the texts that come from escapes."""
    if isinstance(data, str) and not data.isascii():
        try:
            data.encode()
        except UnicodeEncodeError:
            raise create_surrogate_error(path) from None
    elif isinstance(data, list):
        for place, item in enumerate(data):
            _check_texts(item, (*path, place))
    elif isinstance(data, dict):
        for name, item in data.items():
            _check_texts(name, path)
            _check_texts(item, (*path, name))
