"""`SupervisorInvocation`: a model leads the actions of components towards an object that is wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, cast

from typing_extensions import TypeVar

from tactician.agents import PlannedAgent, Planner, combined_spec, raise_unless_completed
from tactician.agents.supervision import DEFAULT_MAX_ROUNDS, supervised
from tactician.errors import AgentNotFoundError, ConfigurationError, ProcessFailedError
from tactician.llm import LanguageModel, LlmOptions
from tactician.planning import Goal
from tactician.platform.platform import Platform
from tactician.process import AgentProcess, AgentSpec, GoalSpec, ProcessOptions

T = TypeVar("T", default=object)
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class SupervisorInvocation(Generic[T]):
    """How a model is to lead actions: `SupervisorInvocation(platform).returning(Meal).within(Stages())`.

    Every method but `run` and `start` returns a changed copy.

    Args:
        platform: with whose models.
        model: who leads; the default model of the platform, when `None`.
        max_rounds: how often the model may call tools.
        options: of the process.
        wanted: see `returning`.
        scope: see `within`.
    """

    platform: Platform
    model: str | LlmOptions | LanguageModel | None = None
    max_rounds: int = DEFAULT_MAX_ROUNDS
    options: ProcessOptions | None = None
    wanted: type[T] | None = None
    scope: tuple[object, ...] = ()

    def returning(self, wanted: type[W]) -> SupervisorInvocation[W]:
        """The type of the object that is the goal."""
        return cast("SupervisorInvocation[W]", replace(self, wanted=wanted))  # type: ignore[arg-type]

    def within(self, *instances: object) -> SupervisorInvocation[T]:
        """More components and planned agents, whose actions may be used."""
        return replace(self, scope=(*self.scope, *instances))

    async def run(self, *objects: object) -> T:
        """The object that was wanted, from these; text becomes a `UserInput`.

        Raises:
            ConfigurationError: when it is not said what is wanted, or within what.
            AgentNotFoundError: when no action gives what is wanted.
            DeclarationError: when a component is not declared correctly.
            ProcessFailedError: when the goal is not reached.
        """
        process = await self.start(*objects)
        raise_unless_completed(process)
        if self.wanted is not None and isinstance(result := process.result, self.wanted):
            return result
        given = type(process.result).__name__
        raise ProcessFailedError(f"{process.agent.name} gave a {given} and not what was wanted", process)

    async def start(self, *objects: object) -> AgentProcess:
        """The process, run as far as it can go. Look at its status: it may wait for somebody, or have failed.

        Raises:
            ConfigurationError: when it is not said what is wanted, or within what.
            AgentNotFoundError: when no action gives what is wanted.
            DeclarationError: when a component is not declared correctly.
        """
        spec = supervised(self._spec(), model=self.model, max_rounds=self.max_rounds)
        return await self.platform.start(PlannedAgent.of(spec), *objects, options=self.options)

    def _spec(self) -> AgentSpec:
        if self.wanted is None or not self.scope:
            raise ConfigurationError("Say what is wanted, and of what it is made: .returning(Meal).within(Stages())")
        name = " and ".join(type(instance).__name__ for instance in self.scope)
        spec = combined_spec(
            self.scope, name=name, description=f"leads to {self.wanted.__name__}", planner=Planner.GOAP
        )
        aimed = spec.towards(self.wanted) or _with_goals(spec, self.wanted)
        if aimed is None:
            given = sorted({kind.__name__ for action in spec.actions for kind in action.output_types})
            raise AgentNotFoundError(f"No action of {name} gives a {self.wanted.__name__}, only: {', '.join(given)}.")
        return aimed


def _with_goals(spec: AgentSpec, wanted: type) -> AgentSpec | None:
    """The same agent, whose goals are its actions that give what is wanted, though none is declared to be one."""
    goals = tuple(
        GoalSpec(
            Goal(action.name, {action.condition_ran: True}),
            action.description,
            action.output_types,
            action.output_binding,
        )
        for action in spec.actions
        if any(issubclass(kind, wanted) for kind in action.output_types)
    )
    return replace(spec, goals=goals) if goals else None
