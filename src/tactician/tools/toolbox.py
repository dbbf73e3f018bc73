"""Tools of a run: look-up, calls, and failures as results for the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from tactician.errors import ConfigurationError, DeclarationError, InvalidArgumentsError, Replan, ToolError
from tactician.frozen import frozen
from tactician.llm import ToolCall, ToolResult
from tactician.llm.model import ToolSpec
from tactician.loggers import get_logger
from tactician.runs import RunContext, Runnable
from tactician.runs.context.context import reset_current, set_current
from tactician.suggestions import did_you_mean
from tactician.text import describe_error, replace_surrogates
from tactician.tools.arguments import repair_arguments
from tactician.tools.function import FunctionTool, tool
from tactician.tools.provider import ToolProvider
from tactician.tools.runnable import convert_runnable
from tactician.tools.tool import Tool, create_result

ToolLike: TypeAlias = Tool | Callable[..., object] | ToolProvider | Runnable
"""A tool, a typed function, a provider of tools, or any Runnable, which gets a text or the arguments that it names."""
_LONG_ARGUMENTS = 10_000
_logger = get_logger(__name__)


def split_providers(tools: Iterable[ToolLike]) -> tuple[list[ToolLike], tuple[ToolProvider, ...]]:
    """Return the tools, and apart from them the providers, each once."""
    listed: list[ToolLike] = []
    providers: dict[ToolProvider, None] = {}
    for item in tools:
        if isinstance(item, ToolProvider):
            providers[item] = None
        else:
            listed.append(item)
    return listed, tuple(providers)


def as_tool(value: ToolLike) -> Tool:
    """Return the value as a tool, also a plain function or a Runnable.

    Raises:
        DeclarationError: when the value is none of these.
    """
    if isinstance(value, Tool):
        return value
    if isinstance(value, Runnable) and not isinstance(value, type):
        return convert_runnable(value)
    if callable(value):
        return tool(value)
    if isinstance(value, ToolProvider):
        raise DeclarationError(repr(value), ["its tools are known in a run only: pass it as a tool of an agent"])
    problem = "a tool is a function, or an object made with @tool, or a Runnable such as an agent"
    if isinstance(value, str):
        problem += "; the name of a tool group goes into `tool_groups`, or `with_tool_group`"
    elif declared := find_declared_tools(value):
        problem += f"; pass the methods of the object: {', '.join(tool.name for tool in declared)}"
    elif isinstance(value, Iterable):
        problem += "; pass each tool of a list by itself, as in `with_tools(*tools)`"
    raise DeclarationError(repr(value), [problem])


def find_declared_tools(owner: object) -> tuple[Tool, ...]:
    """Return the methods of an object that are declared with `@tool`, if there are any."""
    members = (member for kind in reversed(type(owner).__mro__) for member in vars(kind).items())
    names = dict.fromkeys(name for name, value in members if _is_declared_tool(value))
    return tuple(getattr(owner, name) for name in names)


def _is_declared_tool(member: object) -> bool:
    """Return whether a member of a class is declared with `@tool`, above or below `@staticmethod` or `@classmethod`."""
    return isinstance(member.__func__ if isinstance(member, staticmethod | classmethod) else member, FunctionTool)


def require_declared_tools(owner: object) -> tuple[Tool, ...]:
    """Return the methods of an object that are declared with `@tool`.

    Raises:
        DeclarationError: when no tool has the name.
    """
    if not (declared := find_declared_tools(owner)):
        raise DeclarationError(type(owner).__name__, ["it has no method declared with @tool"])
    return declared


class Toolbox:
    """Tools by name.

    Attributes:
        specs: the tools as a model sees them.
        providers: providers of further tools, which a run loads when it begins.

    Raises:
        DeclarationError: when two tools have the same name.
    """

    __slots__ = ("_tools", "providers", "specs")

    def __init__(self, tools: Iterable[ToolLike] = ()) -> None:
        providers: dict[ToolProvider, None] = {}
        converted: list[Tool] = []
        for item in tools:
            if type(item) is FunctionTool:  # as most are; a look at an abstract class takes as long as all else here
                converted.append(item)
            elif isinstance(item, ToolProvider):
                providers[item] = None
            else:
                converted.append(as_tool(item))
        self.providers = tuple(providers)
        self._tools = {tool.name: tool for tool in converted}
        self.specs: tuple[ToolSpec, ...] = tuple([tool.spec for tool in converted])
        if len(self._tools) < len(converted):
            names = [tool.name for tool in converted]
            raise DeclarationError("tools", [f"{n!r} is used twice" for n in self._tools if names.count(n) > 1])

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def find(self, name: str) -> Tool | None:
        """Return the tool with a name."""
        return self._tools.get(name)

    @property
    def names(self) -> Collection[str]:
        """The names of the tools."""
        return self._tools.keys()

    @property
    def contents(self) -> tuple[ToolLike, ...]:
        """The tools, and the providers of further tools."""
        return (*self._tools.values(), *self.providers)

    def with_preferred(self, preferred: Toolbox) -> Toolbox:
        """Return a toolbox with other tools too, which take the place of tools of the same names."""
        named = {**self._tools, **preferred._tools}
        return Toolbox((*named.values(), *self.providers, *preferred.providers))

    def with_visible(self, is_shown: Callable[[Tool], bool], *more: Tool) -> Toolbox:
        """Return a toolbox with more tools, of which the model sees only some; it may call all."""
        box = Toolbox((*self._tools.values(), *more))
        box.specs = tuple(tool.spec for tool in box if is_shown(tool))
        return box

    async def answer(self, call: ToolCall, context: RunContext) -> ToolResult:
        """Run a called tool. Every failure becomes a result for the model.

        Raises:
            ConfigurationError: when the program is set up wrongly, which no model can mend.
            Replan: when the tool raises it, for the action around the run.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            hint = did_you_mean(call.name, self._tools)
            tool_names = ", ".join(self._tools) or "none"
            return ToolResult(call.id, call.name, f"There is no tool {call.name!r}.{hint} Tools: {tool_names}.", True)
        try:
            entered = set_current(context)
            try:
                try:
                    output = await tool.call(call.arguments, context)
                except InvalidArgumentsError:
                    if (repaired := await _repair(call.arguments)) is None:
                        raise
                    output = await tool.call(repaired, context)
                return create_result(call, output)
            finally:
                reset_current(entered)
        except (ConfigurationError, Replan):
            raise
        except ToolError as error:
            return ToolResult(call.id, call.name, replace_surrogates(str(error)), is_error=True)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return ToolResult(call.id, call.name, describe_error(error), is_error=True)  # the tool raised it itself
        except Exception as error:
            _logger.debug("tool %s failed", call.name, exc_info=True)
            return ToolResult(call.id, call.name, describe_error(error), is_error=True)


async def _repair(arguments: str) -> str | None:
    """Return invalid arguments as they were meant, if that is clear."""
    # A long text takes seconds, in which nothing else would run in the event loop.
    is_long = len(arguments) > _LONG_ARGUMENTS
    return await asyncio.to_thread(repair_arguments, arguments) if is_long else repair_arguments(arguments)


@frozen
class ToolInvoker:
    """Way in which a tool calls other tools: with the approvals, guardrails, limits and events of direct calls.

    The context of a call has one for a tool with the trait `calls_tools`.

    Attributes:
        invoke: function that runs a call of one of the tools. The id of a call must be the same after a pause.
    """

    invoke: Callable[[ToolCall, Toolbox], Awaitable[ToolResult]]
