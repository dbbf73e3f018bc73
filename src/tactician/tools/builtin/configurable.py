"""Tools with settings."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self

from typing_extensions import override

from tactician.llm.model import JsonSchema, ToolSpec
from tactician.runs import RunContext
from tactician.tools.tool import Tool, ToolOutput
from tactician.tools.traits import NO_TRAITS, NeedsApproval, ToolTraits


@dataclass(frozen=True)
class ConfigurableTool(Tool):
    """Tool whose settings are the fields of a frozen dataclass. A method that changes a setting returns a copy.

    Attributes:
        traits: the special behaviour in the turn loop.
    """

    traits: ToolTraits = field(default=NO_TRAITS, repr=False)

    @property
    @abstractmethod
    def _function(self) -> Tool:
        """The method that does the work, declared with `@tool`."""

    def with_approval(self, needs_approval: NeedsApproval = True, *, required_role: str | None = None) -> Self:
        """Return the tool with another rule for approvals.

        Args:
            needs_approval: true to wait for an approval of each call; a function decides by the arguments.
            required_role: role that a person needs to approve a call; anybody may, when `None`.
        """
        return replace(self, traits=replace(self.traits, needs_approval=needs_approval, required_role=required_role))

    @property
    @override
    def spec(self) -> ToolSpec:
        return self._function.spec

    @property
    @override
    def output_schema(self) -> JsonSchema | None:
        return self._function.output_schema

    @override
    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        return await self._function.call(arguments, context)
