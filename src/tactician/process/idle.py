"""Processes that wait in memory: their state, without what runs them."""

from __future__ import annotations

from dataclasses import replace

from tactician.frozen import frozen
from tactician.llm.usage import UsageTally
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.board.blackboard import Blackboard
from tactician.process.state.goals import GoalSpec
from tactician.process.state.options import ProcessOptions
from tactician.process.state.state import ActionRun, ProcessState, ProcessStatus
from tactician.runs import PendingRequest, RunContext
from tactician.runs.outcomes.budget import Spent
from tactician.runs.progress.checkpoint import Checkpoint, SavedCheckpoint
from tactician.runs.progress.spending import restore_spent


@frozen
class IdleProcess:
    """Process that waits or is paused in memory only: what is needed to continue it, and no more.

    It shares the state with its `AgentProcess`, so that both are equal as long as the program holds the `AgentProcess`.

    Attributes:
        id: id of the process.
        agent: description of the agent.
        options: settings of the process.
        state: state of the process.
        progress: checkpoints of its actions, by their keys, or `None`.
        turns: number of calls of models that the budget has counted.
        actions: number of actions that the budget has counted.
        used: usage of its model calls; `None` when there were none.
    """

    id: str
    agent: PlannedAgentSpec
    options: ProcessOptions
    state: ProcessState
    progress: dict[str, SavedCheckpoint] | None
    turns: int
    actions: int
    used: UsageTally | None

    def enter(self, outer: RunContext) -> RunContext:
        """Return the context in which the process continues, inside a context of its platform."""
        name = self.agent.name
        checkpoint = Checkpoint.restore(name, SavedCheckpoint(data={}, children=self.progress or {}))
        restore_spent(checkpoint, Spent(usage=[], turns=self.turns, seconds=self.seconds, actions=self.actions))
        child = outer.child(name)
        return replace(child, run_id=self.id, root_id=self.id, tally=self.tally, checkpoint=checkpoint)

    @property
    def parent_id(self) -> None:
        """The id of the process around it: none, as only a process inside no other is kept here."""
        return None

    @property
    def status(self) -> ProcessStatus:
        """The status of the process."""
        return self.state.status

    @property
    def goal(self) -> GoalSpec | None:
        """The goal that was reached."""
        return self.state.goal

    @property
    def failure(self) -> str | None:
        """The reason why it was ended."""
        return self.state.failure

    @property
    def began_at(self) -> float:
        """Time of creation, in seconds since the epoch."""
        return self.state.began_at

    @property
    def seconds(self) -> float:
        """Seconds that the process has run, without the time in which it waited."""
        return self.state.seconds

    @property
    def blackboard(self) -> Blackboard:
        """All that is known so far."""
        return self.state.blackboard

    @property
    def history(self) -> tuple[ActionRun, ...]:
        """The actions that were run, oldest first."""
        return tuple(self.state.history)

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """The requests that the process waits for."""
        return self.state.pending

    @property
    def tally(self) -> UsageTally:
        """The usage of all model calls of the process."""
        return UsageTally() if self.used is None else self.used
