"""Skills that a platform publishes: exported goals, and Runnables that were chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue, TypeAdapter
from pydantic_core import to_json

from tactician.a2a import A2aMessage
from tactician.errors import InvalidArgumentsError, Rejected
from tactician.llm import Message, UserMessage
from tactician.llm.model import JsonSchema
from tactician.platform import Platform
from tactician.platform.goal_tools import GoalTool
from tactician.runs import Input, RunContext, Runnable
from tactician.runs.life.inputs import InputTypes
from tactician.suggestions import did_you_mean
from tactician.text import snake_case


class PublishedSkill(ABC):
    """Skill as other programs see it.

    Attributes:
        id: id on the card.
        name: name on the card.
        description: purpose.
    """

    id: str
    name: str
    description: str

    @abstractmethod
    async def run(self, message: A2aMessage, earlier: Sequence[Message], context: RunContext) -> object:
        """Run the skill, as a part of a run, and return its output.

        Args:
            message: the message to answer.
            earlier: earlier messages of the conversation, and answers of the skill.
            context: the context of the run.

        Raises:
            Rejected: when the message does not fit.
        """


class RunnableSkill(PublishedSkill):
    """Runnable as a skill. It gets text, data, or a message with files; or the whole message, if it declares that.

    Where it declares no input, it also gets the earlier messages of the conversation.
    """

    def __init__(self, runnable: Runnable) -> None:
        self.id = snake_case(runnable.name)
        self.name = runnable.name
        self.description = runnable.description
        self._runnable = runnable

    async def run(self, message: A2aMessage, earlier: Sequence[Message], context: RunContext) -> object:
        """Run the Runnable, and return its output."""
        return (await self._runnable.run(self._create_input(message, earlier), context=context)).output

    def _create_input(self, message: A2aMessage, earlier: Sequence[Message]) -> Input:
        declared: InputTypes = getattr(self._runnable, "input_types", InputTypes())
        if A2aMessage in declared.types:
            return message
        if declared.types or not earlier:
            return message.to_input()
        return [*earlier, UserMessage(message.as_user_parts())]


class GoalSkill(PublishedSkill):
    """Exported goal as a skill. Data is the object to start from; text fills its only text."""

    def __init__(self, tool: GoalTool) -> None:
        self.id = tool.spec.name
        self.name = tool.spec.name
        self.description = tool.spec.description
        self._tool = tool

    async def run(self, message: A2aMessage, earlier: Sequence[Message], context: RunContext) -> object:
        """Run a process towards the goal, and return its output."""
        try:
            start = self._tool.read(self._write_arguments(message))
        except InvalidArgumentsError as error:
            raise Rejected(self.id, str(error)) from error
        return (await self._tool.agent.run(start.objects, named=start.named, context=context)).output

    def _write_arguments(self, message: A2aMessage) -> str:
        if [start.kind for start in self._tool.inputs] == [A2aMessage]:
            return TypeAdapter(A2aMessage).dump_json(message).decode()
        if message.has_data:
            return to_json(message.data).decode()
        text = message.text
        if (field := _find_only_text(self._tool.spec.parameters)) is not None:
            return to_json({field: text}).decode()
        return text


def find_skills(platform: Platform, published: Sequence[Runnable]) -> Mapping[str, PublishedSkill]:
    """Return the skills of a platform by id, those that were registered later too."""
    runnables: list[PublishedSkill] = [RunnableSkill(runnable) for runnable in published]
    goals: list[PublishedSkill] = [GoalSkill(tool) for tool in platform.goal_tools(remote=True)]
    return {skill.id: skill for skill in (*goals, *runnables)}


def find_skill(skills: Mapping[str, PublishedSkill], skill_id: object) -> PublishedSkill | None:
    """Return the skill that a message names, or the only skill; `None` when a skill is still to be chosen.

    Raises:
        LookupError: when there is no such skill, or none at all.
    """
    listed = ", ".join(skills) or "none"
    if skill_id is not None:
        name = str(skill_id)
        if (skill := skills.get(name)) is None:
            raise LookupError(f"There is no skill {name!r}.{did_you_mean(name, skills)} There are: {listed}.")
        return skill
    if not skills:
        raise LookupError("This server offers no skill.")
    return next(iter(skills.values())) if len(skills) == 1 else None


def find_rejection_of(error: BaseException) -> Rejected | None:
    """Return the rejection that an error is, or because of which it was raised."""
    while not isinstance(error, Rejected):
        if (cause := error.__cause__) is None:
            return None
        error = cause
    return error


def _find_only_text(schema: JsonSchema) -> str | None:
    """Return the only property that is required and a text."""
    properties = cast("Mapping[str, Mapping[str, JsonValue]]", schema.get("properties", {}))
    required = cast("Sequence[str]", schema.get("required", ()))
    is_text = len(required) == 1 and properties.get(required[0], {}).get("type") == "string"
    return required[0] if is_text else None
