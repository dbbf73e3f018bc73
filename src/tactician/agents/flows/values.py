"""Values that go from step to step, also over a pause."""

from __future__ import annotations

from typing import Final, cast, get_origin

from pydantic import JsonValue
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from tactician.llm import Text, UserMessage, text_of
from tactician.loop import InvalidOutput, output_type
from tactician.process import UserInput
from tactician.runs import Input, is_conversation, messages_of

_RAW: Final = (str, int, float, dict)


def accepted(value: object, wanted: object) -> object:
    """What a step gave, which has to be of the wanted type, or become it.

    Raises:
        InvalidOutput: when it does not.
    """
    if wanted is None or wanted is object or (isinstance(wanted, type) and isinstance(value, wanted)):
        return value
    try:
        return output_type(cast("type[object]", wanted)).accept(value)
    except PydanticUserError:  # a class that has no JSON form: all that can be seen is whether it is one
        if isinstance(value, cast("type[object]", get_origin(wanted) or wanted)):
            return value
        raise InvalidOutput(f"it is a {type(value).__name__}") from None


def fitting(value: object, hint: object) -> object:
    """A value for a parameter: text and JSON, as inputs come after a pause or from a model, become what it declares.

    Raises:
        InvalidOutput: when they cannot.
    """
    if hint in (str, UserInput) and (isinstance(value, str) or is_conversation(value)):
        text = text_of(messages_of(value))
        return text if hint is str else UserInput(text)
    return accepted(value, hint) if _is_raw(value) else value


def _is_raw(value: object) -> bool:
    return isinstance(value, _RAW) or (
        isinstance(value, list) and bool(value) and all(isinstance(one, _RAW) for one in value)
    )


def plain(input: Input) -> Input:
    """The input, where a single message of a user is its text: a run that has waited gets text as such a message."""
    messages = input if is_conversation(input) else [input]
    only = messages[0] if len(messages) == 1 else None
    is_text = isinstance(only, UserMessage) and all(isinstance(part, Text) for part in only.parts)
    return text_of(messages_of(only)) if is_text else input


class Kept:
    """What a step has returned, so that it need not run again."""

    def __init__(self, output: object, wanted: object) -> None:
        self._output = output
        self._wanted = wanted

    def saved(self) -> JsonValue:
        """It, as JSON; nothing, where nobody knew what it is when it is read: then the step runs again."""
        saved: JsonValue = to_jsonable_python(self._output)
        return {"output": saved} if self._wanted is not None or saved == self._output else {}
