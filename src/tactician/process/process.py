"""Run of a planned agent, and how it is steered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, Self

from typing_extensions import TypeVar, override

from tactician.errors import AlreadyAnsweredError, ResponseError
from tactician.planning import Action, Plan, WorldState
from tactician.process.acting.acting import Execution
from tactician.process.agent.inputs import add_inputs
from tactician.process.agent.operation import OperationContext, create_process_context
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.board.blackboard import Blackboard
from tactician.process.deciding.deliberation import PlanningSettings
from tactician.process.driver import Driver
from tactician.process.idle import IdleProcess
from tactician.process.runner import ProcessRunner
from tactician.process.saving.progress import ProcessProgress, restore_process
from tactician.process.saving.stored_objects import encode_object
from tactician.process.state.conversation import ProcessConversation
from tactician.process.state.goals import GoalSpec
from tactician.process.state.handle import ProcessHandle
from tactician.process.state.options import DEFAULT_OPTIONS, ProcessOptions, create_blackboard
from tactician.process.state.state import ActionRun, ProcessState, ProcessStatus
from tactician.runs import PendingRequest, RequestAnswered, RunContext
from tactician.runs.life.durable import DurableRun
from tactician.runs.outcomes.budget import BudgetMeter
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.spending import keep_spent, save_inside
from tactician.runs.requests.answers import check_response
from tactician.runs.requests.respondents import (
    NOBODY,
    Respondent,
    check_role,
    create_answered_error,
    find_answered,
    record_authors,
    record_key,
)

if TYPE_CHECKING:
    from tactician.diagrams.diagram import Diagram

T_co = TypeVar("T_co", covariant=True, default=object)


class AgentProcess(ProcessHandle, Generic[T_co]):
    """Run of an agent towards its goals.

    Attributes:
        options: settings of the process.
        keeper: keeper of the process in a store; `None` if the process is in memory only, or inside another run.
        spawned: the task that runs the process, when it was spawned.
        on_rest: called with the process whenever it has run as far as it can.
        conversation: its messages in its conversation; `None` when it takes part in none.
    """

    def __init__(
        self,
        agent: PlannedAgentSpec,
        blackboard: Blackboard,
        context: RunContext,
        options: ProcessOptions | None = None,
        run: DurableRun | None = None,
        state: ProcessState | None = None,
    ) -> None:
        self.options = options or _inherit_options(context) or DEFAULT_OPTIONS
        meter = BudgetMeter(self.options.budget, context.tally, context.clock, context.meter)
        inside = create_process_context(context, self.options, meter)
        agent = agent.with_rules(self.options.rules, shared=context.services.rules)
        saved_runs = None if state is None else len(state.history)
        state = state or ProcessState(blackboard, began_at=context.clock.time())
        self.conversation: ProcessConversation | None = None
        if self.options.conversation_id is not None:
            self.conversation = ProcessConversation(context.run_id, state)
            inside = inside.inside({ProcessConversation: self.conversation})
        if inside.checkpoint is not None:
            keep_spent(meter, inside.checkpoint)
        super().__init__(state, inside)
        self._meter = meter
        self._execution = Execution(self, agent, self._state, self.options, inside, meter)
        if (terms := self.options.plan_review) is not None:
            from tactician.process.deciding.plan_reviewer import AskingReviewer

            reviewer = self._execution.reviewer = AskingReviewer(self._execution, terms)
            self._execution.agent = replace(self._execution.agent, review=reviewer.action)
        self._driver = Driver(self._execution, run)
        self.keeper = run
        if run is not None:
            run.meter = meter
        if inside.is_durable:
            blackboard.save_with(lambda value: encode_object(value, self.agent))
        # More than nothing, where a crash had ended it before its first action had.
        self._state.seconds = meter.seconds
        self._runner = ProcessRunner(self._execution, self._driver.saver, self._report_rest)
        self.spawned: asyncio.Task[AgentProcess] | None = None
        self.on_rest: Callable[[AgentProcess], None] | None = None
        if inside.checkpoint is not None:
            inside.checkpoint.attach(ProcessProgress(self._execution, saved_runs))

    @classmethod
    def create(
        cls,
        agent: PlannedAgentSpec,
        objects: Sequence[object],
        context: RunContext,
        options: ProcessOptions | None = None,
        run: DurableRun | None = None,
        blackboard: Blackboard | None = None,
    ) -> Self:
        """Create a process that has not started, with objects on its blackboard.

        Args:
            agent: description of the agent.
            objects: objects to begin with: see `add_inputs`.
            context: context with the id of the process.
            options: settings; by default, the settings of the process around it, if any.
            run: keeper of the process, if the process is kept in a store and runs inside no other.
            blackboard: what is there first; by default, the objects in the options.
        """
        options = _add_review(options, agent, context)
        board = create_blackboard(options) if blackboard is None else blackboard
        add_inputs(board, objects, agent, context.clock)
        return cls(agent, board, context, options, run)

    @classmethod
    def restore(
        cls,
        agent: PlannedAgentSpec,
        context: RunContext,
        options: ProcessOptions | None = None,
        run: DurableRun | None = None,
    ) -> Self:
        """Restore the process of the checkpoint of a context, with the answers of the context to its requests.

        An action that was running will be run again.

        Args:
            agent: description of the agent.
            context: context with the id and the checkpoint of the process.
            options: settings; by default, those that it was saved with.
            run: keeper of the process, if the process is kept in a store and runs inside no other.

        Raises:
            StoredStateError: when it cannot be read, or holds what the agent does not know.
        """
        checkpoint = context.checkpoint
        restored = restore_process({} if checkpoint is None else checkpoint.data, agent, options)
        state = restored.state
        process = cls(agent, state.blackboard, context, restored.options, run, state)
        state.take_responses(context.responses)
        return process

    @classmethod
    def wake(cls, idle: IdleProcess, outer: RunContext) -> AgentProcess:
        """Return a process that was idle, to continue it.

        Args:
            idle: the process.
            outer: context of its platform.
        """
        return cls(idle.agent, idle.blackboard, idle.enter(outer), idle.options, None, idle.state)

    def to_idle(self) -> IdleProcess:
        """Return the process without what runs it."""
        meter, checkpoint = self._meter, self._context.checkpoint
        inside = {} if checkpoint is None else save_inside(checkpoint)
        used = self.tally if self.tally.by_model else None
        self._state.compact()
        return IdleProcess(
            self.id, self.agent, self.options, self._state, inside or None, meter.turns, meter.actions, used
        )

    @property
    def agent(self) -> PlannedAgentSpec:
        """Description of the agent."""
        return self._execution.agent

    @property
    @override
    def name(self) -> str:
        return self.agent.name

    @property
    @override
    def instance(self) -> object:
        return self.agent.instance

    @property
    @override
    def goals(self) -> tuple[GoalSpec, ...]:
        return self.agent.goals

    @property
    def is_unrecorded(self) -> bool:
        """True when the process has ended, and its record does not say so yet: `run` finishes the record."""
        return self._driver.saver.is_unrecorded

    @property
    @override
    def status(self) -> ProcessStatus:
        """The status of the process, as its record has it: it is running until the record says that it has ended."""
        return ProcessStatus.RUNNING if self.is_unrecorded else self._state.status

    @property
    def seconds(self) -> float:
        """Seconds that the process has run, without the time in which it waited."""
        return self._state.seconds if self._runner.task is None else self._meter.seconds

    @property
    def plannable(self) -> tuple[Action, ...]:
        """The actions to plan with now: all, except an action that has just returned `None`."""
        return self.agent.plannable_without(self._state.declined)

    @property
    def error(self) -> Exception | None:
        """Exception of an action that ended the process."""
        return self._driver.error

    def __repr__(self) -> str:
        return f"AgentProcess({self.name!r}, {self.id}, {self.status})"

    @property
    @override
    def result(self) -> T_co | None:
        return super().result  # type: ignore[return-value]  # the goals of a Planned[T] give a T

    def diagram(self) -> Diagram:
        """Return a drawing of the agent, with what has run, what is there, what failed, and what is next."""
        from tactician.process.agent.diagram import draw_process

        return draw_process(self.agent, self._state)

    def to_mermaid(self) -> str:
        """Return the drawing as a Mermaid flowchart."""
        from tactician.diagrams.mermaid import to_mermaid

        return to_mermaid(self.diagram())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return what a notebook shows."""
        from tactician.diagrams.html import render_mimebundle

        facts = {
            "status": str(self.status),
            "reason": self.failure or "",
            "plan": "" if self.plan is None else str(self.plan),
            "waits for": "\n".join(request.prompt for request in self.pending),
            "cost": "" if self.cost is None else f"${self.cost:.4f}",
        }
        return render_mimebundle(repr(self), self.name, facts, self.diagram())

    @override
    def has_run(self, action: str) -> bool:
        return self.blackboard.condition(self.agent.action(action).condition_ran)

    @override
    async def observe(self) -> WorldState:
        return await self._driver.observe()

    @override
    async def outlook(self) -> Plan | None:
        return (await self._driver.decide()).plan

    async def explain_stuck(self) -> str:
        """Explain what keeps each goal from being reached from here, for people."""
        from tactician.process.deciding.stuck import explain_stuck

        return explain_stuck(self.agent, self._state, await self.observe())

    @override
    async def list_owed_rules(self) -> tuple[str, ...]:
        return await self._driver.list_owed_rules()

    @override
    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        return await self._driver.act(name, context)

    async def run(self) -> Self:
        """Run until the goal is reached or nothing can be done; the status tells which.

        While somebody else runs the process, or makes a step, wait for that first.
        The exception of an action ends the process as `FAILED`, and is kept in `error`; it is not raised here.

        Raises:
            ConfigurationError: when a tool group is missing that an action uses; then nothing was done.
            RunConflictError: when the process is kept in a store, and somebody else runs it, or has run it since it was
                loaded; then nothing was done.
            LeaseLostError: when somebody else has taken it over meanwhile.
        """
        work = self._runner.resume(self._driver.run)
        # Inside another, with a stack of its own: the budget ends an agent that runs itself, and no RecursionError.
        await (work if self.parent_id is None else asyncio.create_task(work))
        return self

    async def tick(self) -> None:
        """Make a step: observe the world, plan, run the first action of the plan, record it. `run` makes all steps.

        Begins a process that has not started, and continues an idle process; a process that has ended, or waits, stays
        as it is. Where the options allow it, further actions of the plan run at the same time.

        Raises:
            ConfigurationError: when a tool group is missing that an action uses; then nothing was done.
            RunConflictError: as `run`.
            LeaseLostError: as `run`.
        """
        await self._runner.resume(self._driver.step)

    async def run_step(self) -> None:
        """Make a step, and pause: `run` for what decides itself when the next step is due.

        A process that has ended, or waits, stays as it is.

        Raises:
            ConfigurationError: as `run`.
            RunConflictError: as `run`.
            LeaseLostError: as `run`.
        """
        await self._runner.resume(self._driver.run_step)

    async def wait(self) -> Self:
        """Wait until the process has run as far as it can: has ended, is stuck, waits or is paused. It runs elsewhere.

        Raises:
            TacticianError: the reason why a spawned process could not be saved.
        """
        if self.spawned is not None:
            await asyncio.shield(self.spawned)
        await self._runner.wait()
        return self

    async def respond(self, request_id: str, response: Response, respondent: Respondent = NOBODY) -> Self:
        """Answer a pending request, and run.

        Raises:
            ResponseError: when there is no such request, the answer does not fit, or the respondent lacks the role that
                the request requires; then the process still waits.
            RunConflictError: when the process is kept in a store, and somebody else runs it, or has run it since it was
                loaded; then nothing was done. An `AlreadyAnsweredError` when the request has an answer.
            LeaseLostError: when somebody else has taken it over meanwhile.
        """
        self._find_open(request_id)
        saver = self._driver.saver
        async with nullcontext() if saver.is_held else saver.hold_lease():
            self.answer(request_id, response, respondent)
            await self.run()
        for request in self.pending:
            if request.id == request_id and request.problem is not None:
                raise ResponseError(f"{request_id}: the answer is not valid: {request.problem}")
        return self

    def answer(self, request_id: str, response: Response, respondent: Respondent = NOBODY) -> None:
        """Answer a pending request; `run` continues then.

        Raises:
            ResponseError: when there is no such request, the process has ended, or the respondent lacks the role that
                the request requires.
            AlreadyAnsweredError: when the request has an answer.
            StoredStateError: when the process is saved, and the answer would not be read back equal.
        """
        request = self._find_open(request_id)
        check_role(request, respondent)
        if self._driver.saver.is_active:
            check_response(request, response)
        self._state.responses[request_id] = response
        if self._context.checkpoint is not None:
            record_authors(self._context.checkpoint, [request_id], respondent.name)
            record_key(self._context.checkpoint, [request_id], respondent.key)
        self._context.emit(RequestAnswered, request_id=request_id, by=respondent.name)
        respondent.report_acceptance()

    async def keep_answer(self, request_id: str, response: Response, respondent: Respondent = NOBODY) -> None:
        """Answer a pending request of a process that runs, and save the answer: an action of it may still run for long.

        Raises:
            ResponseError: as `answer`, and the other errors there.
            LeaseLostError: when somebody else has taken the process over.
        """
        self.answer(request_id, response, respondent)
        await self._driver.saver.save_step()

    def _find_open(self, request_id: str) -> PendingRequest:
        """Return a request without an answer that the process waits for.

        Raises:
            ResponseError: when no such request waits, or the process has ended.
            AlreadyAnsweredError: when the request has an answer.
        """
        state, checkpoint = self._state, self._context.checkpoint
        # A process inside, whose worker has died, may have asked what only the record shows.
        shown = () if self.keeper is None or self.status.is_terminal else self.keeper.record.header.pending
        pending = {request.id: request for request in (*shown, *self.pending)}
        was_answered = checkpoint is not None and bool(find_answered(checkpoint, [request_id]))
        if self.status.is_terminal:
            kind = AlreadyAnsweredError if was_answered else ResponseError
            raise kind(f"The process {self.id} {self.status.sentence}: it waits for nothing.")
        has_answer = request_id in state.responses and request_id not in state.unused
        if has_answer or (was_answered and request_id not in pending):
            raise create_answered_error(self.id, [request_id])
        if request_id not in pending:
            raise ResponseError(f"{self.name} does not wait for {request_id!r}; it waits for {list(pending)}")
        return pending[request_id]

    @override
    def pause(self) -> None:
        self._driver.pause()

    @override
    async def kill(self, reason: str = "killed") -> None:
        await self._runner.kill(reason)

    @override
    def is_run_by(self, task: asyncio.Task[object] | None) -> bool:
        runner_task = self._runner.task
        return runner_task is not None and (
            task is runner_task or any(child.is_run_by(task) for child in self._inside.values())
        )

    def mark_ended(self, status: ProcessStatus, failure: str | None) -> None:
        """Note that the process has ended in its store, without a step that says so."""
        self._state.status, self._state.failure = status, failure

    def _report_rest(self) -> None:
        if self.on_rest is not None:
            self.on_rest(self)


def _inherit_options(context: RunContext) -> ProcessOptions | None:
    """Return the options that a process inside an action has from the process around it; `None` outside of actions."""
    outer = None if (operation := context.find(OperationContext)) is None else operation.process
    return outer.options.for_child() if isinstance(outer, AgentProcess) else None


def _add_review(options: ProcessOptions | None, agent: PlannedAgentSpec, context: RunContext) -> ProcessOptions | None:
    """Return the options of a new process, with the plan review of its platform when they have none.

    What runs inside a process with reviews is part of a plan that was reviewed.
    """
    terms = context.services.find(PlanningSettings).plan_review
    if terms is None or not agent.is_planned or (options is not None and options.plan_review is not None):
        return options
    operation = context.find(OperationContext)
    if operation is not None and isinstance(outer := operation.process, AgentProcess) and outer.options.plan_review:
        return options
    return replace(options or _inherit_options(context) or DEFAULT_OPTIONS, plan_review=terms)
