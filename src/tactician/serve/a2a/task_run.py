"""Run of a task: the skill that a message asks for runs inside it, and its output is kept in the form of A2A."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NotRequired, cast

from a2a.types import Message, Role
from google.protobuf.json_format import ParseDict
from pydantic import JsonValue
from typing_extensions import TypedDict, override

from tactician.a2a import A2aMessage, JsonObject, create_parts, from_wire_message, to_json_object, to_wire_part
from tactician.agents import BaseRunnable
from tactician.errors import AgentNotFoundError
from tactician.llm import AssistantMessage, Text, UserMessage
from tactician.llm import Message as LlmMessage
from tactician.runs import Input, RunContext, RunResult
from tactician.serve.a2a.skills import PublishedSkill, find_rejection_of

TASK_RUNS: Final = "a2a"
"""Name of all runs of tasks."""
_REJECTED: Final = "rejected"


class _Request(TypedDict):
    skill: str
    message: JsonObject
    earlier: NotRequired[list[JsonObject]]


class PublishedTask(BaseRunnable[object]):
    """Runnable of all tasks.

    The input is JSON: the id of the skill, the message, and earlier messages of the conversation. The output is JSON
    too: the parts of the result, or of a direct reply, or why the task was rejected.

    Args:
        skills: returns the published skills by id.
    """

    def __init__(self, skills: Callable[[], Mapping[str, PublishedSkill]]) -> None:
        self.name = TASK_RUNS
        self.description = "Tasks of other programs"
        self._skills = skills

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        request = cast("_Request", input)
        message = from_wire_message(ParseDict(request["message"], Message()))
        earlier = [_read_earlier(message) for message in request.get("earlier", ())]
        if (skill := self._skills().get(request["skill"])) is None:
            raise AgentNotFoundError(f"The skill {request['skill']!r} is not published here any more.")
        output = await _run_skill(skill, message, earlier, context)
        return RunResult(output, tally=context.tally, run_id=context.run_id)


def _read_earlier(message: JsonObject) -> UserMessage | AssistantMessage:
    known = ParseDict(message, Message())
    parts = from_wire_message(known).as_user_parts()
    if known.role == Role.ROLE_USER:
        return UserMessage(parts)
    return AssistantMessage((Text("\n".join(part.text for part in parts if isinstance(part, Text))),))


async def _run_skill(
    skill: PublishedSkill, message: A2aMessage, earlier: Sequence[LlmMessage], context: RunContext
) -> dict[str, JsonValue]:
    try:
        output = await skill.run(message, earlier, context)
    except Exception as error:
        if (rejected := find_rejection_of(error)) is None:
            raise
        return {_REJECTED: rejected.reason or str(rejected)}
    parts: list[JsonValue] = [to_json_object(to_wire_part(part)) for part in create_parts(output)]
    return {"reply" if isinstance(output, A2aMessage) else "parts": parts}


def is_rejection(output: str) -> bool:
    """Return whether the beginning of an output as text is that of a rejection."""
    return output.startswith(f'{{"{_REJECTED}":')
