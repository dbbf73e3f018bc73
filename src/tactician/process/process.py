"""One run of a planned agent, and how it is steered."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter, time

from tactician.errors import LeaseLostError, ResponseError, RunConflictError, StoredStateError
from tactician.planning import Plan, WorldState
from tactician.process.announcing import Announcer
from tactician.process.blackboard import Blackboard
from tactician.process.context import begin_inside, options_inside
from tactician.process.diagram import process_flowchart
from tactician.process.driving import Driver, Persister
from tactician.process.history import ActionRun
from tactician.process.inputs import add_inputs
from tactician.process.needs import need_tool_groups
from tactician.process.options import ProcessOptions, board_to_begin_with
from tactician.process.snapshot import options_of, read, state_of, written
from tactician.process.spec import PlannedAgentSpec
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.process.surroundings import surroundings
from tactician.process.view import ProcessView
from tactician.runs import BudgetMeter, Response, RunContext


class AgentProcess(ProcessView):
    """One run of an agent towards its goals.

    Attributes:
        options: how it is run.
        spawned: what runs it beside, when it was spawned.
    """

    def __init__(
        self,
        agent: PlannedAgentSpec,
        blackboard: Blackboard,
        context: RunContext,
        options: ProcessOptions | None = None,
        persister: Persister | None = None,
        state: ProcessState | None = None,
    ) -> None:
        self.options = options or options_inside(context) or ProcessOptions()
        self._meter = BudgetMeter(self.options.budget, context.tally, context.clock, context.meter)
        inside = surroundings(context, self.options, self._meter)
        super().__init__(agent, ProcessState(blackboard) if state is None else state, inside)
        self._announce = Announcer(self._context)
        self._driver = Driver(self, self._state, self._context, self._meter, self._announce, persister)
        self._task: asyncio.Task[object] | None = None
        self._seconds = self._began = 0.0
        self._rests = asyncio.Event()
        if self.status not in (ProcessStatus.NOT_STARTED, ProcessStatus.RUNNING):
            self._rests.set()
        self.spawned: asyncio.Task[AgentProcess] | None = None

    @classmethod
    def create(
        cls,
        agent: PlannedAgentSpec,
        objects: Sequence[object],
        context: RunContext,
        options: ProcessOptions | None = None,
        persister: Persister | None = None,
        blackboard: Blackboard | None = None,
    ) -> AgentProcess:
        """Create a process that has not started, with objects on its blackboard, in a context that is its own.

        Args:
            blackboard: what is there first; by default, what the options say.
        """
        board = board_to_begin_with(options) if blackboard is None else blackboard
        add_inputs(board, objects, agent)
        return cls(agent, board, context, options, persister)

    @property
    def error(self) -> Exception | None:
        """What an action raised that ended the process."""
        return self._driver.error

    def to_mermaid(self) -> str:
        """A Mermaid flowchart of the agent, with what has run, what is there, what failed, and what is planned."""
        return process_flowchart(self)

    def __repr__(self) -> str:
        return f"AgentProcess({self.agent.name!r}, {self.id}, {self.status})"

    def snapshot(self) -> str:
        """All of the process, as JSON text.

        Raises:
            StoredStateError: when an object on the blackboard has no JSON form.
        """
        usage = list(self.tally.by_model.values())
        return written(self._state, self.agent, self.options, usage, self._meter)

    @classmethod
    def restored(
        cls,
        agent: PlannedAgentSpec,
        text: str,
        context: RunContext,
        options: ProcessOptions | None = None,
        persister: Persister | None = None,
        *,
        is_counted: bool = False,
    ) -> AgentProcess:
        """The process of a snapshot, in a context that has its id. An action that was running will be run again.

        Args:
            options: those that it was saved with, by default.
            is_counted: whether the run around it has counted already what it used.

        Raises:
            StoredStateError: when it cannot be read, or holds what the agent does not know.
        """
        saved = read(text)
        state = state_of(saved, agent)
        process = cls(agent, state.blackboard, context, options or options_of(saved), persister, state)
        process._meter.restore(saved["turns"], saved["seconds"], saved["actions"])
        process._seconds = saved["seconds"]
        if not is_counted:
            for used in saved["usage"]:
                context.tally.add(used)
        return process

    async def run(self) -> AgentProcess:
        """Goes on until the goal is reached or nothing can be done; the status tells which.

        What an action raises ends the process as `FAILED`, and is kept in `error`; it is not raised here.

        Raises:
            ConfigurationError: when a tool group is missing that an action uses; then nothing was done.
            RunConflictError: when it is kept in a store, and somebody else is going on with it, or has since it was
                loaded; then nothing was done.
            LeaseLostError: when somebody else has taken it over meanwhile.
        """
        work = self._go_on(self._driver.run)
        # Inside another, with a stack of its own: the budget ends an agent that runs itself, and no RecursionError.
        await (work if self.parent_id is None else asyncio.create_task(work))
        return self

    async def tick(self) -> None:
        """One step: observe the world, plan, run the first action of the plan, record it. `run` does all of them.

        It begins a process that has not started, and goes on with one that rests; one that has ended, or has to wait,
        stays as it is. Where the options allow it, further actions of the plan run at the same time.

        Raises:
            ConfigurationError: when a tool group is missing that an action uses; then nothing was done.
            RunConflictError: as `run`.
            LeaseLostError: as `run`.
        """
        await self._go_on(self._driver.step)

    async def finished(self) -> AgentProcess:
        """Waits until the process has run as far as it can: has ended, is stuck, waits or is paused. It runs elsewhere.

        Raises:
            TacticianError: what keeps one that was spawned from being kept in its store.
        """
        if self.spawned is not None:
            await asyncio.shield(self.spawned)
        await self._rests.wait()
        return self

    async def _go_on(self, work: Callable[[], Awaitable[None]]) -> None:
        self._state.answer_overdue(time())
        if not self._can_go_on or self._state.has_to_wait:
            return
        need_tool_groups(self.agent, self._context)
        async with self._driver.hold_lease():
            if self._can_go_on:  # it may have been killed meanwhile
                await self._work(work)

    @property
    def _can_go_on(self) -> bool:
        is_ticked = self.status is ProcessStatus.RUNNING and self._task is None
        return is_ticked or self.status.may_become(ProcessStatus.RUNNING)

    async def _work(self, work: Callable[[], Awaitable[None]]) -> None:
        self._meter.restore(self._meter.turns, self._seconds, self._meter.actions)  # it may have rested meanwhile
        self._task = asyncio.current_task()
        begin_inside(self, self._context)
        is_over = True
        try:
            if self.status is not ProcessStatus.RUNNING or not self._began:
                await self._begin()
            await work()
            is_over = self.status is not ProcessStatus.RUNNING
        except CancelledError:
            was_killed = self.status is ProcessStatus.KILLED
            if not self._driver.is_kept:  # what is kept is only interrupted
                self._state.end(ProcessStatus.KILLED, "the run was cancelled")
            if not was_killed or self._task is None:
                raise
            self._task.uncancel()
        finally:
            self._task = None
            self._seconds = self._meter.seconds
            if is_over:
                self._announce.ended(self._state, perf_counter() - self._began)
                self._rests.set()

    async def _begin(self) -> None:
        self._state.status = ProcessStatus.RUNNING
        self._began = perf_counter()
        self._rests.clear()
        self._announce.started(self.agent)
        try:
            await self._driver.keep()
        except StoredStateError as error:  # of what it was given: the store has it as it was before, if at all
            self._state.end(ProcessStatus.FAILED, str(error))
            raise

    async def respond(self, request_id: str, response: Response) -> AgentProcess:
        """Answers one of the pending requests, and goes on.

        Raises:
            ResponseError: when there is no such request, or the answer does not fit; then the process still waits.
            RunConflictError: when it is kept in a store, and somebody else is going on with it, or has since it was
                loaded; then nothing was done.
            LeaseLostError: when somebody else has taken it over meanwhile.
        """
        self.answer(request_id, response)
        await self.run()
        for request in self.pending:
            if request.id == request_id and request.problem is not None:
                raise ResponseError(f"{request_id}: this is no valid answer: {request.problem}")
        return self

    def answer(self, request_id: str, response: Response) -> None:
        """Answers one of the pending requests; `run` goes on then.

        Raises:
            ResponseError: when there is no such request, or the process has ended.
        """
        if self.status.is_terminal:
            raise ResponseError(f"The process {self.id} has ended, and is {self.status}: it waits for nothing.")
        known = [request.id for request in self.pending]
        if request_id not in known:
            raise ResponseError(f"{self.agent.name} does not wait for {request_id!r}; it waits for {known}")
        self._state.responses[request_id] = response

    async def kill(self, reason: str = "killed") -> None:
        """Ends the process for good, and interrupts what it does. One that has ended stays as it is.

        Raises:
            RunConflictError: when it is kept in a store, and has gone on elsewhere: `Platform.kill` ends it there.
        """
        task, status, failure = self._task, self.status, self.failure
        if status.is_terminal and task is None:
            return
        self._state.end(ProcessStatus.KILLED, reason)
        if task is None:
            self._rests.set()
        elif not self._is_run_by(asyncio.current_task()):
            task.cancel()
            await asyncio.wait([task])
        try:
            await self._driver.keep()
        except LeaseLostError as error:
            if task is None:
                self._state.status, self._state.failure = status, failure
            raise RunConflictError(
                f"{self!r} has gone on elsewhere: `await platform.kill(id)` ends it there."
            ) from error

    def _is_run_by(self, task: asyncio.Task[object] | None) -> bool:
        """Whether the task runs the process, or one inside it, for which it waits."""
        inside = (one for one in self._inside.values() if isinstance(one, AgentProcess))
        return task is self._task or any(one._is_run_by(task) for one in inside if one._task is not None)

    def pause(self) -> None:
        """Has the process stop once the action that runs has ended; `run` goes on."""
        self._driver.pause()

    async def act(self, name: str, context: RunContext) -> tuple[ActionRun, object]:
        """Runs an action as a part of the one that runs, in a context inside it; how it ended, and what it gave.

        Raises:
            BudgetError: when the process has used up what it may use.
            Paused: when the action has to wait.
        """
        return await self._driver.act(name, context)

    async def observe(self) -> WorldState:
        """The value of every condition now, each evaluated once."""
        return await self._driver.observe()

    async def outlook(self) -> Plan | None:
        """Return the plan that the next `tick` follows, without following it; `None` when there is none.

        Actions that wait are run before it.
        """
        return (await self._driver.decide()).plan
