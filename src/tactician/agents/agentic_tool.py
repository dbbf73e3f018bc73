"""Agentic tools: tools that let a model of their own use other tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias

from pydantic import BaseModel

from tactician.agents.agent import Agent
from tactician.llm import LanguageModel, LlmOptions, ModelLike
from tactician.prompts.sources import InstructionSource
from tactician.runs import RunContext
from tactician.suggestions import suggest_options
from tactician.tools import RunnableTool, Tool, as_tool
from tactician.tools.runnable import ToolParameter
from tactician.tools.toolbox import ToolLike, find_declared_tools

PromptCreator: TypeAlias = Callable[[RunContext], str | Awaitable[str]]
"""Function that returns the instructions for a call, plain or `async`."""
_DEFAULT_PROMPT = (
    "You are an intelligent agent that can use tools to help you complete tasks. "
    "Use the provided tools to perform the following task: {description}"
)


@dataclass(frozen=True)
class CreatedInstructions(InstructionSource):
    """Instructions that a function creates for each run.

    Args:
        create: the function; it gets the context of the run.
    """

    create: PromptCreator
    text: str | None = field(default=None, init=False)

    async def resolve(self) -> str:
        """Return the text for a run that begins."""
        created = self.create(RunContext.current())
        return await created if isinstance(created, Awaitable) else created


@dataclass(frozen=True)
class _Settings:
    tools: tuple[Tool, ...] = ()
    model: ModelLike | None = None
    instructions: str | PromptCreator | None = None
    parameters: tuple[ToolParameter, ...] = ()


_NO_SETTINGS = _Settings()


@suggest_options
class AgenticTool(RunnableTool[BaseModel]):
    """Tool that lets a model use other tools until it can answer. Every `with_...` returns a changed copy.

    The call uses the model, the budget and the process of the run that calls it, unless the tool has a model of
    its own. Without parameters it has a single one, `request`.

    Args:
        name: the name.
        description: the purpose, for the calling model; the default instructions have it too.
    """

    def __init__(self, name: str, description: str) -> None:
        self._set(name, description, _NO_SETTINGS)

    def _set(self, name: str, description: str, settings: _Settings) -> None:
        self._settings = settings
        prompt = settings.instructions
        instructions: str | InstructionSource
        if prompt is None:
            instructions = _DEFAULT_PROMPT.format(description=description)
        else:
            instructions = prompt if isinstance(prompt, str) else CreatedInstructions(prompt)
        agent = Agent(
            name, description=description, instructions=instructions, tools=settings.tools, model=settings.model
        )
        super().__init__(agent, name, description, parameters=settings.parameters)

    def with_parameter(self, name: str, kind: type, description: str, *, required: bool = True) -> Self:
        """Add a parameter.

        Args:
            name: its name.
            kind: its type, such as `str`, `int` or `float`.
            description: its meaning, for the calling model.
            required: false when the model may leave it out.

        Raises:
            DeclarationError: when there is one of the name, or the type has no JSON form.
        """
        parameter = ToolParameter(name, kind, description, required)
        return self._with(replace(self._settings, parameters=(*self._settings.parameters, parameter)))

    def with_tools(self, *tools: ToolLike) -> Self:
        """Add tools, or plain typed functions, for the inner model.

        Raises:
            DeclarationError: when an object is neither.
        """
        return self._with(replace(self._settings, tools=(*self._settings.tools, *map(as_tool, tools))))

    def with_tool_object(self, owner: object) -> Self:
        """Add the methods of an object that are declared with `@tool`."""
        return self.with_tool_objects(owner)

    def with_tool_objects(self, *owners: object) -> Self:
        """Add the methods of several objects that are declared with `@tool`. Objects without any are ignored."""
        return self.with_tools(*(tool for owner in owners for tool in find_declared_tools(owner)))

    def with_llm(self, llm: str | LlmOptions | LanguageModel) -> Self:
        """Use another model than the calling agent, or other hyperparameters."""
        return self._with(replace(self._settings, model=llm))

    def with_system_prompt(self, prompt: str | PromptCreator) -> Self:
        """Replace the instructions of the inner model.

        Args:
            prompt: the text, or a function that creates it for each call, from the context of the run.
        """
        return self._with(replace(self._settings, instructions=prompt))

    def _with(self, settings: _Settings) -> Self:
        changed = type(self).__new__(type(self))
        changed._set(self.name, self.description, settings)
        return changed
