"""Questions to people from inside an action, and the forms for their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from datetime import timedelta
from functools import lru_cache, partial
from sys import intern
from typing import Final, TypeVar, cast
from zlib import crc32

import pydantic
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from tactician.clock import LONGEST_WAIT
from tactician.errors import ConfigurationError, DeclarationError, Rejected, StoredStateError
from tactician.llm import JsonSchema
from tactician.loop import InvalidOutput, OutputType, output_type
from tactician.process.display import format_for_people
from tactician.runs import (
    Approval,
    Checkpoint,
    Live,
    PendingKind,
    PendingRequest,
    RunContext,
    StoredAnswer,
    Suspended,
    decode_value,
    encode_value,
    find_difference,
    reset_current,
    revive,
    set_current,
)

T = TypeVar("T")
HINTS: Final = "x-form"
_ONLY: Final = "value"
_CONFIRMATION: Final[JsonSchema] = {"type": "boolean"}
_LONG_TEXT = 200
_WIDGETS = {"boolean": "checkbox", "integer": "number", "number": "number", "array": "list", "object": "group"}
_FORMATS = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "email": "email",
    "uri": "url",
    "password": "password",
}


def build_form(kind: type) -> JsonSchema:
    """Build the form of a type: its schema, in which each field has hints under `x-form`.

    The hints are `widget`, `label`, `help` and `order`, and `optional` where the field may be left out. The widgets are
    `text`, `textarea`, `number`, `checkbox`, `select`, `list`, `group`, and those of formats such as `date`. A type
    that is not an object has a form with a single field, `value`.
    """
    schema = _schema_of(cast(Hashable, kind))
    definitions = cast("Mapping[str, object]", schema.get("$defs", {}))
    if _has_one_field(schema):
        field = {name: value for name, value in schema.items() if name != "$defs"}
        form: JsonSchema = {"type": "object", "properties": {_ONLY: field}, "required": [_ONLY]}
        schema = {**form, "additionalProperties": False, **({"$defs": definitions} if definitions else {})}
    properties = cast("Mapping[str, Mapping[str, object]]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    hinted = {
        name: {
            **field,
            HINTS: _build_hints(name, field, definitions, order) | ({} if name in required else {"optional": True}),
        }
        for order, (name, field) in enumerate(properties.items())
    }
    return {**schema, "properties": hinted}


def parse_answer(kind: type[T], response: object) -> T:
    """Return the object that an answer to the form of a type means.

    The answer has the shape of the form, or is the object itself.

    Raises:
        InvalidOutput: when the answer is neither.
    """
    # Without an output type this is typed as text, and T is str then.
    expected = cast("OutputType[T]", output_type(kind))
    filled_in = isinstance(response, Mapping) and response.keys() == {_ONLY}
    if not filled_in or not _has_one_field(_schema_of(cast(Hashable, kind))):
        return _accept(expected, response)
    try:
        return _accept(expected, cast("Mapping[str, object]", response)[_ONLY])
    except InvalidOutput as error:
        try:
            return expected.accept(response)  # a union may have a part with just this field
        except InvalidOutput:
            raise error from None


def find_text_request(pending: Sequence[PendingRequest]) -> PendingRequest | None:
    """Return the only request that somebody waits for, if any text is an answer to it."""
    if len(pending) != 1 or pending[0].kind != "form":
        return None
    properties = (pending[0].schema or {}).get("properties")
    only = properties.get(_ONLY) if isinstance(properties, Mapping) and properties.keys() == {_ONLY} else None
    is_text = isinstance(only, Mapping) and only.get("type") == "string" and not {"enum", "format"} & only.keys()
    return pending[0] if is_text else None


def build_label(name: str, field: Mapping[str, object]) -> str:
    """Return the label of a field: its explicit title, if any."""
    plain = name.replace("_", " ").capitalize()
    title = str(field.get("title") or plain)
    return plain if title.lower() == plain.lower() else title  # pydantic derives a missing title from the name


def _accept(expected: OutputType[T], response: object) -> T:
    try:
        return expected.accept(response)
    except InvalidOutput as error:
        if not isinstance(response, dict | list):
            raise
        try:
            return expected.parse(to_json(response).decode())  # where JSON means more than the same Python objects
        except PydanticSerializationError:
            raise error from None


@lru_cache(maxsize=512)
def _share_form(kind: Hashable) -> JsonSchema:
    """Return the form of a type, the same object for all who are asked."""
    return build_form(cast("type", kind))


@lru_cache(maxsize=512)
def _schema_of(kind: Hashable) -> JsonSchema:
    adapter: pydantic.TypeAdapter[object] = pydantic.TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which is hashable
    schema = adapter.json_schema()
    if not isinstance(schema.get("$ref"), str):
        return schema
    definitions = cast("Mapping[str, Mapping[str, object]]", schema["$defs"])  # the type contains itself
    return {**_resolve(schema, definitions), "$defs": definitions}


def _has_one_field(schema: JsonSchema) -> bool:
    return schema.get("type") != "object"


def _build_hints(
    name: str, field: Mapping[str, object], definitions: Mapping[str, object], order: int
) -> dict[str, object]:
    hints: dict[str, object] = {
        "widget": _choose_widget(_resolve(field, definitions)),
        "label": build_label(name, field),
        "order": order,
    }
    return {**hints, "help": field["description"]} if "description" in field else hints


def _resolve(field: Mapping[str, object], definitions: Mapping[str, object]) -> Mapping[str, object]:
    """Return the field without references, and without the null that it may be instead."""
    if isinstance(reference := field.get("$ref"), str):
        return cast("Mapping[str, object]", definitions.get(reference.removeprefix("#/$defs/"), {}))
    if isinstance(choices := field.get("anyOf") or field.get("oneOf"), list):
        others = [choice for choice in choices if choice.get("type") != "null"]
        return _resolve(others[0], definitions) if len(others) == 1 else field
    return field


def _choose_widget(field: Mapping[str, object]) -> str:
    if "enum" in field or "const" in field:
        return "select"
    kind = field.get("type")
    if kind == "string":
        longest = field.get("maxLength")
        is_long = isinstance(longest, int) and longest > _LONG_TEXT
        return _FORMATS.get(str(field.get("format")), "textarea" if is_long else "text")
    return _WIDGETS.get(str(kind), "text")


_NO_DEFAULT = object()
_DECISION: Final = {field.name for field in fields(Approval)}


class _Asking:
    """Context manager in which a run may ask people.

    Attributes:
        run: the run, whose checkpoint has the answers.
        open: questions that are not answered yet.
    """

    __slots__ = ("_task", "_token", "open", "run")

    def __init__(self, run: RunContext) -> None:
        self.run = run
        self.open: list[PendingRequest] = []
        self._task = asyncio.current_task()  # of the run itself; it may begin others

    def __enter__(self) -> list[PendingRequest]:
        self._token = set_current(self.run.inside({_Asking: self}))
        return self.open

    def __exit__(self, *_: object) -> None:
        reset_current(self._token)

    def checkpoint(self, kind: PendingKind, prompt: str) -> Checkpoint:
        """Return the checkpoint of a question: the next, or, of several tasks, that of the same question."""
        assert self.run.checkpoint is not None
        is_next = asyncio.current_task() is self._task
        return self.run.checkpoint.child("asked" if is_next else f"asked-{crc32(f'{kind} {prompt}'.encode()):08x}")


def allow_questions(run: RunContext) -> AbstractContextManager[list[PendingRequest]]:
    """Enter a run in which `ask_human` and `confirm` may be called, with the list of questions without an answer."""
    return _Asking(run)


async def ask_human(
    kind: type[T], prompt: str, *, deadline: timedelta | None = None, default: T | object = _NO_DEFAULT
) -> T:
    """Ask a person, and return the answer as an object of the expected type. Call it in an action.

    The process waits, with a form that is made of the type, until somebody responds. Then the action is run again from
    its beginning, and gets the answer here.

    Args:
        kind: type of the answer: a pydantic model, a dataclass, an enum, text ...
        prompt: the question.
        deadline: how long to wait; without an end, when `None`.
        default: the answer when nobody has responded in time; needed with a deadline.

    Raises:
        Rejected: when somebody rejects it: `platform.respond(id, request_id, reject("why"))`.
        ConfigurationError: outside of actions, or for a deadline without a default, or with a negative deadline.
        DeclarationError: when the arguments are in the wrong order.
    """
    _check_order(f"ask_human({getattr(prompt, '__name__', 'Answer')}, {kind!r})", isinstance(kind, str), prompt)
    return await _ask("form", kind, prompt, _share_form(cast(Hashable, kind)), deadline, default)


async def confirm(subject: object, prompt: str, *, deadline: timedelta | None = None, default: bool = False) -> bool:
    """Ask a person for agreement. Call it in an action; `subject` is shown with the prompt.

    `True` and `False` answer it, and so do `approve()` and `reject("why")`.

    Raises:
        ConfigurationError: outside of actions, or for a deadline that is no time from 0 up.
        DeclarationError: when the arguments are in the wrong order.
    """
    _check_order(f"confirm(..., {subject!r})", False, prompt)
    shown = f"{prompt}\n\n{format_for_people(subject)}" if subject is not None else prompt
    fallback = default if deadline is not None else _NO_DEFAULT
    return await _ask("confirmation", bool, shown, _CONFIRMATION, deadline, fallback)


def _check_order(right: str, is_wrong: bool, prompt: object) -> None:
    """Raise when a prompt stands where something else belongs.

    Raises:
        DeclarationError: with the call as it should be.
    """
    if is_wrong or not isinstance(prompt, str):
        raise DeclarationError(right.partition("(")[0], [f"the prompt is the second argument, a text: {right[:200]}"])


async def _ask(
    kind: PendingKind,
    answer_type: type[T],
    prompt: str,
    schema: JsonSchema,
    deadline: timedelta | None,
    default: object,
) -> T:
    asking = None if (current := RunContext.find_current()) is None else current.find(_Asking)
    if asking is None or asking.run.checkpoint is None:
        raise ConfigurationError(
            "People can be asked only from inside an action of a planned agent, or a step of a flow."
        )
    if deadline is not None:
        _check_deadline(prompt, deadline, default)
    if default is not _NO_DEFAULT:
        _check_default(answer_type, prompt, default)
    run, asked = asking.run, asking.checkpoint(kind, prompt)
    problem = None
    try:
        if asked.path in run.responses:
            return _accept_answer(asked, kind, answer_type, prompt, run.responses[asked.path])
        if (saved := _find_kept(asked, answer_type, prompt)) is not None:
            return saved[0]
    except (InvalidOutput, StoredStateError) as error:
        problem = str(error)
    request = _create_request(asked, kind, run, prompt, schema, deadline, default, problem)
    asking.open.append(request)
    raise Suspended(request)


def _accept_answer(asked: Checkpoint, kind: PendingKind, answer_type: type[T], prompt: str, response: object) -> T:
    """Return the meaning of a response, and keep it: the action may be run again because of another question.

    Raises:
        Rejected: when the response is a rejection.
        InvalidOutput: when the response is not a valid answer.
        StoredStateError: when the process is saved, and the answer would not be read back equal.
    """
    decision = _parse_decision(response)
    if decision is not None and kind == "confirmation":
        response = decision.granted
    elif decision is not None and decision.granted:
        raise InvalidOutput("it is approved, but what is asked for is missing")
    elif decision is not None:
        asked.set(rejected=decision.reason)
        raise Rejected(prompt, decision.reason)
    answer = _parse(answer_type, response)
    asked.set(answer=Live.create(answer, partial(encode_value, kind=answer_type), is_saved=asked.journal is not None))
    return answer


def _parse(kind: type[T], response: object) -> T:
    """Return the object that an answer means, also when it was stored as an object.

    Raises:
        InvalidOutput: when the answer is not valid.
        StoredStateError: when another object was stored.
    """
    if isinstance(response, StoredAnswer):
        return cast("T", response.restore(kind))
    return parse_answer(kind, response)


def _find_kept(asked: Checkpoint, kind: type[T], prompt: str) -> tuple[T] | None:
    """Return the answer that the action got before it was run again, or `None`.

    Raises:
        Rejected: when it was a rejection.
        StoredStateError: when it is not of the type that is asked for now.
    """
    if (reason := asked.data.get("rejected")) is not None:
        raise Rejected(prompt, str(reason))
    if (saved := asked.data.get("answer")) is None:
        return None
    return (cast("T", revive(saved, lambda value: decode_value(cast("pydantic.JsonValue", value), kind))),)


def _parse_decision(response: object) -> Approval | None:
    """Return the response if it is a decision, also when it was stored as JSON; `None` for any other answer."""
    if isinstance(response, dict) and response.keys() == _DECISION:
        return Approval(response["granted"] is True, str(response["reason"]))
    return response if isinstance(response, Approval) else None


def _check_deadline(prompt: str, deadline: object, default: object) -> None:
    if not isinstance(deadline, timedelta) or not 0 <= deadline.total_seconds() <= LONGEST_WAIT:
        raise ConfigurationError(
            f"{prompt!r}: the deadline is {deadline!r}; write how long to wait, as in timedelta(hours=2)"
        )
    if default is _NO_DEFAULT:
        raise ConfigurationError(
            f"{prompt!r}: a deadline needs a default, the answer when nobody has responded in time"
        )


def _check_default(kind: type[T], prompt: str, default: object) -> None:
    try:
        answer = parse_answer(kind, default)
        read = parse_answer(kind, to_jsonable_python(default))
    except (InvalidOutput, PydanticSerializationError) as error:
        raise ConfigurationError(f"{prompt!r}: the default is not a valid answer: {error}") from error
    if (difference := find_difference(answer, read)) is not None:
        raise ConfigurationError(
            f"{prompt!r}: the default is kept as JSON, and `{type(default).__name__}{difference.path}` would not be "
            "read back equal: write the default as JSON, in the shape of the form"
        )


def _create_request(
    asked: Checkpoint,
    kind: PendingKind,
    run: RunContext,
    prompt: str,
    schema: JsonSchema,
    deadline: timedelta | None,
    default: object,
    problem: str | None,
) -> PendingRequest:
    until: float | None = None
    if deadline is not None:
        known = asked.data.get("deadline")
        until = float(known) if isinstance(known, int | float) else run.clock.time() + deadline.total_seconds()
        asked.set(deadline=until)  # it stays when the action is run again
    answer: pydantic.JsonValue = None if default is _NO_DEFAULT else to_jsonable_python(default)
    return PendingRequest(intern(asked.path), kind, prompt, None, run.path, schema, until, answer, problem)
