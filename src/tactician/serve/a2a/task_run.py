"""Run of a task: the skill that a message asks for runs inside it, and its output is kept in the form of A2A."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from a2a.types import Message
from google.protobuf.json_format import ParseDict
from pydantic import JsonValue
from typing_extensions import override

from tactician.a2a import A2aMessage, create_parts, from_wire_message, to_json_object, to_wire_part
from tactician.agents import BaseRunnable
from tactician.errors import AgentNotFoundError
from tactician.runs import Input, RunContext, RunResult
from tactician.serve.a2a.skills import PublishedSkill, find_rejection_of

TASK_RUNS: Final = "a2a"
"""Name of all runs of tasks."""
_REJECTED: Final = "rejected"


class PublishedTask(BaseRunnable[object]):
    """Runnable of all tasks.

    The input is JSON: the id of the skill, and the message. The output is JSON too: the parts of the result, or of a
    direct reply, or why the task was rejected.

    Args:
        skills: returns the published skills by id.
    """

    def __init__(self, skills: Callable[[], Mapping[str, PublishedSkill]]) -> None:
        self.name = TASK_RUNS
        self.description = "Tasks of other programs"
        self._skills = skills

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        request = cast("Mapping[str, dict[str, JsonValue]]", input)
        message = from_wire_message(ParseDict(request["message"], Message()))
        if (skill := self._skills().get(str(request["skill"]))) is None:
            raise AgentNotFoundError(f"The skill {request['skill']!r} is not published here any more.")
        return RunResult(await _run_skill(skill, message, context), tally=context.tally, run_id=context.run_id)


async def _run_skill(skill: PublishedSkill, message: A2aMessage, context: RunContext) -> dict[str, JsonValue]:
    try:
        output = await skill.run(message, context)
    except Exception as error:
        if (rejected := find_rejection_of(error)) is None:
            raise
        return {_REJECTED: rejected.reason or str(rejected)}
    parts: list[JsonValue] = [to_json_object(to_wire_part(part)) for part in create_parts(output)]
    return {"reply" if isinstance(output, A2aMessage) else "parts": parts}


def is_rejection(output: str) -> bool:
    """Return whether the beginning of an output as text is that of a rejection."""
    return output.startswith(f'{{"{_REJECTED}":')
