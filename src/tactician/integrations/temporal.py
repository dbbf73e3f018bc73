"""Runs on Temporal: its workers run the steps, and it keeps the times; our store keeps the runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from typing_extensions import Unpack

from tactician.errors import MissingExtraError, ResponseError, RunConflictError
from tactician.extras import describe_install
from tactician.integrations.stepper import Stepper
from tactician.platform import Platform, RunReader, RunView
from tactician.platform.enqueue_options import EnqueueOptions
from tactician.process import AgentProcess
from tactician.runs import RunStatus
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.runs.outcomes.suspension import Response

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHandle
    from temporalio.worker import Worker

INSTALL_HINT: Final = describe_install("temporal")
_BEATS = 3
_ATTEMPTS = 5


class TemporalDriver:
    """Driver that runs the Runnables of a platform as workflows of Temporal, a workflow for each run.

    A workflow makes steps as activities, and waits for people and deadlines. A step of a process is
    an action; any other run continues until it waits or ends. Temporal knows the ids and the statuses of runs;
    everything else is in the store of the platform only, which all workers and callers have to share.

    Args:
        platform: platform with the agents and the store. Give it a store that others can reach.
        client: a connected Temporal client.
        task_queue: task queue whose workers make the steps.
        lease: seconds without a heartbeat of a worker, after which another worker takes its step over.
        step_timeout: time that a step may take, with the retries of its action.

    Raises:
        MissingExtraError: when the extra `temporal` is not installed.
    """

    def __init__(
        self,
        platform: Platform,
        client: Client,
        *,
        task_queue: str = "tactician",
        lease: float = DEFAULT_LEASE,
        step_timeout: timedelta = timedelta(days=1),
    ) -> None:
        if find_spec("temporalio") is None:
            raise MissingExtraError(f"Temporal's SDK is not installed. {INSTALL_HINT}")
        self._store = platform.store
        self._client = client
        self._task_queue = task_queue
        self._lease = lease
        self._step_timeout = step_timeout
        self._stepper = Stepper(platform, lease=lease)

    def create_worker(self, *, max_parallel: int = 10) -> Worker:
        """Return a Temporal worker with a maximum of concurrent steps: `async with driver.create_worker(): ...`."""
        from temporalio.worker import Worker

        from tactician.integrations.temporal_activities import Activities
        from tactician.integrations.temporal_workflow import RunWorkflow

        beat = self._lease / _BEATS
        activities = Activities(self._stepper, beat)
        return Worker(
            self._client,
            task_queue=self._task_queue,
            workflows=[RunWorkflow],
            activities=[activities.step, activities.kill],
            max_concurrent_activities=max_parallel,
            max_heartbeat_throttle_interval=timedelta(seconds=beat),
            sticky_queue_schedule_to_start_timeout=timedelta(seconds=beat),
        )

    async def start(self, agent: object, *objects: object, **settings: Unpack[EnqueueOptions]) -> str:
        """Start a run of a registered Runnable, and return its id. See `Platform.enqueue`.

        Temporal does not look at the priority, which the store keeps with the run.

        Raises:
            AgentNotFoundError: when it is not registered: a worker finds it by its name.
            ConfigurationError: when the platform has no store, or the options cannot be kept there.
            StoredStateError: when an object has no JSON form.
        """
        run_id = await self._stepper.add(agent, *objects, **settings)
        await self.resume(run_id)
        return run_id

    async def resume(self, run_id: str) -> None:
        """Continue a run that was paused or is stuck, or that was started without Temporal, as a request of a service.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        await self._stepper.load(run_id)
        await self._send_signal(run_id, "resume")

    async def pause(self, run_id: str) -> None:
        """Pause a run before its next step, until `resume`; nothing happens when it has ended.

        The step that runs is finished: the action of a process, or, of any other run, all until it waits or ends.
        """
        with _ignore_ended():
            await self._handle(run_id).signal("pause")

    async def respond(self, run_id: str, request_id: str, response: Response) -> None:
        """Answer a request of a run that waits, and return once a worker has taken the answer.

        The answer is kept in the store, and passed to the workflow, also when nobody waits for this to return.

        Raises:
            RunNotFoundError: when there is no such run.
            RunConflictError: when somebody continues it outside of Temporal.
            ResponseError: when it does not wait for that, or the answer is not valid; then it still waits.
        """
        await self._keep_answer(run_id, request_id, response)
        await self._send_signal(run_id, "note_answer", request_id)
        if await self._is_refused(run_id, request_id):
            pending = (await self._stepper.load(run_id)).header.pending
            problem = next((request.problem for request in pending if request.id == request_id), None)
            raise ResponseError(f"{request_id}: this is not a valid answer: {problem}")

    async def kill(self, run_id: str) -> None:
        """End a run for good, and interrupt its work at the next heartbeat of its worker.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        with _ignore_ended():
            await self._handle(run_id).signal("kill")
            return
        await self._stepper.kill(run_id)

    async def get_process(self, run_id: str) -> AgentProcess:
        """Return a stored process: its blackboard, its history and its pending requests.

        Raises:
            RunNotFoundError: when there is no such run.
            AgentNotFoundError: when the run is not a process, or its agent is not registered here.
            ConfigurationError: for a service, which has no processes.
            StoredStateError: when what is kept cannot be read.
        """
        return await self._stepper.load_process(run_id)

    async def get_run(self, run_id: str) -> RunView:
        """Return a stored run of any kind, whose Runnable need not be registered here.

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when what is kept cannot be read.
        """
        return await RunReader(self._store).get(run_id)

    async def get_status(self, run_id: str) -> RunStatus:
        """Return the status of a run.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        status = (await self._stepper.load(run_id)).status
        is_between_steps = status is RunStatus.PAUSED and await self._is_running(run_id)
        return RunStatus.RUNNING if is_between_steps else status

    async def wait_for_output(self, run_id: str) -> object:
        """Wait for the end of a run, and return its output.

        Returns:
            The object that reaching the goal gave, for a process. For any other run, its output, of the `output_type`
            of the Runnable, or without such a type its JSON form.

        Raises:
            RunNotFoundError: when there is no such run.
            ProcessStuckError: when no plan of a process reaches a goal.
            ProcessFailedError: when a process ended in any other way.
            RunError: when any other run has not completed.
        """
        from temporalio.client import WorkflowFailureError

        with suppress(WorkflowFailureError), _ignore_ended():  # the store has the status
            await self._handle(run_id).result()
        return await self._stepper.load_output(run_id)

    async def _send_signal(self, run_id: str, signal: str, *arguments: str) -> None:
        """Send the workflow of a run a signal; it is started when it does not run."""
        from tactician.integrations.temporal_workflow import RunWorkflow, WorkflowInput

        await self._client.start_workflow(
            RunWorkflow.run,
            WorkflowInput(run_id, self._lease, self._step_timeout.total_seconds()),
            id=_build_workflow_id(run_id),
            task_queue=self._task_queue,
            start_signal=signal,
            start_signal_args=arguments,
        )

    async def _keep_answer(self, run_id: str, request_id: str, response: Response) -> None:
        for _ in range(_ATTEMPTS):
            try:
                return await self._stepper.answer(run_id, {request_id: response})
            except RunConflictError:  # most likely the step that takes another answer
                with _ignore_ended():
                    await self._handle(run_id).execute_update("wait_for_step")
        return await self._stepper.answer(run_id, {request_id: response})

    async def _is_refused(self, run_id: str, request_id: str) -> bool:
        is_valid = True
        with _ignore_ended():
            is_valid = await self._handle(run_id).execute_update("is_valid", request_id, result_type=bool)
        return not is_valid

    async def _is_running(self, run_id: str) -> bool:
        """Return whether a process that is stored as paused is only between two steps."""
        from temporalio.client import WorkflowExecutionStatus

        from tactician.integrations.temporal_workflow import PAUSED

        with _ignore_ended():
            described = await self._handle(run_id).describe()
            is_paused = await described.memo_value(PAUSED, default=False, type_hint=bool)
            return described.status is WorkflowExecutionStatus.RUNNING and not is_paused
        return False

    def _handle(self, run_id: str) -> WorkflowHandle[object, object]:
        return self._client.get_workflow_handle(_build_workflow_id(run_id))


def _build_workflow_id(run_id: str) -> str:
    return f"tactician-{run_id}"


@contextmanager
def _ignore_ended() -> Iterator[None]:
    """Ignore a signal to a workflow that has ended or was never started."""
    from temporalio.service import RPCError, RPCStatusCode

    try:
        yield
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
