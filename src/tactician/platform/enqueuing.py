"""Runs that are saved for workers to start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tactician.agents import BaseRunnable
from tactician.agents.planned.specs import planned_spec
from tactician.errors import ConfigurationError, RunConflictError
from tactician.platform.enqueue_options import (
    EnqueueOptions,
    check_enqueue_options,
    check_process_options,
    find_deadline,
)
from tactician.platform.registry import Registry
from tactician.platform.runner import Objects, create_board
from tactician.process import AgentProcess
from tactician.process.objects import with_named
from tactician.process.saving.saved_state import check_options
from tactician.runs import ChatUser, RunContext, Runnable, Services
from tactician.runs.life.creation import create_record, enqueue_run
from tactician.runs.life.inputs import InputTypes
from tactician.runs.outcomes.events import PROCESS_KIND
from tactician.runs.progress.store import RunStore


class Enqueuer:
    """Runs for workers.

    Args:
        registry: registered agents.
        context: returns a context for a run on the platform.
        services: services of the platform.
    """

    def __init__(self, registry: Registry, context: Callable[[], RunContext], services: Services) -> None:
        self._registry = registry
        self._context = context
        self._services = services
        self._runs = RunStore(services.store)

    async def enqueue(self, agent: object, objects: Objects, settings: EnqueueOptions) -> str:
        """Save a new run for a worker to start, and return its id; or the id of the first run with the idempotency key.

        Raises:
            ConfigurationError: when there is no store, or an option is wrong.
        """
        check_enqueue_options(settings)
        if not self._services.is_durable:
            raise ConfigurationError("A platform needs a store for workers to find runs: Platform(store=...)")
        key, options = settings.get("idempotency_key"), settings.get("options")
        if (enqueued_run := await self._find_enqueued(key)) is not None:
            return enqueued_run
        objects = with_named(objects, settings.get("named"))
        runnable = self._registry.admit(agent)
        context, spec = self._create_context(runnable, settings), planned_spec(runnable)
        is_process = spec is not None
        if spec is None:
            check_process_options(settings, runnable.name)
        else:
            board = await create_board(self._services.store, spec, options)
            check_options(options)
            AgentProcess.create(spec, objects, context, options, None, board)
        record = create_record(runnable.name, context, PROCESS_KIND if is_process else "run")
        record = replace(
            record,
            header=replace(record.header, trace_parent=settings.get("trace_parent")),
            priority=settings.get("priority", 0),
            idempotency_key=key,
        )
        value = None if is_process else objects[0] if len(objects) == 1 else objects
        types = getattr(runnable, "input_types", InputTypes())
        try:
            return (await enqueue_run(record, value, context, input_types=types)).run_id
        except RunConflictError:
            if (enqueued_run := await self._find_enqueued(key)) is None:
                raise
            return enqueued_run

    def _create_context(self, runnable: Runnable, settings: EnqueueOptions) -> RunContext:
        context, user = self._context(), settings.get("user")
        if (deadline := find_deadline(settings, context.clock)) is not None:
            context = context.with_deadline(deadline)
        if user is not None:
            context = context.inside({ChatUser: user})
        budget = runnable.budget if isinstance(runnable, BaseRunnable) else None
        return context.child(runnable.name, settings.get("budget") or budget)

    async def _find_enqueued(self, key: str | None) -> str | None:
        records = [] if key is None else await self._runs.find(idempotency_key=key)
        return records[0].run_id if records else None
