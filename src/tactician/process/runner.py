"""Runner of a process: one caller at a time continues it, and anybody ends it."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from tactician.errors import LeaseLostError, RunConflictError, StoredStateError
from tactician.process.acting.acting import Execution
from tactician.process.agent.operation import OperationContext
from tactician.process.agent.spec import check_tool_groups
from tactician.process.saving.saving import ProcessSaver
from tactician.process.state.events import ProcessEnded, ProcessStarted
from tactician.process.state.state import ProcessState, ProcessStatus
from tactician.runs import RunKilledError
from tactician.runs.user import ConversationId
from tactician.text import snake_case


class ProcessRunner:
    """Runner of a process, whose steps a driver makes.

    Args:
        execution: everything that the steps of the process work with.
        saver: saver of the process.
        report_rest: called whenever the process has run as far as it can.

    Attributes:
        task: the task that runs the process; `None` while none does.
    """

    __slots__ = ("_began", "_execution", "_is_idle", "_report_rest", "_saver", "_state", "_turn", "task")

    def __init__(self, execution: Execution, saver: ProcessSaver, report_rest: Callable[[], None]) -> None:
        self.task: asyncio.Task[object] | None = None
        self._execution = execution
        self._state: ProcessState = execution.state
        self._saver = saver
        self._report_rest = report_rest
        self._began: float | None = None
        self._turn = asyncio.Lock()
        self._is_idle = asyncio.Event()
        if self._state.status not in (ProcessStatus.NOT_STARTED, ProcessStatus.RUNNING):
            self._is_idle.set()

    async def wait(self) -> None:
        """Wait until the process has run as far as it can."""
        await self._is_idle.wait()

    async def resume(self, make_steps: Callable[[], Awaitable[None]]) -> None:
        """Let the driver make steps, once nobody else runs the process. One that has ended or waits stays as it is."""
        if self.task is not None and self in _running.get():  # what runs inside it cannot wait for that
            return
        async with self._turn:
            execution = self._execution
            self._state.answer_overdue(execution.context.clock.time())
            has_to_wait = self._state.has_to_wait and execution.context.find_missed_deadline() is None
            if not self._can_resume or has_to_wait:
                if self._saver.is_held:
                    await self._saver.save_status()
                elif self._saver.is_unrecorded:
                    async with self._saver.hold_lease():
                        await self._saver.save_status()
                return
            check_tool_groups(execution.agent, execution.context)
            async with self._saver.hold_lease():
                if self._can_resume:  # it may have been killed meanwhile
                    await self._run(make_steps)

    async def kill(self, reason: str) -> None:
        """End the process for good, and interrupt what it does: see `ProcessHandle.kill`."""
        state, task = self._state, self.task
        status, failure = state.status, state.failure
        if status.is_terminal and task is None:
            return
        state.end(ProcessStatus.KILLED, reason)
        if task is None:
            self._is_idle.set()
            self._report_rest()
        elif not self._execution.process.is_run_by(asyncio.current_task()):
            if not status.is_terminal:  # else it is on its way out
                task.cancel()
            async with self._turn:  # the task itself may have other things to do afterwards
                pass
        try:
            await self._saver.save_status()
        except RunKilledError:  # in the store, before
            return
        except LeaseLostError as error:
            if task is None:
                state.status, state.failure = status, failure
            raise RunConflictError(
                f"{self._execution.process!r} is continued by another worker: `await platform.kill(id)` ends it there."
            ) from error

    @property
    def _can_resume(self) -> bool:
        status = self._state.status
        return status is ProcessStatus.RUNNING or status.may_become(ProcessStatus.RUNNING)

    async def _run(self, make_steps: Callable[[], Awaitable[None]]) -> None:
        """Run the process in this task."""
        execution, state = self._execution, self._state
        execution.meter.restart(state.seconds)  # it may have been idle meanwhile
        self.task = asyncio.current_task()
        cancelled_before = 0 if self.task is None else self.task.cancelling()
        token = _running.set((*_running.get(), self))
        if (operation := execution.context.find(OperationContext)) is not None:
            operation.add_child(execution.process)
        is_over = True
        try:
            if state.status is not ProcessStatus.RUNNING or self._began is None:
                await self._begin()
            with execution.context.enter():
                await make_steps()
            is_over = state.status is not ProcessStatus.RUNNING
        except (CancelledError, RunKilledError) as error:
            if self._note_interruption() and self._take_cancellation(error) <= cancelled_before:
                return
            raise
        finally:
            _running.reset(token)
            self.task = None
            state.seconds = execution.meter.seconds
            if is_over:
                self._emit_ended()
                self._is_idle.set()
            self._report_rest()

    def _note_interruption(self) -> bool:
        """Note that the process was interrupted, and return whether it was killed.

        Another interruption ends it, unless it is saved and continues elsewhere.
        """
        state, saver = self._state, self._saver
        if saver.killed is not None:
            state.end(ProcessStatus.KILLED, saver.killed)
        was_killed = state.status is ProcessStatus.KILLED
        if not saver.is_active:
            state.end(ProcessStatus.KILLED, "the run was cancelled")
        return was_killed

    def _take_cancellation(self, error: BaseException) -> int:
        """Take back the cancellation of the task that a kill has asked for; return how many others there are."""
        assert self.task is not None
        return self.task.uncancel() if isinstance(error, CancelledError) else 0

    async def _begin(self) -> None:
        state, context = self._state, self._execution.context
        state.status = ProcessStatus.RUNNING
        state.unused = ()
        self._began = context.clock.monotonic()
        self._is_idle.clear()
        agent = self._execution.agent
        goals = tuple(goal.name for goal in agent.goals)
        conversation = context.find(ConversationId)
        context.emit(
            ProcessStarted,
            agent=agent.name,
            goals=goals,
            trace_parent=context.trace_parent,
            conversation_id=None if conversation is None else conversation.id,
            agent_id=snake_case(agent.name),
            description=agent.description,
        )
        try:
            await self._saver.begin()
        except StoredStateError as error:  # an input cannot be stored: the store has it as it was before, if at all
            state.end(ProcessStatus.FAILED, str(error))
            raise

    def _emit_ended(self) -> None:
        state, context = self._state, self._execution.context
        context.emit(
            ProcessEnded,
            status=state.status,
            seconds=0.0 if self._began is None else context.clock.monotonic() - self._began,
            tally=context.tally,
            failure="it was interrupted" if state.status is ProcessStatus.RUNNING else state.failure,
        )


_running: ContextVar[tuple[ProcessRunner, ...]] = ContextVar("the processes that run, outermost first", default=())
