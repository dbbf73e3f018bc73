"""Stored inputs of runs. An input that cannot be read back equal is refused when its run starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, cast

import pydantic

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.llm.messages import messages_from_data, messages_to_data
from tactician.runs.progress.checkpoint import Live, revive
from tactician.runs.runnable import Input, is_conversation, is_message, messages_of
from tactician.runs.values.differences import find_difference
from tactician.runs.values.stored_values import decode_value, encode_value
from tactician.stores.checks import translate_json_errors


@frozen
class InputTypes:
    """Types that a Runnable declares for its input.

    Text, messages and JSON need no declaration: they are stored as they are.

    Attributes:
        types: types of objects that it takes.
        reads_messages: true when it reads any other object as messages, and so does all that it gives its input to.
    """

    types: tuple[object, ...] = ()
    reads_messages: bool = False

    @classmethod
    def combine(cls, parts: Iterable[InputTypes]) -> InputTypes:
        """Return the types of the input of a Runnable that gives its input to several others."""
        all_parts = tuple(parts)
        types = dict.fromkeys(kind for part in all_parts for kind in part.types)
        return cls(tuple(types), all(part.reads_messages for part in all_parts))


NO_TYPES: Final = InputTypes()
READS_MESSAGES: Final = InputTypes(reads_messages=True)


def save_input(input: Input, name: str, declared: InputTypes, *, is_saved: bool) -> Live[Input]:
    """Return an input as a value of the beginning of a run.

    Args:
        input: the input.
        name: name of the run, for errors.
        declared: types that the Runnable declares.
        is_saved: true for a run in a durable store.

    Raises:
        StoredStateError: when the run is saved, and its input would not be read back equal.
    """
    return Live.create(input, partial(_encode, name=name, declared=declared), is_saved=is_saved)


def restore_input(saved: object, declared: InputTypes) -> Input:
    """Return the input that `save_input` made a value of the beginning of a run.

    Raises:
        StoredStateError: when it cannot be read.
    """
    return revive(saved, partial(_decode, declared=declared))


def _encode(input: Input, name: str, declared: InputTypes) -> Mapping[str, object]:
    try:
        return _encode_messages(input) or _encode_objects(input, declared)
    except StoredStateError as refusal:
        if not declared.reads_messages:
            raise StoredStateError(f"The input of {name}: {refusal}") from refusal
    with translate_json_errors(f"The input of {name}"):
        return _encode_messages(messages_of(input))


def _encode_messages(input: Input) -> Mapping[str, object]:
    """Return the form of a message or of several; nothing for any other input."""
    if is_message(input):
        return {"message": messages_to_data([input])[0]}
    if is_conversation(input):
        return {"messages" if isinstance(input, list) else "message_tuple": messages_to_data(input)}
    return {}


def _encode_objects(input: Input, declared: InputTypes) -> Mapping[str, object]:
    """Return the form of JSON, of an object of a declared type, or of a tuple of such.

    Raises:
        StoredStateError: when none of them reads it back equal.
    """
    refusals: list[StoredStateError] = []
    for key, kind in (("value", object), *(("object", kind) for kind in declared.types)):
        try:
            plain = encode_value(input, kind)
            if key == "value" or find_difference(input, _decode_object(plain, declared)) is None:
                return {key: plain}
        except StoredStateError as refusal:
            refusals.append(refusal)
    if type(input) is tuple:  # several objects
        return {"objects": [_encode_messages(part) or _encode_objects(part, declared) for part in input]}
    raise refusals[-1]


def _decode(saved: object, declared: InputTypes) -> Input:
    match saved:
        case {"value": value}:
            return cast("Input", value)
        case {"message": message}:
            return messages_from_data([message])[0]
        case {"messages": messages}:
            return list(messages_from_data(messages))
        case {"message_tuple": messages}:
            return tuple(messages_from_data(messages))
        case {"object": value}:
            return _decode_object(value, declared)
        case {"objects": parts}:
            return tuple(_decode(part, declared) for part in parts)
    raise StoredStateError("The input of the run cannot be read: its form is unknown.")


def _decode_object(value: pydantic.JsonValue, declared: InputTypes) -> object:
    refusals: list[StoredStateError] = []
    for kind in declared.types:
        try:
            return decode_value(value, kind)
        except StoredStateError as refusal:
            refusals.append(refusal)
    reasons = "; ".join(map(str, refusals)) or "the Runnable no longer declares a type for its input"
    raise StoredStateError(f"The input of the run cannot be read: {reasons}")
