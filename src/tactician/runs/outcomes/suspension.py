"""Suspension of a run: what the run waits for, and the responses to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import pydantic

from tactician.frozen import frozen
from tactician.llm import ToolCall
from tactician.llm.model import JsonSchema

PendingKind: TypeAlias = Literal["approval", "tool", "form", "confirmation", "reply"]


@frozen
class Withdrawal:
    """Message that cancels the work of another program, which somebody has to send when the run is killed.

    Attributes:
        sender: name of those who may send it, such as the queue of a node.
        content: the message, as the sender reads it.
    """

    sender: str
    content: pydantic.JsonValue


@frozen
class PendingRequest:
    """Something that a waiting run needs from outside.

    Attributes:
        id: by what a response names it; unique within the run.
        kind: `"approval"` (may this tool be called?), `"tool"` (call this tool, and say what it gave), `"form"` (fill
            this in), `"confirmation"` (yes or no), or `"reply"` (the reply of another program, which no person gives).
        prompt: what is asked, for a person.
        call: the tool call that waits, if any.
        path: the names of the runs that led here, outermost first.
        schema: the JSON schema of the tool's arguments, or of the answer.
        deadline: when the default answer is taken, in seconds since the epoch; never, when `None`.
        default: that answer, as JSON.
        problem: what was wrong with the last answer.
        is_answered: true when an answer is kept that the run has not taken yet.
        required_role: the role that is needed to answer; `None` for any.
        key: the name of the question for programs that show it, if it has one.
        client_request: method and parameters of a request that an MCP client answers in place of a person.
        withdrawal: of a request of the kind `"reply"`, the message that cancels the work for which the run waits.
    """

    id: str
    kind: PendingKind
    prompt: str
    call: ToolCall | None = None
    path: tuple[str, ...] = ()
    schema: JsonSchema | None = None
    deadline: float | None = None
    default: pydantic.JsonValue = None
    problem: str | None = None
    is_answered: bool = False
    required_role: str | None = None
    key: str | None = None
    client_request: Mapping[str, pydantic.JsonValue] | None = None
    withdrawal: Withdrawal | None = None

    @property
    def is_for_people(self) -> bool:
        """True when a person or the caller may answer; false for the reply of another program."""
        return self.kind != "reply"

    def is_overdue(self, now: float) -> bool:
        """Return whether nobody has answered in time, so that the default is the answer."""
        return not self.is_answered and self.deadline is not None and self.deadline <= now

    def mask(self) -> PendingRequest:
        """Return the request as people and other programs read it: with masks for secrets in its prompt and problem.

        The arguments of a call stay: a person who may answer decides about these, and may send them back with changes.
        """
        from tactician.secrets import mask_secrets

        problem = None if self.problem is None else mask_secrets(self.problem)
        return replace(self, prompt=mask_secrets(self.prompt), problem=problem)

    def mark_answered(self) -> PendingRequest:
        """Return the request with an answer that is kept."""
        return replace(self, is_answered=True, problem=None)


def list_prompts(pending: Iterable[PendingRequest]) -> str:
    """Return what requests ask, in a single line."""
    return "; ".join(request.prompt for request in pending)


@frozen
class Approval:
    """The decision about a tool call, or about what a person is asked. Created by `approve` or `reject`.

    Attributes:
        granted: true when the tool is to be called.
        reason: why not; passed on to the model, or to the action that asked.
        arguments: other arguments than the model's.
    """

    granted: bool
    reason: str = ""
    arguments: Mapping[str, object] | None = None


def approve(arguments: Mapping[str, object] | None = None) -> Approval:
    """Approve a tool call, with the model's arguments or these. For `confirm` it means yes."""
    return Approval(True, arguments=arguments)


def reject(reason: str = "") -> Approval:
    """Reject a tool call, with a reason for the model. For `confirm` it means no, for `ask_human` no answer."""
    return Approval(False, reason)


Response: TypeAlias = object
"""To an `"approval"`: an `Approval`, or `True` or `False`, or what the tool gave when the caller has called it itself.
To a `"tool"`: what the tool gave, as text or any object that has a JSON form; an exception tells that it failed.
To a `"form"`: JSON in its shape, or the object itself; to a `"confirmation"`: `True` or `False`. To both, `reject`.
To a `"reply"`: JSON."""


class ReportedError(Exception):
    """Error that a tool of the caller raised, as it was reported and stored: its type and message."""


class Suspended(BaseException):
    """Suspension of a run that has to wait, raised up to the outermost run, which saves it.

    Like a cancellation, it is not an `Exception`, so that code of users does not catch it.
    """

    def __init__(self, *pending: PendingRequest) -> None:
        super().__init__(", ".join(request.id for request in pending))
        self.pending = pending


def find_suspension(error: BaseException) -> Suspended | None:
    """Return an error as a suspension, or merge a group of nothing but suspensions."""
    if isinstance(error, Suspended):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    pauses = [find_suspension(exception) for exception in error.exceptions]
    if None in pauses:
        return None
    return Suspended(*(request for pause in pauses if pause is not None for request in pause.pending))
