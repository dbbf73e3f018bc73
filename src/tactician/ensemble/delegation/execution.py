"""Execution of the delegations in a run of an ensemble: checks, policies, and the run of the worker."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from tactician.ensemble.delegation.events import DelegationCompleted, DelegationFailed, DelegationStarted
from tactician.ensemble.delegation.log import DelegationEntry, DelegationLog, create_response
from tactician.ensemble.delegation.worker import TeamWorker
from tactician.ensemble.tasks.prompts import build_prompt, find_prompt_type, list_delegation_sections
from tactician.ensemble.values.constraints import NO_CONSTRAINTS, HierarchicalConstraints
from tactician.ensemble.values.delegation import (
    Delegation,
    DelegationContext,
    DelegationDecision,
    DelegationPolicy,
    DelegationRequest,
    DelegationResponse,
    DelegationStatus,
)
from tactician.ensemble.values.errors import INTERRUPTIONS, TaskFailedError
from tactician.ensemble.values.output_creation import create_task_output
from tactician.ensemble.values.results import EnsembleResult, ExitReason
from tactician.ensemble.values.task_input import TaskInput, Values
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.task_rules import TaskRules, observe_task
from tactician.errors import ConfigurationError, ToolError
from tactician.frozen import frozen
from tactician.runs import RunContext, RunResult
from tactician.suggestions import did_you_mean
from tactician.text import describe_error
from tactician.tools.tool import as_text


@frozen
class Delegator:
    """Agent that may delegate.

    Attributes:
        role: its role.
        constraints: limits on its delegations.
    """

    role: str
    constraints: HierarchicalConstraints = NO_CONSTRAINTS


@frozen
class DelegationDepth:
    """Depth of a run in delegations, which nested ensembles continue.

    Attributes:
        depth: number of delegations around the run.
        limit: number of delegations that may be inside each other.
    """

    depth: int
    limit: int


class DelegationExecutor:
    """Executor of the delegations in a run of an ensemble; `context.find` finds it in the runs inside.

    Args:
        workers: the workers.
        settings: the settings of delegations.
        context: the context of the run of the ensemble, whose events tell of delegations.
        values: the values for templates with which the ensemble runs.
    """

    __slots__ = ("_context", "_settings", "_values", "_workers", "log")

    def __init__(
        self,
        workers: Mapping[str, TeamWorker],
        settings: Delegation,
        context: RunContext,
        values: Values,
    ) -> None:
        self._values = values
        self._workers = workers
        self._settings = settings
        self._context = context
        kinds = {role: worker.output_type for role, worker in workers.items()}
        self.log = DelegationLog(context, settings.types_by_name, kinds)

    async def collect(self, running: Awaitable[EnsembleResult]) -> EnsembleResult:
        """Return the result of the ensemble with the responses to all delegations; a failed result has them too."""
        try:
            result = await running
        except TaskFailedError as error:
            cast("EnsembleResult", error.result).delegations = self.log.responses
            raise
        result.delegations = self.log.responses
        return result

    async def delegate(
        self, request: DelegationRequest, delegator: Delegator, call: RunContext, objection: str | None = None
    ) -> str:
        """Let a worker do a task, and return the text for the agent that delegates.

        Args:
            request: the request.
            delegator: the agent that delegates.
            call: the context of its tool call.
            objection: why the call itself makes no sense; `None` when it does.

        Raises:
            ToolError: when the worker may not do the task, with the reason.
            Exception: any that the worker raised.
        """
        if (entry := self.log.find(call)) is None:
            entry = await self._admit(request, delegator, call, objection)
        if entry.response is not None:
            return _report(entry.response)
        try:
            with observe_task(request.role, self._context) as complete:
                result, output = await self._run(entry, call)
                complete(output)
        except INTERRUPTIONS:
            raise
        except Exception as error:
            self._fail(entry, describe_error(error), call)
            raise
        return self._complete(entry, result, output)

    async def _admit(
        self, request: DelegationRequest, delegator: Delegator, call: RunContext, objection: str | None
    ) -> DelegationEntry:
        """Add a request to the log, as it is allowed or refused, and tell listeners of it."""
        place = self._find_place(call)
        situation = DelegationContext(delegator.role, place.depth, place.limit, tuple(self._workers))
        objection = self._find_objection(request, delegator, place) or objection
        if objection is None and self._settings.policies:
            request, objection = await _ask_policies(self._settings.policies, request, situation)
            if objection is None:  # of another request, or of what began meanwhile
                objection = self._find_objection(request, delegator, place)
        entry = self.log.add(request, delegator.role, call, is_allowed=objection is None)
        self._context.emit(
            DelegationStarted,
            delegation_id=request.id,
            delegator=delegator.role,
            role=request.role,
            task=request.task,
            priority=request.priority.value,
            depth=place.depth + 1,
        )
        if objection is None:
            return entry
        self._fail(entry, objection, call)
        raise ToolError(f"Not delegated: {objection}.")

    def _find_objection(self, request: DelegationRequest, delegator: Delegator, place: DelegationDepth) -> str | None:
        """Return why a delegation may not run. The order of the checks is part of the behaviour."""
        role = request.role
        if not role.strip() or not request.task.strip():
            return "the role and the task must not be blank"
        if place.depth >= place.limit:
            return f"delegations are nested {place.limit} deep, which is the limit: do the task yourself"
        if role == delegator.role:
            return "you cannot delegate to yourself"
        if (worker := self._workers.get(role)) is None:
            others = [role for role in self._workers if role != delegator.role]
            names = ", ".join(map(repr, others))
            return f"there is no worker {role!r}.{did_you_mean(role, others)} Workers: {names}"
        if request.output_type is not None and worker.output_type not in (None, request.output_type):
            return f"{role!r} answers with an output type of its own: leave out the output type"
        calls = [entry.request.role for entry in self.log.list_allowed(delegator.role)]
        completed = {entry.request.role for entry in self.log.list_completed(delegator.role)}
        rules = self._context.find(TaskRules)
        broken = None if rules is None else rules.find_objection(role)
        return broken or delegator.constraints.find_objection(role, calls, completed)

    def _find_place(self, call: RunContext) -> DelegationDepth:
        """Return the depth of the agent that delegates, with the lowest limit of the ensembles around it."""
        limit = self._settings.max_depth
        depth = call.find(DelegationDepth)
        return DelegationDepth(0, limit) if depth is None else replace(depth, limit=min(limit, depth.limit))

    async def _run(self, entry: DelegationEntry, call: RunContext) -> tuple[RunResult[object], TaskOutput]:
        request, place = entry.request, self._find_place(call)
        worker = self._workers[request.role]
        inside = call.inside({DelegationDepth: replace(place, depth=place.depth + 1)})
        if worker.model is not None:
            inside = inside.with_model(*inside.find_model(worker.model))
        values = {**self._values, **{name: as_text(value) for name, value in request.scope.items()}}
        task = TaskInput(entry.task_id, request.task, request.expected_output, values=values)
        sections = list_delegation_sections(request, inside)
        kind = find_prompt_type(worker.runnable, request.output_type)
        prompt = "\n\n".join((*sections, build_prompt(task, kind, inside)))
        runnable = worker.expect(request.output_type, 1 + request.max_output_retries)
        worker_input = replace(task, text=request.task) if worker.is_handler else prompt
        result = await runnable.run(worker_input, context=inside)
        now, is_typed = call.clock.time(), request.output_type is not None
        return result, create_task_output(task, worker.role, result, entry.began, now, is_typed)

    def _complete(self, entry: DelegationEntry, result: RunResult[object], output: TaskOutput) -> str:
        request, is_complete = entry.request, bool(output.raw.strip()) and not result.is_cut_off
        artifacts: dict[str, object] = {}
        if isinstance(result, EnsembleResult):
            artifacts = {part.task_id: part.raw for part in result.task_outputs}
            is_complete = is_complete and result.exit_reason is ExitReason.COMPLETED
        status = DelegationStatus.SUCCESS if is_complete else DelegationStatus.PARTIAL
        response = create_response(request, status, output, output.duration, artifacts=artifacts)
        self.log.end(entry, response, output)
        self._context.emit(
            DelegationCompleted,
            delegation_id=request.id,
            delegator=entry.delegator,
            role=request.role,
            seconds=output.duration,
            status=status.value,
        )
        return _report(response)

    def _fail(self, entry: DelegationEntry, reason: str, call: RunContext) -> None:
        request = entry.request
        duration = max(0.0, call.clock.time() - entry.began)
        self.log.end(entry, create_response(request, DelegationStatus.FAILURE, None, duration, errors=[reason]))
        self._context.emit(
            DelegationFailed,
            delegation_id=request.id,
            delegator=entry.delegator,
            role=request.role,
            error=reason,
        )


async def _ask_policies(
    policies: Sequence[DelegationPolicy], request: DelegationRequest, situation: DelegationContext
) -> tuple[DelegationRequest, str | None]:
    """Return the request as the policies leave it, and why it may not run.

    Raises:
        ConfigurationError: when a policy does not decide.
    """
    for policy in policies:
        name = getattr(policy, "__name__", repr(policy))
        try:
            decision = policy(request, situation)
            if inspect.isawaitable(decision):
                decision = await decision
        except ConfigurationError:
            raise
        except Exception as error:
            return request, f"the policy {name!r} failed: {describe_error(error)}"
        if not _is_decision(decision):
            problem = f"the delegation policy {name!r} returned {decision!r}"
            raise ConfigurationError(f"{problem}: return allow(), reject(reason) or modify(request)")
        if decision.rejection is not None:
            return request, decision.rejection
        if decision.request is not None:
            request = replace(decision.request, id=request.id)
    return request, None


def _is_decision(value: object) -> bool:
    """Return whether a value is a decision as `allow`, `reject` and `modify` make it."""
    return isinstance(value, DelegationDecision) and isinstance(value.request, DelegationRequest | None)


def _report(response: DelegationResponse) -> str:
    """Return a response as text for the agent that delegated.

    Raises:
        ToolError: when the delegation has failed.
    """
    if response.raw is None:
        raise ToolError("; ".join(response.errors))
    if response.status is DelegationStatus.PARTIAL:
        return f"{response.raw}\n\n[The output of {response.role} may be incomplete.]".lstrip()
    return response.raw
