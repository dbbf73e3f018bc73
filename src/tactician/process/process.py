"""The one process: observe, plan, act, record, and again."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from time import perf_counter, time
from typing import TypeVar

from tactician.errors import BudgetError
from tactician.events import ActionCompleted, ActionStarted, PlanMade, ProcessEnded, ProcessStarted
from tactician.llm import Usage, UsageTally
from tactician.planning import Action, ConditionValue, Plan, WorldState
from tactician.process.blackboard import DEFAULT_BINDING, Blackboard
from tactician.process.context import OperationContext
from tactician.process.options import ProcessOptions
from tactician.process.recording import record
from tactician.process.spec import ActionSpec, AgentSpec, GoalSpec
from tactician.process.status import ProcessStatus
from tactician.process.stuck import why_stuck
from tactician.runs import BudgetMeter, Paused, RunContext

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ActionRun:
    """One entry of a process's history.

    Attributes:
        started_at: seconds since the epoch.
        seconds: how long it took.
        tally: what its model calls used.
        outputs: the names of the types that it gave.
        error: what it raised, as text; `None` when it succeeded.
    """

    action: str
    started_at: float
    seconds: float
    tally: UsageTally = field(repr=False)
    outputs: tuple[str, ...] = ()
    error: str | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of its model calls."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of its model calls; `None` when a price is not known."""
        return self.usage.cost


