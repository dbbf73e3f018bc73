"""Control of the runs of a platform: they are read, answered, continued, forked and ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from tactician.errors import ConfigurationError
from tactician.platform.lookup import RunLookup
from tactician.platform.runner import Runner
from tactician.process import AgentProcess
from tactician.process.objects import Named, with_named
from tactician.runs import Input, RunResult, RunStatus, Services
from tactician.runs.context.threads import run_blocking
from tactician.runs.life.forking import ForkOptions
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.respondents import Respondent
from tactician.stores.document import Lease
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from tactician.planning.forecast.experience import Experience
    from tactician.platform.experience import ExperienceReader, Measured
    from tactician.platform.views.reader import RunReader
    from tactician.platform.views.recorded_events import RecordedEvent
    from tactician.platform.views.runs import RunTree, RunView
    from tactician.platform.views.steps import RunComparison, StepView
    from tactician.process.deciding.experience import ExperienceTable
    from tactician.process.idle import IdleProcess
    from tactician.trace import Trace

_NOTHING: Mapping[str, Response] = MappingProxyType({})


class RunControl:
    """Runs of a platform, of every kind: what can be seen of them, and done with them.

    Attributes:
        services: services of the platform.
        retention: age at which workers delete runs that have ended; `None` when they stay.
    """

    services: Services
    retention: timedelta | None
    _lookup: RunLookup
    _runner: Runner

    async def processes(self) -> list[AgentProcess]:
        """Return the processes that run here or wait, and the last 1000 that have ended or are stuck, oldest first.

        With a store, those that wait are among the last 1000 too (see `list_waiting_runs`), and a process that another
        worker continued is returned as it is stored. Others are in the list as long as the program holds them.

        Raises:
            StoredStateError: when a stored process cannot be read.
        """
        return await self._lookup.all()

    async def process(self, process_id: str) -> AgentProcess:
        """Return a process that `processes` lists, or a stored process.

        Raises:
            RunNotFoundError: when no run has the id.
            StoredStateError: when a stored process cannot be read.
        """
        return await self._lookup.process(process_id)

    async def runs(
        self,
        *,
        status: str | Collection[str] = (),
        names: Collection[str] = (),
        limit: int = 1000,
        newest_first: bool = False,
        after: int | None = None,
    ) -> list[RunView]:
        """Return the runs in the store and the processes of this program, oldest first.

        Args:
            status: a single status, such as `"waiting"`, or several; all by default.
            names: names of agents; all by default.
            limit: how many runs of the store are read.
            newest_first: true to get the newest first, and those beyond the limit not at all.
            after: number of the run before the first, in this order: the last run of an earlier list.
        """
        statuses = (status,) if isinstance(status, str) else status
        return await self._reader.list(
            statuses=statuses, names=names, limit=limit, newest_first=newest_first, after=after
        )

    async def count_runs(self) -> dict[str, int]:
        """Return the number of runs in the store with each status."""
        return await RunStore(self.services.store).count_statuses()

    async def steps(self, run_id: str) -> tuple[StepView, ...]:
        """Return the steps of a run, oldest first. `fork` starts a new run from a step.

        Raises:
            RunNotFoundError: when the store has no such run.
            StoredStateError: when a step cannot be read.
        """
        return await self._reader.steps(run_id)

    async def compare(self, run_id: str, other_id: str) -> RunComparison:
        """Return two runs side by side: the steps that both begin with, and those in which they differ.

        Raises:
            RunNotFoundError: when the store has no such run.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._reader.compare(run_id, other_id)

    async def view_run(self, run_id: str) -> RunView:
        """Return a run, without the runs inside it.

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._reader.get(run_id)

    async def tree(self, run_id: str) -> RunTree:
        """Return a run and all runs inside it.

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._reader.tree(run_id)

    async def experience(self, name: str, agent: str | None = None) -> Experience:
        """Return the experience with the runs of an action: runs, success, seconds, dollars, and the same by model.

        Args:
            name: name of the action.
            agent: name of its agent; every action of this name by default.
        """
        return (await self.read_experience(self.services.clock.time())).find(name, agent)

    async def list_experience(self) -> list[Measured]:
        """Return the experience with all actions, and, of runs in a store, with tools and models."""
        return await self._experience.list_all(self.services.clock.time(), self._list_unstored())

    async def read_experience(self, now: float) -> ExperienceTable:
        """Return the experience with the actions that had ended at a time, in seconds since the epoch."""
        return await self._experience.read(now, self._list_unstored())

    def _list_unstored(self) -> list[AgentProcess | IdleProcess]:
        return [] if self.services.is_durable else self._lookup.processes.all()

    async def events(self, run_id: str) -> tuple[RecordedEvent, ...]:
        """Return the events that the steps of a run and of the runs inside it have kept, oldest first.

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when a step cannot be read.
        """
        return await self._reader.events(run_id)

    async def trace(self, run_id: str) -> Trace:
        """Return the trace of a run, from the events in its steps: plans, actions, calls of models and tools ...

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._reader.trace(run_id)

    async def output(self, run_id: str) -> object:
        """Return the output of a run that has completed: of a process its result; else as it is stored, as JSON.

        It is `None` for a run that has not completed.

        Raises:
            RunNotFoundError: when there is no such run.
            StoredStateError: when what is stored cannot be read.
        """
        return await self._lookup.find_output(run_id)

    @suggest_options
    async def respond(
        self,
        run_id: str,
        request_id: str,
        response: Response,
        *,
        role: str | None = None,
        by: str | None = None,
        on_accept: Callable[[], None] | None = None,
    ) -> AgentProcess | RunResult[object]:
        """Answer a request of a run that waits, and continue the run as far as it can go.

        Args:
            run_id: the id of the run.
            request_id: the id of the request.
            response: the answer.
            role: the role of the person; a request with a `required_role` takes no answer without it. It is not
                checked otherwise: the program that calls this knows who its users are.
            by: the name of the person, which decisions of reviews keep.
            on_accept: called once the run has taken the answer, before it continues.

        Returns:
            The process, for a run of a planned agent; the result, for any other.

        Raises:
            RunNotFoundError: when there is no such run, or it does not wait for that.
            RunConflictError: when another worker is continuing it; an `AlreadyAnsweredError` when somebody has answered
                the request before: of several answers at once, the first counts.
            AgentNotFoundError: when what ran is not registered here.
            ResponseError: when a process does not wait for that, the answer does not fit, or the role is missing; then
                the run still waits. Or when it has ended.
        """
        respondent = Respondent(role, by, on_accept=on_accept)
        return await self._runner.respond(run_id, {request_id: response}, respondent)

    @suggest_options
    def respond_sync(
        self,
        run_id: str,
        request_id: str,
        response: Response,
        *,
        role: str | None = None,
        by: str | None = None,
    ) -> AgentProcess | RunResult[object]:
        """Call `respond` from a program without an event loop."""
        return run_blocking(self.respond(run_id, request_id, response, role=role, by=by))

    @suggest_options
    async def keep_answers(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        role: str | None = None,
        by: str | None = None,
        key: str | None = None,
    ) -> bool:
        """Keep answers to requests of a run that waits, and let any worker continue it.

        Unlike `respond`, this continues nothing here, and what runs need not be registered here. A program that gets a
        thousand answers keeps them all, and workers take one run after the other. Once this returns, the answers are in
        the store.

        Args:
            run_id: the id of the run.
            responses: the answers, by the ids of the requests.
            role: the role of the person, as for `respond`.
            by: the name of who answers, which the run keeps.
            key: idempotency key of the answers. Given again with the same key, they are no error.

        Returns:
            False when the run has taken answers with this key before.

        Raises:
            ConfigurationError: when the platform has no store.
            RunNotFoundError: when there is no such run.
            RunConflictError: when somebody is continuing the run, or it has ended; an `AlreadyAnsweredError` when a
                request has another answer: the first answer counts.
            ResponseError: when the run does not wait for that, or the role is missing.
            StoredStateError: when an answer cannot be stored.
        """
        if not self.services.is_durable:
            raise ConfigurationError("Answers are kept in the store of the platform: Platform(store=...)")
        return await self._runner.keep_answers(run_id, responses, Respondent(role, by, key))

    @suggest_options
    async def resume(
        self, run_id: str, *objects: object, named: Named | None = None
    ) -> AgentProcess | RunResult[object]:
        """Continue a run that was paused or interrupted, is stuck, or whose worker has died, as far as it can go.

        The objects go onto the blackboard of a process first, as with `start`: what a stuck process lacks.

        Raises:
            RunNotFoundError: when there is no such run.
            RunConflictError: when it has ended, or another worker is continuing it.
            AgentNotFoundError: when what ran is not registered here.
            StoredStateError: when an object cannot be kept in the store; then nothing has changed.
        """
        return await self._runner.resume(run_id, with_named(objects, named))

    @suggest_options
    def resume_sync(
        self, run_id: str, *objects: object, named: Named | None = None
    ) -> AgentProcess | RunResult[object]:
        """Call `resume` from a program without an event loop."""
        return run_blocking(self.resume(run_id, *objects, named=named))

    @suggest_options
    async def fork(
        self,
        run_id: str,
        *objects: object,
        at: int | None = None,
        model: str | None = None,
        input: Input = None,
        responses: Mapping[str, Response] = _NOTHING,
        named: Named | None = None,
    ) -> AgentProcess | RunResult[object]:
        """Start a new run from a past step of another, and run it as far as it can go.

        The other run stays as it is, and may have ended, in whatever way. Its steps up to that step become the steps of
        the fork, too; so `compare` shows what another model, input, answer or object would have done.

        Args:
            run_id: id of the other run.
            *objects: what goes onto the blackboard of a process first, as with `resume`.
            at: number of the step after which the fork begins, see `steps`; 0 is the start. By default the last step;
                with another input, the start; with answers, the last step after which the run waited for them.
            model: name of the model that the fork uses wherever it calls a model, whatever its agents name.
            input: another input, for a fork from the start; for a process what it begins with, where a tuple is
                several objects. The same input by default.
            responses: answers to requests for which the other run waited after that step, by the ids of the requests.
            named: further objects for a process, by their names.

        Returns:
            The process, for a run of a planned agent; the result, for any other.

        Raises:
            ConfigurationError: when the platform has no store, or there is no such step or model; for another input
                after the start; for objects where there is no process.
            RunNotFoundError: when there is no such run.
            ResponseError: when the run did not wait for such an answer after that step.
            AgentNotFoundError: when what ran is not registered here.
            StoredStateError: when what is stored cannot be read, or an object, an input or an answer cannot be kept in
                the store; then there is no fork.
            RunError: when the fork fails, and is not a process.
        """
        from tactician.platform.forking import Forker

        options = ForkOptions(at=at, model=model, input=input, responses=responses)
        return await Forker(self._lookup, self._runner, self.services.store).fork(
            run_id, with_named(objects, named), options
        )

    async def kill(self, run_id: str, reason: str = "killed") -> RunStatus:
        """End a run for good, and interrupt what it does, wherever it runs. A run that has ended stays as it is.

        Returns:
            Its status: `KILLED`, unless it had ended before.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        from tactician.platform.killing import Killer

        return await Killer(self._lookup, self.services).kill(run_id, reason)

    async def continue_claimed(
        self, record: RunRecord, lease: Lease, *, seconds: float = DEFAULT_LEASE
    ) -> AgentProcess | RunResult[object]:
        """Continue a run that a worker has claimed, as far as it can go.

        Raises:
            AgentNotFoundError: when what ran, or what it is made of, is not registered here.
            StoredStateError: when a stored process cannot be read.
            LeaseLostError: when another worker has claimed it.
        """
        return await self._runner.continue_claimed(record, lease, seconds)

    async def step_claimed(
        self, record: RunRecord, lease: Lease, *, seconds: float = DEFAULT_LEASE
    ) -> AgentProcess | RunResult[object]:
        """Continue a claimed run by a step: a process by an action, any other run as far as it can go.

        A process is `PAUSED` then, unless it waits or has ended. Any other run cannot be cut between two of its steps:
        it continues by running the same code again from the beginning, so each cut would run what users wrote around
        its steps, such as a tool that runs an agent, once more. Its steps are saved on the way all the same.

        Raises:
            AgentNotFoundError: when what ran, or what it is made of, is not registered here.
            StoredStateError: when a stored process cannot be read.
            LeaseLostError: when another worker has claimed it.
        """
        return await self._runner.step_claimed(record, lease, seconds)

    async def list_waiting_runs(self, limit: int = 1000) -> list[RunView]:
        """Return the runs that wait for somebody, or of which a part does while others continue, oldest first.

        These are the runs in the store and the processes of this program, an entry for each.

        Args:
            limit: how many runs of the store are read.
        """
        return await self._reader.list_waiting(limit)

    async def delete_run(self, run_id: str, reason: str = "deleted") -> None:
        """End a run, wherever it runs, and delete all that is stored of it.

        Raises:
            RunNotFoundError: when there is no such run.
        """
        await self.kill(run_id, reason)
        self._lookup.processes.forget(run_id)
        await RunStore(self.services.store).delete(run_id)

    async def prune(self, age: timedelta | None = None) -> int:
        """Delete the runs that ended longer ago than an age, with their steps, and return how many.

        Args:
            age: time since the end of a run; the `retention` by default.

        Raises:
            ConfigurationError: when both are missing.
        """
        oldest = self.retention if age is None else age
        if oldest is None:
            raise ConfigurationError("Say which runs are to be deleted, as in prune(timedelta(days=30)).")
        return await RunStore(self.services.store).prune(oldest.total_seconds())

    @cached_property
    def _experience(self) -> ExperienceReader:
        from tactician.platform.experience import ExperienceReader

        return ExperienceReader(self.services.store)

    @property
    def _reader(self) -> RunReader:
        from tactician.platform.views.reader import RunReader

        return RunReader(self.services.store, self._lookup.processes.all())
