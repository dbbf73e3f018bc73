"""Steps of stored runs, for engines that decide when the next step is due."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypeForm, Unpack

from tactician.agents.planned.planned_agent import raise_unless_completed
from tactician.agents.planned.specs import as_runnable
from tactician.errors import ResponseError, RunConflictError, RunNotFoundError
from tactician.events.event import new_id
from tactician.integrations.step_report import StepReport
from tactician.loop import output_type
from tactician.platform import Platform
from tactician.platform.enqueue_options import EnqueueOptions
from tactician.process import AgentProcess
from tactician.runs import RunError, RunResult, RunStatus
from tactician.runs.life.execution import end_overdue, keep_responses
from tactician.runs.life.holding import DEFAULT_LEASE, kill_run
from tactician.runs.life.output import read_output
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores.document import Lease


class Stepper:
    """Runner of single steps of the runs of a platform, each under a lease.

    A step of a process is an action. Any other run continues until it waits or ends: its own steps are saved on the
    way, so that a step that is repeated repeats only what was in flight.

    Args:
        platform: platform with the agents and the store.
        lease: duration of the lease in seconds; it is renewed while a step runs.
    """

    def __init__(self, platform: Platform, *, lease: float = DEFAULT_LEASE) -> None:
        self._platform = platform
        self._runs = RunStore(platform.store)
        self._lease = lease
        self._owner = f"stepper-{new_id()}"

    async def add(self, agent: object, *objects: object, **settings: Unpack[EnqueueOptions]) -> str:
        """Add a new run of a registered Runnable to the store, and return its id. See `Platform.enqueue`.

        Raises:
            AgentNotFoundError: when it is not registered, because each step finds it by its name.
            ConfigurationError: when the platform has no store, or the options cannot be kept there.
            StoredStateError: when an object has no JSON form.
        """
        name = agent if isinstance(agent, str) else _name_of(agent)
        return await self._platform.enqueue(name, *objects, **settings)

    async def step(self, run_id: str, now: float) -> StepReport:
        """Run a step. A waiting run without an answer stays as it is.

        Args:
            run_id: id of the run.
            now: time of the engine; requests whose deadline has passed then get their default answers, and a run that
                waits and whose own deadline has passed ends.

        Raises:
            RunNotFoundError: when there is no such run.
            RunConflictError: when another worker is continuing it.
            LeaseLostError: when somebody else has claimed it meanwhile.
            StoredStateError: when what is kept cannot be read.
        """
        record = await self.load(run_id)
        if record.status.is_terminal:
            return _create_report(record, now)
        if record.status is RunStatus.WAITING and record.header.deadline is not None and record.header.deadline <= now:
            await end_overdue(*await self._claim(run_id), self._platform.context())
            return _create_report(await self.load(run_id), now)
        await self._answer_overdue(record, now)
        try:
            outcome = await self._platform.step_claimed(*await self._claim(run_id), seconds=self._lease)
        except Exception:
            ended = await self.load(run_id)
            if not ended.status.is_terminal:
                raise
            return _create_report(ended, now)  # its record has the failure
        return _create_report(await self.load(run_id), now, _find_delay(outcome))

    async def answer(self, run_id: str, responses: Mapping[str, Response]) -> None:
        """Save answers to requests of a waiting run, for its next step.

        Raises:
            RunNotFoundError: when there is no such run.
            RunConflictError: when somebody is continuing it.
            ResponseError: when it does not wait for that.
        """
        record = await self.load(run_id)
        if record.status.is_terminal:
            raise ResponseError(f"The run {run_id} {record.status.sentence}: it waits for nothing.")
        await keep_responses(*await self._claim(run_id), self._platform.context(), responses)

    async def load(self, run_id: str) -> RunRecord:
        """Return the record of a run, without its state. A process is `PAUSED` between two steps.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        return await self._load(run_id, with_body=False)

    async def load_process(self, run_id: str) -> AgentProcess:
        """Return a stored process.

        Raises:
            RunNotFoundError: when there is no such run.
            AgentNotFoundError: when the run is not a process, or its agent is not registered here.
            ConfigurationError: when this is not a platform, which has no processes.
            StoredStateError: when what is kept cannot be read.
        """
        return await self._platform.process(run_id)

    async def load_output(self, run_id: str) -> object:
        """Return the output of a run: for a process, the object that reached its goal.

        Raises:
            RunNotFoundError: when there is no such run.
            ProcessError: when a process has not completed.
            RunError: when any other run has not.
            StoredStateError: when what is kept cannot be read.
        """
        record = await self._load(run_id)
        if record.kind == "process":
            process = await self.load_process(run_id)
            raise_unless_completed(process)
            return process.result
        if record.status is not RunStatus.COMPLETED:
            why = record.header.failure or ", ".join(request.prompt for request in record.header.pending)
            result = RunResult(None, record.status, run_id=run_id, pending=record.header.pending)
            raise RunError(f"{record.name}: the run {run_id} {record.status.sentence}: {why}", result)
        return self._revive(record.name, read_output((await self._runs.load_state(record)).tree))

    async def kill(self, run_id: str) -> StepReport:
        """End a run for good, unless it has ended.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        await kill_run(self._platform.store, run_id, "killed")
        return StepReport((await self.load(run_id)).status.value, has_ended=True)

    def _revive(self, name: str, output: object) -> object:
        """Return an output as the type that the Runnable declares, if it does."""
        kind: TypeForm[object] | None = getattr(self._platform.agents.get(name), "output_type", None)
        return output if kind is None else output_type(kind).accept(output)

    async def _answer_overdue(self, record: RunRecord, now: float) -> None:
        overdue = {request.id: request.default for request in record.header.pending if request.is_overdue(now)}
        if record.status is RunStatus.WAITING and overdue:
            await self.answer(record.run_id, overdue)

    async def _load(self, run_id: str, *, with_body: bool = True) -> RunRecord:
        record = await self._runs.load(run_id, with_body=with_body)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        return record

    async def _claim(self, run_id: str) -> tuple[RunRecord, Lease]:
        claimed = await self._runs.claim(self._owner, self._lease, run_id=run_id)
        if claimed is None:
            raise RunConflictError(f"Another worker is continuing the run {run_id}: try again.")
        return claimed


def _name_of(agent: object) -> str:
    runnable = as_runnable(agent)
    return type(agent).__name__ if runnable is None else runnable.name


def _create_report(record: RunRecord, now: float, delay: float = 0.0) -> StepReport:
    is_waiting = record.status is RunStatus.WAITING
    pending = (
        [open_request for open_request in record.header.pending if not open_request.is_answered] if is_waiting else []
    )
    status = RunStatus.RUNNING if record.status is RunStatus.PAUSED else record.status
    return StepReport(
        status.value,
        has_ended=status.is_terminal or status is RunStatus.STUCK,
        pending=[request.id for request in pending],
        refused=[request.id for request in pending if request.problem is not None],
        wakes_at=record.header.find_wake_time(now) if is_waiting else None,
        delay=delay,
    )


def _find_delay(outcome: object) -> float:
    return outcome.options.delay if isinstance(outcome, AgentProcess) else 0.0
