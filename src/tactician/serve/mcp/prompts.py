"""Prompts: a ready-made request for each published goal and Runnable, and those that a program writes itself."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

import mcp_types as types
from typing_extensions import override

from tactician.agents import BaseRunnable
from tactician.llm import AssistantMessage, Message, UserMessage
from tactician.platform import Platform
from tactician.process.people.questions import allow_questions
from tactician.runs import Input, RunContext, RunResult
from tactician.serve.mcp.blocks import write_block
from tactician.serve.mcp.caller import Caller
from tactician.serve.mcp.results import OutputForm
from tactician.serve.mcp.runs import ClientRuns, RunEntry
from tactician.serve.mcp.tools import PublishedTool
from tactician.suggestions import suggest_options

PromptContent: TypeAlias = str | Message | Sequence[str | Message]
_MOST_OFFERED: Final = 100


@suggest_options
@dataclass(frozen=True)
class ServedPrompt:
    """Prompt for clients: `ServedPrompt("review", write_review)`.

    Attributes:
        name: the name.
        write: function that returns the prompt, plain or `async`: a text, a message, or several of these, with pictures
            and files as parts of messages. Its parameters are the arguments of the prompt, which are texts.
        description: the description; the description of the function by default.
    """

    name: str
    write: Callable[..., PromptContent | Awaitable[PromptContent]] = field(repr=False)
    description: str = ""


class PublishedPrompt(ABC):
    """Prompt as a client sees it."""

    definition: types.Prompt

    @abstractmethod
    async def write(
        self, arguments: Mapping[str, str], state: str | None, caller: Caller
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Return the prompt with values for its arguments, or what it asks.

        Args:
            arguments: the values.
            state: state of a call that has asked before.
            caller: the client.
        """

    def find_missing(self, arguments: Mapping[str, str]) -> list[str]:
        """Return the names of required arguments that are missing."""
        declared = self.definition.arguments or []
        return [argument.name for argument in declared if argument.required and argument.name not in arguments]

    def complete(self, argument: str, beginning: str) -> list[str]:
        """Return the values of an argument that has a fixed set of them, and begin so; by default, none has."""
        return []


class WrittenPrompt(PublishedPrompt):
    """Prompt that a function of the program writes. An async function is a run, which may ask the person."""

    def __init__(self, prompt: ServedPrompt, platform: Platform, runs: ClientRuns) -> None:
        self._prompt = prompt
        self._runs = runs
        self._entry = RunEntry(_PromptRun(prompt.name, self._create), OutputForm((), may_wait=False))
        if inspect.iscoroutinefunction(prompt.write):
            platform.register_internal(self._entry.runnable)
        parameters = inspect.signature(prompt.write).parameters.values()
        arguments = [types.PromptArgument(name=one.name, required=one.default is one.empty) for one in parameters]
        description = prompt.description or inspect.getdoc(prompt.write)
        self.definition = types.Prompt(name=prompt.name, description=description, arguments=arguments)

    @override
    async def write(
        self, arguments: Mapping[str, str], state: str | None, caller: Caller
    ) -> types.GetPromptResult | types.InputRequiredResult:
        if inspect.iscoroutinefunction(self._prompt.write):
            return await self._runs.write_prompt(self._entry, arguments, state, caller)
        return await self._create(arguments)

    async def _create(self, arguments: Mapping[str, str]) -> types.GetPromptResult:
        argument_names = {argument.name for argument in self.definition.arguments or ()}
        content = self._prompt.write(**{name: value for name, value in arguments.items() if name in argument_names})
        if isinstance(content, Awaitable):
            content = await content
        listed = [content] if isinstance(content, str | UserMessage | AssistantMessage) else content
        messages = [each for message in cast("Sequence[str | Message]", listed) for each in _write_message(message)]
        return types.GetPromptResult(description=self.definition.description, messages=messages)


class _PromptRun(BaseRunnable[object]):
    """Run that writes a prompt: the function may ask people, and is called again with their answers."""

    def __init__(self, name: str, create: Callable[[Mapping[str, str]], Awaitable[types.GetPromptResult]]) -> None:
        self.name = f"mcp prompt {name}"
        self.description = f"Writes the prompt {name}"
        self._create = create

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        await context.begin_step()
        with allow_questions(context.as_internal()):
            prompt = await self._create(cast("Mapping[str, str]", input))
        written = prompt.model_dump(by_alias=True, mode="json", exclude_none=True)
        return RunResult(written, tally=context.tally, run_id=context.run_id)


class ToolPrompt(PublishedPrompt):
    """Prompt that asks for the use of a tool.

    Args:
        tool: the tool.
    """

    def __init__(self, tool: PublishedTool) -> None:
        self._tool = tool
        schema = tool.definition.input_schema
        self._fields: Mapping[str, Mapping[str, object]] = schema.get("properties") or {}
        required = schema.get("required") or []
        arguments = [
            types.PromptArgument(name=name, description=_describe(field), required=name in required)
            for name, field in self._fields.items()
        ]
        self.definition = types.Prompt(name=tool.name, description=tool.definition.description, arguments=arguments)

    @override
    async def write(
        self, arguments: Mapping[str, str], state: str | None, caller: Caller
    ) -> types.GetPromptResult | types.InputRequiredResult:
        lines = [f"Use the tool {self._tool.name}: {self._tool.definition.description}"]
        lines += [f"{name}: {value}" for name, value in arguments.items() if name in self._fields]
        text = types.TextContent(text="\n".join(lines))
        return types.GetPromptResult(
            description=self.definition.description, messages=[types.PromptMessage(role="user", content=text)]
        )

    @override
    def complete(self, argument: str, beginning: str) -> list[str]:
        field = self._fields.get(argument, {})
        choices = ["true", "false"] if field.get("type") == "boolean" else field.get("enum", [])
        listed = choices if isinstance(choices, list) else []
        return [str(choice) for choice in listed if str(choice).startswith(beginning)][:_MOST_OFFERED]


def _write_message(message: str | Message) -> Iterator[types.PromptMessage]:
    """Yield a message of the protocol for each part of a message."""
    message = UserMessage(message) if isinstance(message, str) else message
    if isinstance(message, UserMessage) and not isinstance(message.content, str):
        for part in message.content:
            yield types.PromptMessage(role="user", content=write_block(part))
    else:
        role: types.Role = "assistant" if isinstance(message, AssistantMessage) else "user"
        yield types.PromptMessage(role=role, content=types.TextContent(text=message.text))


def _describe(field: Mapping[str, object]) -> str | None:
    description = field.get("description")
    if isinstance(description, str):
        return description
    return None if field.get("type") == "string" else "JSON"
