"""Saving of a process: its steps, and its status."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext

from tactician.cancellation import run_to_completion
from tactician.process.acting.acting import Execution
from tactician.process.state.state import ProcessStatus
from tactician.runs import PendingRequest, list_prompts
from tactician.runs.life.durable import DurableRun
from tactician.runs.life.output import format_output


class ProcessSaver:
    """Saver of a process: does nothing for a process that belongs to no durable store.

    Args:
        execution: everything that the steps of the process work with.
        run: keeper of a process that is inside no other run; others are steps of the run around them.
    """

    __slots__ = ("_execution", "_run", "_saved_runs", "_shown", "_state")

    def __init__(self, execution: Execution, run: DurableRun | None) -> None:
        self._execution = execution
        self._state = execution.state
        self._run = run
        self._saved_runs = len(execution.state.history)
        self._shown: set[str] = set()

    @property
    def is_active(self) -> bool:
        """True when the process is saved, so that it can continue elsewhere."""
        return self._execution.context.is_saved

    @property
    def killed(self) -> str | None:
        """The reason for which the process was killed in its store; `None` when it was not."""
        return None if self._run is None else self._run.killed

    @property
    def is_held(self) -> bool:
        """True while the process continues here under a lease of its own."""
        return self._run is not None and self._run.is_held

    def hold_lease(self) -> AbstractAsyncContextManager[None]:
        """Hold the lease of the process, if it has a lease of its own."""
        return nullcontext() if self._run is None else self._run.hold()

    async def begin(self) -> None:
        """Save that the process begins or continues."""
        if self._run is not None and self.is_active:
            self._shown = {request.id for request in self._run.record.header.pending}
            await self._run.begin()
            await self.save_status()
            await self.show_pending()

    @property
    def is_unrecorded(self) -> bool:
        """True when the process has ended, and its record does not say so: its program was interrupted before.

        The program that kills a process writes the record, and this program may not have read it yet.
        """
        run, status = self._run, self._state.status
        has_ended = status.is_terminal and status is not ProcessStatus.KILLED
        has_ended = has_ended and run is not None and self.is_active and not run.is_held
        return has_ended and run is not None and bool(run.record.version) and not run.record.has_ended

    async def save(self) -> None:
        """Save the process as it is now: as a step, and a change of its status too.

        No cancellation comes between the last step and the status that belongs to it.
        """
        if self._state.status is ProcessStatus.RUNNING:
            await self._save()
        else:
            # The step says what happened, the status that it was the end: between them the record would say less than
            # its steps.
            await run_to_completion(self._save())

    async def _save(self) -> None:
        await self.save_step()
        if self.is_active:
            await self.save_status()
            await self.show_pending()

    async def save_status(self) -> None:
        """Save the status of the process, if it differs from the stored status."""
        state = self._state
        if self._run is not None and self.is_active and self._run.record.status is not state.status:
            await self._run.save_status(
                state.status, pending=self._pending, failure=state.failure, output=self._result_text
            )

    async def show_pending(self) -> None:
        """Show in the record of the run what somebody is asked while the process continues, until that is answered."""
        if self._state.status is not ProcessStatus.RUNNING or not self.is_active:
            return
        asked = self._pending
        ids = {request.id for request in asked}
        if ids != self._shown:
            await self._execution.context.show_pending(asked, self._shown - ids)
            self._shown = ids

    async def save_step(self) -> None:
        """Save what has just happened as a step: actions that ended, questions to somebody, or the end.

        While actions still run, the status that the process will have is not saved: no step can follow the last.
        """
        # Messages first: the conversation must have every message that the saved step has sent.
        if (conversation := self._execution.conversation) is not None:
            await conversation.flush()
        if not self.is_active:
            return
        state, context = self._state, self._execution.context
        new, self._saved_runs = state.history[self._saved_runs :], len(state.history)
        if new:
            results = (run.error or ", ".join(run.outputs) for run in new)
            await context.save_step("action", ", ".join(run.action for run in new), "; ".join(results))
        if state.status is ProcessStatus.WAITING and (pending := state.pending):
            names = ", ".join(state.waiting)
            if self._run is None:
                await context.save_step("suspended", names, list_prompts(pending))
            else:
                await self._run.save_all("suspended", names, list_prompts(pending), pending)
        # No action has ended, but answers or progress inside may have changed: a step without a name keeps them.
        elif not new and state.status is ProcessStatus.RUNNING:
            await context.save_step("progress")
        elif not new:
            await context.save_step(state.status.value, detail=state.failure or self._result_text)

    @property
    def _pending(self) -> tuple[PendingRequest, ...]:
        """The requests that the record shows: of a process that continues, those without an answer."""
        match self._state.status:
            case ProcessStatus.WAITING:
                return self._state.pending
            case ProcessStatus.RUNNING:
                return tuple(request for request in self._state.pending if request.id not in self._state.responses)
            case _:
                return ()

    @property
    def _result_text(self) -> str:
        result = self._execution.process.result
        return "" if result is None else format_output(result)
