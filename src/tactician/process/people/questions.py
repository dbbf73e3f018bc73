"""Questions to people from inside an action: `ask_human` and `confirm`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import fields
from datetime import timedelta
from functools import partial
from sys import intern
from typing import Final, NamedTuple, TypeVar, cast
from zlib import crc32

import pydantic
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypeForm

from tactician.clock import LONGEST_WAIT
from tactician.errors import ConfigurationError, DeclarationError, Rejected, StoredStateError
from tactician.llm.model import JsonSchema
from tactician.loop.output import InvalidOutput
from tactician.process.people.forms import format_for_people, parse_answer, share_form
from tactician.runs import PendingRequest, RunContext
from tactician.runs.context.context import reset_current, set_current
from tactician.runs.outcomes.suspension import Approval, PendingKind, Suspended
from tactician.runs.progress.checkpoint import Checkpoint, Live, revive
from tactician.runs.requests.answers import StoredAnswer
from tactician.runs.values.differences import find_difference
from tactician.runs.values.stored_values import decode_value, encode_value

T = TypeVar("T")
_CONFIRMATION: Final[JsonSchema] = {"type": "boolean"}
_NO_DEFAULT = object()
_DECISION: Final = {field.name for field in fields(Approval)}


class _Terms(NamedTuple):
    """Terms of a question: its deadline, who may answer it, and its name.

    Attributes:
        deadline: how long to wait; without an end, when `None`.
        default: the answer then.
        required_role: role that a person needs to answer.
        key: name of the question.
    """

    deadline: timedelta | None
    default: object
    required_role: str | None
    key: str | None


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
        """Return the checkpoint of a question: the next, or, of several tasks, the same question's."""
        assert self.run.checkpoint is not None
        is_next = asyncio.current_task() is self._task
        return self.run.checkpoint.child("asked" if is_next else f"asked-{crc32(f'{kind} {prompt}'.encode()):08x}")


def allow_questions(run: RunContext) -> AbstractContextManager[list[PendingRequest]]:
    """Enter a run in which `ask_human` and `confirm` may be called, with the list of questions without an answer."""
    return _Asking(run)


async def ask_human(
    kind: TypeForm[T],
    prompt: str,
    *,
    deadline: timedelta | None = None,
    default: T | object = _NO_DEFAULT,
    required_role: str | None = None,
    key: str | None = None,
) -> T:
    """Ask a person, and return the answer as an object of the expected type. Call it in an action.

    The process waits, with a form that is made of the type, until somebody responds. Then the action is run again from
    its beginning, and gets the answer here.

    Args:
        kind: type of the answer: a pydantic model, a dataclass, an enum, text ...
        prompt: the question.
        deadline: how long to wait; without an end, when `None`.
        default: the answer when nobody has responded in time; needed with a deadline.
        required_role: role that a person needs to answer, such as `"manager"`; anybody may, when `None`.
        key: name of the question for programs that show it, such as `"user_name"`; letters, digits, `_`, `.` and `-`.

    Raises:
        Rejected: when somebody rejects it: `platform.respond(id, request_id, reject("why"))`.
        ConfigurationError: outside of actions, for a deadline without a default, a negative deadline, or a blank role.
        DeclarationError: when the arguments are in the wrong order.
    """
    _check_order(f"ask_human({getattr(prompt, '__name__', 'Answer')}, {kind!r})", isinstance(kind, str), prompt)
    return await _ask(
        "form", kind, prompt, share_form(cast(Hashable, kind)), _Terms(deadline, default, required_role, key)
    )


async def confirm(
    subject: object,
    prompt: str,
    *,
    deadline: timedelta | None = None,
    default: bool = False,
    required_role: str | None = None,
    key: str | None = None,
) -> bool:
    """Ask a person for agreement. Call it in an action; `subject` is shown with the prompt.

    `True` and `False` answer it, and so do `approve()` and `reject("why")`.

    Args:
        subject: what the person has to agree to; `None` for nothing but the prompt.
        prompt: the question.
        deadline: how long to wait; without an end, when `None`.
        default: the answer when nobody has responded in time.
        required_role: role that a person needs to answer, such as `"manager"`; anybody may, when `None`.
        key: name of the question for programs that show it, such as `"user_name"`; letters, digits, `_`, `.` and `-`.

    Raises:
        ConfigurationError: outside of actions, for a deadline that is no time from 0 up, or a blank role.
        DeclarationError: when the arguments are in the wrong order.
    """
    _check_order(f"confirm(..., {subject!r})", False, prompt)
    shown = f"{prompt}\n\n{format_for_people(subject)}" if subject is not None else prompt
    fallback = default if deadline is not None else _NO_DEFAULT
    return await _ask("confirmation", bool, shown, _CONFIRMATION, _Terms(deadline, fallback, required_role, key))


