"""Delegations: tasks that a manager gives to its workers by calling a tool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import override

from tactician.documents import did_you_mean
from tactician.ensemble.constraints import HierarchicalConstraints
from tactician.ensemble.events import DelegationCompleted, DelegationFailed, DelegationStarted
from tactician.ensemble.output import (
    TaskInput,
    TaskOutput,
    create_task_output,
    decode_task_output,
    encode_task_output,
)
from tactician.ensemble.prompts import build_prompt
from tactician.ensemble.team import TeamWorker
from tactician.errors import ToolError
from tactician.llm import ModelLike, ToolSpec
from tactician.runs import Live, RunContext, revive
from tactician.text import describe_error
from tactician.tools import Tool, create_arguments_error

TOOL_NAME = "delegate_task"
_SPEC = ToolSpec(
    TOOL_NAME,
    "Give a task to a worker, and get its output.",
    {
        "type": "object",
        "properties": {
            "role": {"type": "string", "description": "the role of the worker"},
            "task": {"type": "string", "description": "what is to be done, with all that the worker has to know"},
            "expected_output": {"type": "string", "description": "what the output has to look like"},
        },
        "required": ["role", "task"],
        "additionalProperties": False,
    },
)


class DelegationLog:
    """Delegations of one run so far, kept in its checkpoint under the keys of the tool calls.

    Args:
        workers: the workers, by role.
        context: the context of the run of the ensemble.
    """

    __slots__ = ("_checkpoint", "_kinds", "_outputs", "_roles")

    def __init__(self, workers: Mapping[str, TeamWorker], context: RunContext) -> None:
        assert context.checkpoint is not None
        self._checkpoint = context.checkpoint.at("delegations")
        self._kinds = {role: worker.output_kind for role, worker in workers.items()}
        self._roles: dict[str, str] = {}
        self._outputs: dict[str, Live[TaskOutput]] = {}
        saved = self._checkpoint.data
        if isinstance(roles := saved.get("roles"), dict) and isinstance(outputs := saved.get("outputs"), dict):
            self._roles = {str(key): str(role) for key, role in roles.items()}
            for key, output in outputs.items():
                kind = self._kinds.get(self._roles.get(key, ""), object)
                self._outputs[key] = self._make_live(key, revive(output, partial(decode_task_output, kind=kind)))

    @property
    def calls(self) -> list[str]:
        """The roles of all delegations that were allowed."""
        return list(self._roles.values())

    @property
    def outputs(self) -> list[TaskOutput]:
        """The outputs of completed delegations, in the order in which they were allowed."""
        return [self._outputs[key].value for key in self._roles if key in self._outputs]

    @property
    def completed_roles(self) -> set[str]:
        """The roles of workers that have completed a delegation."""
        return {self._roles[key] for key in self._outputs}

    def is_allowed(self, key: str) -> bool:
        """Return whether the call was allowed before, so that it is not counted again after a suspension."""
        return key in self._roles

    def allow(self, key: str, role: str) -> str:
        """Count a call, and return the id of its output."""
        self._roles.setdefault(key, role)
        self._keep()
        earlier = list(self._roles)[: list(self._roles).index(key)]
        number = 1 + sum(self._roles[one] == role for one in earlier)
        return role if number == 1 else f"{role}#{number}"

    def complete(self, key: str, output: TaskOutput) -> None:
        """Add the output of a call; the step of the tool call saves it."""
        self._outputs[key] = self._make_live(key, output)
        self._keep()

    def _make_live(self, key: str, output: TaskOutput) -> Live[TaskOutput]:
        kind = self._kinds.get(self._roles.get(key, ""), object)
        encode = partial(encode_task_output, kind=kind, may_omit=True)  # the manager reads the text
        return Live.create(output, encode, is_saved=self._checkpoint.journal is not None)

    def _keep(self) -> None:
        self._checkpoint.set(roles=dict(self._roles), outputs=dict(self._outputs))


class DelegationTool(Tool):
    """Tool by which the manager of one run gives tasks to workers.

    Args:
        workers: the workers, by role.
        manager: the role of the manager.
        constraints: limits on the delegations.
        log: the delegations so far.
        model: the model for workers without one.
        context: the context of the run of the ensemble, whose events tell of delegations.
    """

    def __init__(
        self,
        workers: Mapping[str, TeamWorker],
        manager: str,
        constraints: HierarchicalConstraints,
        log: DelegationLog,
        model: ModelLike | None,
        context: RunContext,
    ) -> None:
        self._workers = workers
        self._manager = manager
        self._constraints = constraints
        self._log = log
        self._model = model
        self._context = context

    @property
    @override
    def spec(self) -> ToolSpec:
        return _SPEC

    @override
    async def call(self, arguments: str, context: RunContext) -> str:
        """Let a worker do a task.

        Raises:
            InvalidArgumentsError: when the role or the task is missing.
            ToolError: when the worker may not do it, with the reason.
            Exception: what the worker raised.
        """
        try:
            request = _Request.model_validate_json(arguments)
        except ValidationError as error:
            raise create_arguments_error(error) from error
        key = context.idempotency_key
        self._context.emit(DelegationStarted, delegation_id=key, role=request.role, task=request.task)
        try:
            output = await self._delegate(request, key, context)
        except Exception as error:
            reason = describe_error(error)
            self._context.emit(DelegationFailed, delegation_id=key, role=request.role, error=reason)
            raise
        self._log.complete(key, output)
        self._context.emit(DelegationCompleted, delegation_id=key, role=request.role, seconds=output.duration)
        return output.raw

    async def _delegate(self, request: _Request, key: str, context: RunContext) -> TaskOutput:
        if not self._log.is_allowed(key) and (objection := self._find_objection(request)) is not None:
            raise ToolError(f"Not delegated: {objection}.")
        worker, task_id = self._workers[request.role], self._log.allow(key, request.role)
        task = TaskInput(task_id, request.task, request.expected_output)
        began = context.clock.time()
        if self._model is not None:
            context = context.with_model(*context.find_model(self._model))
        result = await worker.runnable.run(task if worker.is_handler else build_prompt(task, None), context=context)
        return create_task_output(task, worker.role, result, began, context.clock.time(), is_typed=False)

    def _find_objection(self, request: _Request) -> str | None:
        """Return why a delegation may not run. The order of the checks is part of the behaviour."""
        role, roles = request.role, self._workers
        if not role.strip() or not request.task.strip():
            return "the role and the task must not be blank"
        if role == self._manager and role not in roles:
            return "you cannot delegate to yourself"
        if role not in roles:
            return f"there is no worker {role!r}.{did_you_mean(role, roles)} Workers: {', '.join(map(repr, roles))}"
        return self._constraints.find_objection(role, self._log.calls, self._log.completed_roles)


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")
    role: str
    task: str
    expected_output: str = ""
