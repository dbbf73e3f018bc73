"""Tool by which an agent delegates tasks: to its workers, if it is a manager, and else to its peers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from typing_extensions import override

from tactician.ensemble.delegation.execution import DelegationExecutor, Delegator
from tactician.ensemble.values.delegation import Delegation, DelegationPriority, DelegationRequest
from tactician.errors import ToolError
from tactician.llm.model import ToolSpec
from tactician.runs import RunContext
from tactician.tools import Tool
from tactician.tools.function import create_arguments_error

TOOL_NAME: Final = "delegate_task"
_MOST_CHARACTERS: Final = 500


class DelegationTool(Tool):
    """Tool by which an agent gives tasks to others. It holds no state of a run, and finds the run around it.

    Args:
        delegator: the agent.
        settings: the settings of delegations.
        roster: the others, as text for the agent; empty, when its instructions name them.
    """

    def __init__(self, delegator: Delegator, settings: Delegation, roster: str = "") -> None:
        self._delegator = delegator
        self._types = settings.types_by_name
        self._spec = _create_spec(roster, self._types)

    @property
    @override
    def spec(self) -> ToolSpec:
        return self._spec

    @override
    async def call(self, arguments: str, context: RunContext) -> str:
        """Let a worker do a task.

        Raises:
            InvalidArgumentsError: when the role or the task is missing.
            ToolError: when the worker may not do it, with the reason.
            Exception: any that the worker raised.
        """
        try:
            parsed = _Arguments.model_validate_json(arguments)
        except ValidationError as error:
            raise create_arguments_error(error) from error
        executor = context.find(DelegationExecutor)
        if executor is None:
            raise ToolError("Not delegated: outside of the ensemble, no agent can take the task.")
        request, objection = self._create_request(parsed), self._find_objection(parsed)
        return await executor.delegate(request, self._delegator, context, objection)

    def _find_objection(self, parsed: _Arguments) -> str | None:
        if parsed.output_type is None or parsed.output_type in self._types:
            return None
        type_names = ", ".join(map(repr, self._types)) or "none"
        return f"there is no output type {parsed.output_type!r}. Output types: {type_names}"

    def _create_request(self, parsed: _Arguments) -> DelegationRequest:
        return DelegationRequest(
            parsed.role,
            parsed.task,
            expected_output=parsed.expected_output,
            scope=parsed.scope,
            priority=parsed.priority,
            output_type=None if parsed.output_type is None else self._types.get(parsed.output_type),
        )


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    role: Annotated[str, Field(max_length=_MOST_CHARACTERS)]
    task: str
    expected_output: str = ""
    priority: DelegationPriority = DelegationPriority.NORMAL
    scope: dict[str, JsonValue] = Field(default_factory=dict)
    output_type: str | None = None


def _create_spec(roster: str, types: Iterable[str]) -> ToolSpec:
    purpose = "Give a task to a worker, and get its output."
    properties: dict[str, Mapping[str, object]] = {
        "role": {"type": "string", "description": "the role of the worker"},
        "task": {"type": "string", "description": "the task, with everything that the worker needs to know"},
        "expected_output": {"type": "string", "description": "the expected form of the output"},
        "priority": {"type": "string", "enum": [*DelegationPriority], "description": "how urgent it is"},
        "scope": {"type": "object", "description": "values by names that bound the task, such as a region or a date"},
    }
    if names := list(types):
        properties["output_type"] = {"type": "string", "enum": names, "description": "the type of the output"}
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["role", "task"],
        "additionalProperties": False,
    }
    return ToolSpec(TOOL_NAME, f"{purpose} Workers:\n{roster}" if roster else purpose, schema)