def _check_order(right: str, is_wrong: bool, prompt: object) -> None:
    """Raise when a prompt stands where something else belongs.

    Raises:
        DeclarationError: with the call as it should be.
    """
    if is_wrong or not isinstance(prompt, str):
        raise DeclarationError(right.partition("(")[0], [f"the prompt is the second argument, a text: {right[:200]}"])


async def _ask(
    kind: PendingKind,
    answer_type: TypeForm[T],
    prompt: str,
    schema: JsonSchema,
    terms: _Terms,
) -> T:
    asking = None if (current := RunContext.find_current()) is None else current.find(_Asking)
    if asking is None or asking.run.checkpoint is None:
        raise ConfigurationError(
            "People can be asked only from inside an action of a planned agent, or a step of a flow."
        )
    _check_terms(answer_type, prompt, terms)
    run, asked = asking.run, asking.checkpoint(kind, prompt)
    problem = None
    try:
        if asked.path in run.responses:
            return _accept_answer(asked, kind, answer_type, prompt, run.responses[asked.path])
        if (saved := _find_kept(asked, answer_type, prompt)) is not None:
            return saved[0]
    except (InvalidOutput, StoredStateError) as error:
        problem = str(error)
    raise create_suspension(_create_request(asked, kind, run, prompt, schema, terms, problem))


def create_suspension(request: PendingRequest) -> Suspended:
    """Return what the caller raises to let its run wait for an answer, beside all that its action waits for."""
    current = RunContext.find_current()
    if current is not None and (asking := current.find(_Asking)) is not None:
        asking.open.append(request)
    return Suspended(request)


def _accept_answer(asked: Checkpoint, kind: PendingKind, answer_type: TypeForm[T], prompt: str, response: object) -> T:
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
        raise InvalidOutput("it is approved, but the requested values are missing")
    elif decision is not None:
        asked.set(rejected=decision.reason)
        raise Rejected(prompt, decision.reason)
    answer = _parse(answer_type, response)
    asked.set(answer=Live.create(answer, partial(encode_value, kind=answer_type), is_saved=asked.journal is not None))
    return answer


def _parse(kind: TypeForm[T], response: object) -> T:
    """Return the object that an answer means, also when it was stored as an object.

    Raises:
        InvalidOutput: when the answer is not valid.
        StoredStateError: when another object was stored.
    """
    if isinstance(response, StoredAnswer):
        return cast("T", response.restore(kind))
    return parse_answer(kind, response)


def _find_kept(asked: Checkpoint, kind: TypeForm[T], prompt: str) -> tuple[T] | None:
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


def _check_terms(answer_type: TypeForm[object], prompt: str, terms: _Terms) -> None:
    if terms.deadline is not None:
        _check_deadline(prompt, terms.deadline, terms.default)
    if terms.default is not _NO_DEFAULT:
        _check_default(answer_type, prompt, terms.default)
    if terms.required_role is not None and not terms.required_role.strip():
        raise ConfigurationError(f"{prompt!r}: required_role is blank: name the role, or leave it out")
    if terms.key is not None and re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", terms.key) is None:
        raise ConfigurationError(
            f"{prompt!r}: the key is {terms.key!r}; use up to 64 letters, digits, '_', '.' and '-'"
        )


def _check_deadline(prompt: str, deadline: object, default: object) -> None:
    if not isinstance(deadline, timedelta) or not 0 <= deadline.total_seconds() <= LONGEST_WAIT:
        raise ConfigurationError(
            f"{prompt!r}: the deadline is {deadline!r}; write how long to wait, as in timedelta(hours=2)"
        )
    if default is _NO_DEFAULT:
        raise ConfigurationError(
            f"{prompt!r}: a deadline needs a default, the answer when nobody has responded in time"
        )


def _check_default(kind: TypeForm[T], prompt: str, default: object) -> None:
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
    terms: _Terms,
    problem: str | None,
) -> PendingRequest:
    until, deadline, default = None, terms.deadline, terms.default
    if deadline is not None:
        saved_deadline = asked.data.get("deadline")
        until = (
            float(saved_deadline)
            if isinstance(saved_deadline, int | float)
            else run.clock.time() + deadline.total_seconds()
        )
        asked.set(deadline=until)  # it stays when the action is run again
    answer: pydantic.JsonValue = None if default is _NO_DEFAULT else to_jsonable_python(default)
    return PendingRequest(
        intern(asked.path),
        kind,
        prompt,
        path=run.path,
        schema=schema,
        deadline=until,
        default=answer,
        problem=problem,
        required_role=terms.required_role,
        key=terms.key,
    )