class AgentProcess:
    """One run of an agent towards its goals.

    Attributes:
        id: unique.
        agent: what is run.
        blackboard: all that is known so far.
        status: where the process stands; see `ProcessStatus`.
        plan: the plan that is being followed.
        goal: the goal that was reached, once `COMPLETED`.
        failure: why the process failed, is stuck, or was terminated.
        error: what an action raised, when `FAILED`.
    """

    def __init__(
        self, agent: AgentSpec, blackboard: Blackboard, context: RunContext, options: ProcessOptions | None = None
    ) -> None:
        self.agent = agent
        self.blackboard = blackboard
        self.options = options or ProcessOptions()
        self.status = ProcessStatus.NOT_STARTED
        self.plan: Plan | None = None
        self.goal: GoalSpec | None = None
        self.failure: str | None = None
        self.error: Exception | None = None
        self._meter = BudgetMeter(self.options.budget, context.tally, context.clock, context.meter)
        # Actions are planned anew, not run again in the same order: no frame of theirs would be found again.
        self._context = replace(context, meter=self._meter, frame=None)
        self._history: list[ActionRun] = []
        self._ran: set[str] = set()
        self._declined: Action | None = None

    @property
    def id(self) -> str:
        """Unique."""
        return self._context.run_id

    @property
    def parent_id(self) -> str | None:
        """The run that this process is part of, if any."""
        return self._context.parent_id

    @property
    def history(self) -> tuple[ActionRun, ...]:
        """The actions that were run, oldest first, failed ones included."""
        return tuple(self._history)

    @property
    def tally(self) -> UsageTally:
        """What all model calls of the process used."""
        return self._context.tally

    @property
    def usage(self) -> Usage:
        """The tokens of all model calls."""
        return self.tally.total

    @property
    def cost(self) -> float | None:
        """US dollars of all model calls; `None` when a price is not known."""
        return self.usage.cost

    @property
    def result(self) -> object | None:
        """The object that reaching the goal gave; `None` before that."""
        if self.goal is None:
            return None
        kinds, binding = self.goal.output_types, self.goal.output_binding
        if binding == DEFAULT_BINDING:
            return next((value for value in reversed(self.blackboard.objects) if isinstance(value, kinds)), None)
        found = self.blackboard.named(binding, object)
        return found if isinstance(found, kinds) else None

    @property
    def plannable(self) -> tuple[Action, ...]:
        """The actions to plan with now: all, except one that has just given nothing."""
        actions, declined = self.agent.plannable, self._declined
        return actions if declined is None else tuple(action for action in actions if action is not declined)

    def last(self, wanted: type[T]) -> T | None:
        """The newest object of a type on the blackboard, or `None`."""
        return self.blackboard.last(wanted)

    def has_run(self, action: str) -> bool:
        """Whether the action has run to its end in this process."""
        return action in self._ran

    def __repr__(self) -> str:
        return f"AgentProcess({self.agent.name!r}, {self.id}, {self.status})"

    async def run(self) -> AgentProcess:
        """Goes on until the goal is reached or nothing can be done; the status tells which.

        What an action raises ends the process as `FAILED`, and is kept in `error`; it is not raised here.
        """
        if not self.status.may_become(ProcessStatus.RUNNING):
            return self
        self.status = ProcessStatus.RUNNING
        self._declined = None
        started = perf_counter()
        if (sink := self._context.sink) is not None:
            goals = tuple(goal.name for goal in self.agent.goals)
            sink(ProcessStarted(run_id=self.id, path=self._context.path, agent=self.agent.name, goals=goals))
        try:
            while self.status is ProcessStatus.RUNNING:
                await self.tick()
        except CancelledError:
            self._end(ProcessStatus.KILLED, "the run was cancelled")
            raise
        except Exception as error:  # a condition or a cost that raises, a search that is too large
            self.error = error
            place = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
            self._end(ProcessStatus.FAILED, f"planning failed: {type(error).__name__}: {error}{place}")
        finally:
            self._announce_end(perf_counter() - started)
        return self

    async def tick(self) -> None:
        """One step: observe the world, plan, run the first action of the plan, record it."""
        world = await self.observe()
        plan = self._best_plan(world)
        if plan is None:
            self._end(ProcessStatus.STUCK, self._why_stuck(world))
        elif not plan.actions:
            self.goal = self.agent.goal(plan.goal.name)
            self._end(ProcessStatus.COMPLETED)
        elif (limit := self._meter.exceeded(len(self._history))) is not None:
            self._end(ProcessStatus.TERMINATED, limit)
        else:
            self._follow(plan)
            await self._perform(self.agent.action(plan.actions[0].name))

    async def observe(self) -> WorldState:
        """The value of every condition now, each evaluated once."""
        context = OperationContext(self, self._context)
        world: dict[str, ConditionValue] = {}
        for name, observe in self.agent.observations.items():
            try:
                value = observe(context)
                world[name] = value if isinstance(value, bool) else await _awaited(value)
            except Exception as error:
                error.add_note(f"in the condition {name!r}")
                raise
        return WorldState(world)

    async def outlook(self) -> Plan | None:
        """The plan from here to the best goal, without following it; `None` when there is none."""
        return self._best_plan(await self.observe())

    def _best_plan(self, world: WorldState) -> Plan | None:
        agent = self.agent
        plans = agent.planner.plans(world, self.plannable, tuple(goal.plan for goal in agent.goals))
        return plans[0] if plans else None

    def _why_stuck(self, world: WorldState) -> str:
        reasons = [why_stuck(self, world, goal) for goal in self.agent.goals]
        known = ", ".join(type(value).__name__ for value in self.blackboard.objects) or "nothing"
        return f"{' '.join(reasons)} On the blackboard: {known}."

    def _follow(self, plan: Plan) -> None:
        """Takes the plan over, and tells the listeners when it is more than the rest of the last one."""
        previous, self.plan = self.plan, plan
        if (sink := self._context.sink) is None:
            return
        if previous is None or _names(previous.actions[1:]) != _names(plan.actions):
            sink(PlanMade(run_id=self.id, path=self._context.path, plan=plan))

    async def _perform(self, action: ActionSpec) -> None:
        context = self._context.child(action.name)
        if context.sink is not None:
            context.sink(
                ActionStarted(
                    run_id=self.id, path=self._context.path, action=action.name, description=action.description
                )
            )
        started_at, started = time(), perf_counter()
        outputs: tuple[str, ...] = ()
        self._declined = None
        try:
            outputs = self._record(action, await action.perform(OperationContext(self, context)))
        except BudgetError as error:
            self.error = error
            self._end(ProcessStatus.TERMINATED, str(error))
        except Paused as paused:
            waits = ", ".join(request.prompt for request in paused.pending)
            self._end(ProcessStatus.FAILED, f"{action.name} waits, which actions cannot do yet: {waits}")
        except Exception as error:
            self.error = error
            self._end(ProcessStatus.FAILED, f"{action.name} raised {type(error).__name__}: {error}")
        except CancelledError:
            self._remember(action, started_at, started, context.tally, (), "cancelled")
            raise
        error_text = None if self.error is None else f"{type(self.error).__name__}: {self.error}"
        self._remember(action, started_at, started, context.tally, outputs, error_text)

    def _record(self, action: ActionSpec, output: object) -> tuple[str, ...]:
        """Puts onto the blackboard what an action gave. Giving nothing means: plan again without it."""
        given = record(self.blackboard, action, output)
        self._ran.add(action.name)
        if output is None and action.output_types:
            self._declined = action.plan
        return given

    def _remember(
        self,
        action: ActionSpec,
        started_at: float,
        started: float,
        tally: UsageTally,
        outputs: tuple[str, ...],
        error: str | None,
    ) -> None:
        run = ActionRun(action.name, started_at, perf_counter() - started, tally, outputs, error)
        self._history.append(run)
        if (sink := self._context.sink) is not None:
            sink(
                ActionCompleted(
                    run_id=self.id,
                    path=self._context.path,
                    action=action.name,
                    seconds=run.seconds,
                    tally=tally,
                    outputs=outputs,
                    error=error,
                )
            )

    def _end(self, status: ProcessStatus, failure: str | None = None) -> None:
        """The only place where a running process changes its status. A final status stays."""
        if self.status.may_become(status):
            self.status = status
            self.failure = failure

    def _announce_end(self, seconds: float) -> None:
        if (sink := self._context.sink) is not None:
            sink(
                ProcessEnded(
                    run_id=self.id,
                    path=self._context.path,
                    status=self.status,
                    seconds=seconds,
                    tally=self.tally,
                    failure=self.failure,
                )
            )


def _names(actions: tuple[Action, ...]) -> list[str]:
    return [action.name for action in actions]


async def _awaited(value: Awaitable[bool]) -> bool:
    return bool(await value)
