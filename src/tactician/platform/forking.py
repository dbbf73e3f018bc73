"""Forks of runs of a platform: each continues as any other run of what is registered."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tactician.agents.planned.planned_agent import list_input_objects
from tactician.errors import ConfigurationError
from tactician.events.event import new_id
from tactician.platform.lookup import RunLookup
from tactician.platform.runner import Objects, Runner, create_board
from tactician.process import AgentProcess
from tactician.process.agent.inputs import add_inputs
from tactician.process.saving.saved_state import read_origin, renew_processes
from tactician.runs import Input, RunContext, RunResult
from tactician.runs.life.forking import Fork, ForkOptions, prepare_fork
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.runs.outcomes.events import PROCESS_KIND
from tactician.stores import DocumentStore

_OWNER: Final = f"fork-{new_id()}"


class Forker:
    """Forks of runs.

    Args:
        lookup: runs of the platform.
        runner: work on them.
        store: store of the memories of processes.
    """

    def __init__(self, lookup: RunLookup, runner: Runner, store: DocumentStore) -> None:
        self._lookup = lookup
        self._runner = runner
        self._store = store

    async def fork(self, run_id: str, objects: Objects, options: ForkOptions) -> AgentProcess | RunResult[object]:
        """Start a fork of a run, and run it as far as it can go; see `Platform.fork`."""
        context = self._lookup.context()
        fork = await prepare_fork(run_id, options, context)
        if fork.source.kind == PROCESS_KIND:
            await self._prepare_process(fork, objects, options.input, context)
        else:
            await self._prepare_run(fork, objects, options.input, context)
        return await self._runner.continue_claimed(*await fork.save(context, _OWNER), DEFAULT_LEASE)

    async def _prepare_run(self, fork: Fork, objects: Objects, input: Input, context: RunContext) -> None:
        runnable = self._lookup.find_runnable(fork.source)
        if objects:
            raise ConfigurationError(
                f"{fork.source.name} is not a planned agent: only a process takes objects. Give the fork another input."
            )
        await runnable.prepare_fork(fork, input, context)

    async def _prepare_process(self, fork: Fork, objects: Objects, input: Input, context: RunContext) -> None:
        agent, tree = self._lookup.find_agent(fork.source), fork.state.tree
        fork_context = replace(context, run_id=fork.run_id, path=(agent.name,), checkpoint=tree)
        if input is not None:
            options = read_origin(tree.data).options
            board = await create_board(self._store, agent, options)
            AgentProcess.create(agent, (*list_input_objects(input), *objects), fork_context, options, None, board)
            return
        renew_processes(tree, fork.run_id)
        if objects:
            add_inputs(AgentProcess.restore(agent, fork_context).blackboard, objects, agent, fork_context.clock)
