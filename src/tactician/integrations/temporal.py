"""Processes on Temporal: its workers take the steps, and it keeps the times; our store keeps the processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tactician.agents import PlannedAgent, raise_unless_completed
from tactician.errors import ConfigurationError, MissingExtraError, ResponseError, RunConflictError
from tactician.integrations.stepping import Stepper
from tactician.platform import Platform
from tactician.process import DEFAULT_LEASE, AgentProcess, ProcessOptions, ProcessStatus
from tactician.runs import Response

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHandle
    from temporalio.worker import Worker

INSTALL_HINT = 'pip install "tactician[temporal]"'
_BEATS = 3
_ATTEMPTS = 5


class TemporalDriver:
    """Runs processes of the platform's agents as workflows of Temporal, one for each.

    A workflow takes one step after another as activities, and waits for people and deadlines. It knows the ids and the
    statuses of a process; its objects are in the platform's store only, which all workers and callers have to share.

    Args:
        platform: whose agents and store it works with. Give it a store that others can reach.
        client: a connected Temporal client.
        task_queue: the workers of which take the steps.
        options: how processes are run, with the same options by each worker.
        lease: seconds without a sign of life of a worker, after which another one takes its step over.
        step_timeout: how long one step may take, with the retries of its action.

    Raises:
        MissingExtraError: when the extra `temporal` is not installed.
        ConfigurationError: when the options name a context, which belongs to single processes.
    """

    def __init__(
        self,
        platform: Platform,
        client: Client,
        *,
        task_queue: str = "tactician",
        options: ProcessOptions | None = None,
        lease: float = DEFAULT_LEASE,
        step_timeout: timedelta = timedelta(days=1),
    ) -> None:
        if find_spec("temporalio") is None:
            raise MissingExtraError(f"Temporal's SDK is not installed. Run: {INSTALL_HINT}")
        if options is not None and options.memory_id is not None:
            raise ConfigurationError("A driver has options for all its processes: leave their memory_id out.")
        self._client = client
        self._task_queue = task_queue
        self._delay = 0.0 if options is None else options.delay
        self._lease = lease
        self._step_timeout = step_timeout
        self._stepper = Stepper(platform, options, lease=lease)

    def worker(self, *, max_parallel: int = 10) -> Worker:
        """A Temporal worker that takes up to so many steps at once: `async with driver.worker(): ...`."""
        from temporalio.worker import Worker

        from tactician.integrations.temporal_activities import Activities
        from tactician.integrations.temporal_workflow import ProcessWorkflow

        beat = self._lease / _BEATS
        activities = Activities(self._stepper, beat)
        return Worker(
            self._client,
            task_queue=self._task_queue,
            workflows=[ProcessWorkflow],
            activities=[activities.step, activities.kill],
            max_concurrent_activities=max_parallel,
            max_heartbeat_throttle_interval=timedelta(seconds=beat),
            sticky_queue_schedule_to_start_timeout=timedelta(seconds=beat),
        )

    async def start(self, agent: object, *objects: object) -> str:
        """Starts a process of a registered agent, given itself or by its name; the id of the process.

        Raises:
            AgentNotFoundError: when it is not registered: a worker finds it by its name.
            StoredStateError: when an object has no JSON form.
        """
        name = agent if isinstance(agent, str) else PlannedAgent(agent).name
        process_id = await self._stepper.added(name, *objects)
        await self.resume(process_id)
        return process_id

    async def resume(self, process_id: str) -> None:
        """Goes on with a process that was paused or is stuck, or that was begun without Temporal.

        Raises:
            RunNotFoundError: when there is no such process.
        """
        await self._stepper.status(process_id)
        await self._begin(process_id, "resume")

    async def pause(self, process_id: str) -> None:
        """Has a process take no further step until `resume`; nothing happens when it has ended."""
        with _unless_ended():
            await self._handle(process_id).signal("pause")

    async def respond(self, process_id: str, request_id: str, response: Response) -> None:
        """Answers a request of a process that waits, and returns once a worker has taken the answer.

        The answer is kept in the store, and the workflow is told of it, also when nobody waits for this to return.

        Raises:
            RunNotFoundError: when there is no such process.
            RunConflictError: when somebody goes on with it outside of Temporal.
            ResponseError: when it does not wait for that, or the answer does not fit; then it still waits.
        """
        await self._keep_answer(process_id, request_id, response)
        await self._begin(process_id, "answered", request_id)
        if await self._is_refused(process_id, request_id):
            pending = (await self.process(process_id)).pending
            problem = next((request.problem for request in pending if request.id == request_id), None)
            raise ResponseError(f"{request_id}: this is no valid answer: {problem}")

    async def kill(self, process_id: str) -> None:
        """Ends a process for good, and interrupts what it does, with the next heartbeat of its worker.

        Raises:
            RunNotFoundError: when there is no such process.
        """
        with _unless_ended():
            await self._handle(process_id).signal("kill")
            return
        await self._stepper.kill(process_id)

    async def process(self, process_id: str) -> AgentProcess:
        """A process as it is kept: its blackboard, its history, and what it waits for.

        Raises:
            RunNotFoundError: when there is none with the id.
            StoredStateError: when what is kept cannot be read.
        """
        return await self._stepper.process(process_id)

    async def status(self, process_id: str) -> ProcessStatus:
        """Where a process stands.

        Raises:
            RunNotFoundError: when there is none with the id.
        """
        status = await self._stepper.status(process_id)
        is_between_steps = status is ProcessStatus.PAUSED and await self._is_running(process_id)
        return ProcessStatus.RUNNING if is_between_steps else status

    async def result(self, process_id: str) -> object:
        """The object that reaching the goal gives; waits for it.

        Raises:
            RunNotFoundError: when there is none with the id.
            ProcessStuckError: when no plan reaches a goal.
            ProcessFailedError: when it ended in any other way.
        """
        from temporalio.client import WorkflowFailureError

        with suppress(WorkflowFailureError), _unless_ended():  # the store says how the process stands
            await self._handle(process_id).result()
        process = await self.process(process_id)
        raise_unless_completed(process)
        return process.result

    async def _begin(self, process_id: str, signal: str, *arguments: str) -> None:
        """Sends the workflow of a process a signal; it is started, when it does not run."""
        from tactician.integrations.temporal_workflow import Driven, ProcessWorkflow

        timeout = self._step_timeout.total_seconds()
        await self._client.start_workflow(
            ProcessWorkflow.run,
            Driven(process_id, self._lease, timeout, self._delay),
            id=_workflow_id(process_id),
            task_queue=self._task_queue,
            start_signal=signal,
            start_signal_args=arguments,
        )

    async def _keep_answer(self, process_id: str, request_id: str, response: Response) -> None:
        for _ in range(_ATTEMPTS):
            try:
                return await self._stepper.answer(process_id, request_id, response)
            except RunConflictError:  # most likely the step that takes another answer
                with _unless_ended():
                    await self._handle(process_id).execute_update("rested")
        return await self._stepper.answer(process_id, request_id, response)

    async def _is_refused(self, process_id: str, request_id: str) -> bool:
        fits = True
        with _unless_ended():
            fits = await self._handle(process_id).execute_update("verdict", request_id, result_type=bool)
        return not fits

    async def _is_running(self, process_id: str) -> bool:
        """Whether a process that is kept as paused is so only until its next step."""
        from temporalio.client import WorkflowExecutionStatus

        from tactician.integrations.temporal_workflow import PAUSED

        with _unless_ended():
            described = await self._handle(process_id).describe()
            is_paused = await described.memo_value(PAUSED, default=False, type_hint=bool)
            return described.status is WorkflowExecutionStatus.RUNNING and not is_paused
        return False

    def _handle(self, process_id: str) -> WorkflowHandle[object, object]:
        return self._client.get_workflow_handle(_workflow_id(process_id))


def _workflow_id(process_id: str) -> str:
    return f"tactician-{process_id}"


@contextmanager
def _unless_ended() -> Iterator[None]:
    """Leaves out what is for a workflow that has ended, or was never begun."""
    from temporalio.service import RPCError, RPCStatusCode

    try:
        yield
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
