"""References: knowledge that a model can look up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

from tactician.prompts.contributors import PromptContributor
from tactician.suggestions import suggest_options
from tactician.text import snake_case
from tactician.tools import Tool, as_tool
from tactician.tools.selection import RenamedTool
from tactician.tools.toolbox import ToolLike, find_declared_tools

_MARK = 6
_LONGEST_NAME = 64


class LlmReference(PromptContributor):
    """Named knowledge: a description, notes on its use, and tools.

    A subclass sets `name` and `description`; its methods declared with `@tool` are its tools.

    Attributes:
        name: the name, which is the prefix of the names of its tools.
        description: the description.
        notes: the notes for the model: how to use the tools, or the knowledge itself.
        late_kind: the kind of entries of files that describe it, if its package is above the package of references.
    """

    late_kind: ClassVar[str] = ""
    name: str
    description: str
    notes: str = ""

    @property
    def tools(self) -> Sequence[ToolLike]:
        """The tools under their own names: the methods declared with `@tool`."""
        return find_declared_tools(self)

    @property
    def named_tools(self) -> tuple[Tool, ...]:
        """The tools as the model sees them: `search` of the reference `Acme docs` is `acme_docs_search`."""
        return tuple(RenamedTool(tool, _join_names(self.name, tool.name)) for tool in map(as_tool, self.tools))

    def contribution(self) -> str:
        """Return the instructions about the reference."""
        tools = ", ".join(tool.name for tool in self.named_tools)
        lines = (
            f"Reference: {self.name}",
            f"What it is: {self.description}",
            tools and f"Its tools: {tools}",
            self.notes.strip(),
        )
        return "\n".join(line for line in lines if line)


@suggest_options
@dataclass(frozen=True)
class Reference(LlmReference):
    """Reference made of a text, of tools, or of both.

    Args:
        name: the name.
        description: the description.
        notes: the knowledge itself, or notes on the use of the tools.
        tools: functions and tools.
    """

    name: str
    description: str
    notes: str = ""
    tools: Sequence[ToolLike] = ()


def _join_names(owner: str, tool: str) -> str:
    """Return the name of a tool of an owner. Where it is too long, a mark of the owner replaces the end of its name."""
    if len(name := f"{snake_case(owner)}_{tool}") <= _LONGEST_NAME:
        return name
    ending = f"_{sha256(owner.encode(errors='replace')).hexdigest()[:_MARK]}_{tool}"
    return f"{snake_case(owner)[: max(0, _LONGEST_NAME - len(ending))]}{ending}"[:_LONGEST_NAME]
