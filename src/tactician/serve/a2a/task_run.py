"""Run of a task: the skill that a message asks for runs inside it, and its output is kept in the form of A2A."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NotRequired, cast

from a2a.types import Message, Role
from google.protobuf.json_format import ParseDict
from pydantic import JsonValue
from typing_extensions import TypedDict, override

from tactician.a2a import A2aMessage
from tactician.a2a.messages import create_parts
from tactician.a2a.wire import JsonObject, from_wire_message, to_json_object, to_wire_part
from tactician.agents import BaseRunnable
from tactician.errors import AgentNotFoundError, NoAgentFitsError
from tactician.guardrails import GuardrailError
from tactician.llm import AssistantMessage, Text, UserMessage
from tactician.llm import Message as LlmMessage
from tactician.platform import Autonomy
from tactician.runs import Input, OutputError, RunContext, RunResult
from tactician.serve.a2a.skills import PublishedSkill, find_rejection_of

TASK_RUNS: Final = "a2a"
"""Name of all runs of tasks."""
_REJECTED: Final = "rejected"
_NOTHING_FITS: Final = (
    "No skill fits the message. Say more exactly what you need, or name a skill as `skillId` in the metadata of the "
    "message: {}."
)


class _Request(TypedDict):
    skill: str
    message: JsonObject
    earlier: NotRequired[list[JsonObject]]
    candidates: NotRequired[list[str]]


class PublishedTask(BaseRunnable[object]):
    """Runnable of all tasks.

    The input is JSON: the id of the skill, or those to choose from, the message, and earlier messages of the
    conversation. The output is JSON too: the skill, and the parts of the result, or of a direct reply, or why the task
    was rejected.

    Args:
        skills: returns the published skills by id.
        autonomy: chooses the skill for a message that names none.
    """

    def __init__(self, skills: Callable[[], Mapping[str, PublishedSkill]], autonomy: Autonomy) -> None:
        self.name = TASK_RUNS
        self.description = "Tasks of other programs"
        self._skills = skills
        self._autonomy = autonomy

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        request = cast("_Request", input)
        message = from_wire_message(ParseDict(request["message"], Message()))
        earlier = [_read_earlier(message) for message in request.get("earlier", ())]
        try:
            skill = await self._find_skill(request, message, earlier)
        except (NoAgentFitsError, OutputError):
            output: dict[str, JsonValue] = {_REJECTED: _NOTHING_FITS.format(", ".join(request.get("candidates", ())))}
        else:
            output = {**await _run_skill(skill, message, earlier, context), "skill": skill.id}
        return RunResult(output, tally=context.tally, run_id=context.run_id)

    async def _find_skill(
        self, request: _Request, message: A2aMessage, earlier: Sequence[LlmMessage]
    ) -> PublishedSkill:
        """Return the skill that a request names, or the skill that fits its message best.

        Raises:
            AgentNotFoundError: when the skill is not published, or none fits.
            OutputError: when the model gives no valid ranking.
        """
        skills, skill_id = self._skills(), request["skill"]
        if not skill_id:
            listed = {name: _describe(skills.get(name)) for name in request.get("candidates", ())}
            conversation = [*earlier, UserMessage(message.as_user_parts())]
            skill_id = (await self._autonomy.choose_among(conversation, listed)).name
        if (skill := skills.get(skill_id)) is None:
            raise AgentNotFoundError(f"The skill {skill_id!r} is no longer published here.")
        return skill


def _describe(skill: PublishedSkill | None) -> str:
    """Return the purpose of a skill; a run keeps its candidates, also when a skill is no longer published."""
    return "" if skill is None else skill.description


def _read_earlier(message: JsonObject) -> UserMessage | AssistantMessage:
    wire_message = ParseDict(message, Message())
    parts = from_wire_message(wire_message).as_user_parts()
    if wire_message.role == Role.ROLE_USER:
        return UserMessage(parts)
    return AssistantMessage((Text("\n".join(part.text for part in parts if isinstance(part, Text))),))


async def _run_skill(
    skill: PublishedSkill, message: A2aMessage, earlier: Sequence[LlmMessage], context: RunContext
) -> dict[str, JsonValue]:
    try:
        output = await skill.run(message, earlier, context)
    except Exception as error:
        if isinstance(error, GuardrailError) and error.refuses_input:
            return {_REJECTED: str(error)}
        if (rejected := find_rejection_of(error)) is None:
            raise
        return {_REJECTED: rejected.reason or str(rejected)}
    parts: list[JsonValue] = [to_json_object(to_wire_part(part)) for part in create_parts(output)]
    return {"reply" if isinstance(output, A2aMessage) else "parts": parts}


def is_rejection(output: str) -> bool:
    """Return whether an output, written as text, begins like a rejection."""
    return output.startswith(f'{{"{_REJECTED}":')
