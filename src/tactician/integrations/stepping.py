"""Runs of a store, step by step: what any engine needs that decides itself when the next step is due."""

from __future__ import annotations

from tactician.errors import ResponseError, RunConflictError, RunNotFoundError
from tactician.events import new_id
from tactician.integrations.standing import Standing
from tactician.platform import Platform
from tactician.process import ProcessOptions
from tactician.runs import DEFAULT_LEASE, Response, RunRecord, RunStatus, RunStore, keep_response
from tactician.stores import Lease


class Stepper:
    """Continues the runs of a platform's store one step at a time, each under a lease.

    A step of a process is one action. Any other run goes on until it waits or ends: its own steps are saved on the way,
    so that a step that is repeated repeats only what was in flight.

    Args:
        platform: platform with the agents and the store.
        options: settings of processes.
        lease: duration of the lease in seconds; it is renewed while a step runs.
    """

    def __init__(
        self, platform: Platform, options: ProcessOptions | None = None, *, lease: float = DEFAULT_LEASE
    ) -> None:
        self._platform = platform
        self._store = platform.store
        self._runs = RunStore(platform.store)
        self._options = options
        self._lease = lease
        self._owner = f"stepper-{new_id()}"

    async def add(self, agent: str, *objects: object) -> str:
        """Put a new run of a registered Runnable into the store, and return its id.

        Raises:
            AgentNotFoundError: when nothing is registered with the name.
            StoredStateError: when an object has no JSON form.
        """
        return await self._platform.enqueue(agent, *objects, options=self._options)

    async def step(self, run_id: str, now: float) -> Standing:
        """Make one step. A run that waits and has no answer stays as it is.

        Args:
            run_id: id of the run.
            now: time of the engine; requests whose deadline has passed then get their default answers.

        Raises:
            RunNotFoundError: when there is no such run.
            RunConflictError: when somebody else is continuing it.
            LeaseLostError: when somebody else has claimed it meanwhile.
            StoredStateError: when what is kept cannot be read.
        """
        record = await self._record(run_id)
        if record.status.is_terminal:
            return Standing(record.status.value, has_ended=True)
        outcome = await self._platform.step_claimed(*await self._claim(run_id), seconds=self._lease, now=now)
        return _standing_of(outcome, now)

    async def answer(self, run_id: str, request_id: str, response: Response) -> None:
        """Keep an answer to a request of a run that waits: its next step takes it.

        Raises:
            RunNotFoundError: when there is no such run.
            RunConflictError: when somebody is continuing it.
            ResponseError: when it does not wait for that.
        """
        record = await self._record(run_id)
        if record.status.is_terminal:
            raise ResponseError(f"The run {run_id} is {record.status}: it waits for nothing.")
        claimed, lease = await self._claim(run_id)
        try:
            await keep_response(self._store, claimed, lease, request_id, response)
        finally:
            await self._store.release(lease)

    async def status(self, run_id: str) -> RunStatus:
        """Return the status of a run, as it is kept. A process is `PAUSED` between two steps.

        Raises:
            RunNotFoundError: when there is none with the id.
        """
        return (await self._record(run_id)).status

    async def kill(self, run_id: str) -> Standing:
        """End a run for good, unless it has ended.

        Raises:
            RunNotFoundError: when there is none with the id.
        """
        return Standing((await self._platform.kill(run_id)).value, has_ended=True)

    async def _claim(self, run_id: str) -> tuple[RunRecord, Lease]:
        claimed = await self._runs.claim(self._owner, self._lease, run_id=run_id)
        if claimed is None:
            raise RunConflictError(f"Somebody else is continuing the run {run_id}: try again.")
        return claimed

    async def _record(self, run_id: str) -> RunRecord:
        record = await self._runs.load(run_id, with_body=False)
        if record is None:
            raise RunNotFoundError(f"There is no run with the id {run_id!r} in the store")
        return record
