"""What a model may look things up in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tactician.llm import ToolSpec
from tactician.prompts.contributors import PromptContributor
from tactician.runs import RunContext
from tactician.tools import Tool, ToolLike, as_tool, find_declared_tools, snake_case

_LONGEST_NAME = 64


class LlmReference(PromptContributor):
    """Knowledge with a name: what it is, how to use it, and the tools for that.

    A subclass sets `name` and `description`; its methods declared with `@tool` are its tools.

    Attributes:
        name: what it is called; the names of its tools begin with it.
        description: what it is.
    """

    name: str
    description: str

    @property
    def notes(self) -> str:
        """What the model has to know: how to use the tools, or all that there is to know."""
        return ""

    @property
    def tools(self) -> Sequence[ToolLike]:
        """Its tools, by their own names: its methods declared with `@tool`."""
        return find_declared_tools(self)

    @property
    def named_tools(self) -> tuple[Tool, ...]:
        """Its tools as a model sees them: `search` of the reference `Acme docs` is `acme_docs_search`."""
        prefix = snake_case(self.name)
        return tuple(_PrefixedTool(prefix, as_tool(one)) for one in self.tools)

    def contribution(self) -> str:
        """What the model is told about it."""
        tools = ", ".join(one.name for one in self.named_tools)
        lines = (
            f"Reference: {self.name}",
            f"What it is: {self.description}",
            tools and f"Its tools: {tools}",
            self.notes.strip(),
        )
        return "\n".join(line for line in lines if line)


@dataclass(frozen=True)
class Reference(LlmReference):
    """A reference made of a text, of tools, or of both.

    Args:
        name: what it is called.
        description: what it is.
        notes: all that there is to know, or how to use the tools.
        tools: functions and tools.
    """

    name: str
    description: str
    notes: str = ""
    tools: Sequence[ToolLike] = ()


class _PrefixedTool(Tool):
    """A tool by a longer name."""

    def __init__(self, prefix: str, tool: Tool) -> None:
        self.traits = tool.traits
        self._tool = tool
        self._spec = replace(tool.spec, name=f"{prefix}_{tool.name}"[:_LONGEST_NAME])

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    async def call(self, arguments: str, context: RunContext) -> str:
        """Runs the tool.

        Raises:
            ToolError: what the tool itself raises.
        """
        return await self._tool.call(arguments, context)
