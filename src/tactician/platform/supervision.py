"""`SupervisorInvocation`: a model leads the actions of components towards an object that is wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, cast

from typing_extensions import TypeVar

from tactician.agents import DEFAULT_SUPERVISOR_ROUNDS, PlannedAgent, raise_unless_completed
from tactician.errors import ConfigurationError
from tactician.llm import LanguageModel, LlmOptions
from tactician.platform.leading import led
from tactician.platform.platform import Platform
from tactician.process import AgentProcess, Named, ProcessFailedError, ProcessOptions
from tactician.runs import run_blocking

T = TypeVar("T", default=object)
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class SupervisorInvocation(Generic[T]):
    """How a model is to lead actions: `SupervisorInvocation(platform).returning(Meal).within(Stages())`.

    Every method but `run`, `run_sync` and `start` returns a changed copy.

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
    max_rounds: int = DEFAULT_SUPERVISOR_ROUNDS
    options: ProcessOptions | None = None
    wanted: type[T] | None = None
    scope: tuple[object, ...] = ()

    def returning(self, wanted: type[W]) -> SupervisorInvocation[W]:
        """The type of the object that is the goal."""
        return cast("SupervisorInvocation[W]", replace(self, wanted=wanted))  # type: ignore[arg-type]

    def within(self, *instances: object) -> SupervisorInvocation[T]:
        """More components and planned agents, whose actions may be used."""
        return replace(self, scope=(*self.scope, *instances))

    async def run(self, *objects: object, named: Named | None = None) -> T:
        """The object that was wanted, from these; text becomes a `UserInput`.

        Raises:
            ConfigurationError: when it is not said what is wanted, or within what.
            AgentNotFoundError: when no action gives what is wanted.
            DeclarationError: when a component is not declared correctly.
            ProcessFailedError: when the goal is not reached.
        """
        process = await self.start(*objects, named=named)
        raise_unless_completed(process)
        if self.wanted is not None and isinstance(result := process.result, self.wanted):
            return result
        given, within = type(process.result).__name__, " and ".join(type(one).__name__ for one in self.scope)
        raise ProcessFailedError(f"{within} gave a {given} and not what was wanted", process)

    def run_sync(self, *objects: object, named: Named | None = None) -> T:
        """`run`, for programs without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(*objects, named=named))

    async def start(self, *objects: object, named: Named | None = None) -> AgentProcess:
        """The process, run as far as it can go. Look at its status: it may wait for somebody, or have failed.

        With a store, it goes on wherever the same components and planned agents are registered.

        Raises:
            ConfigurationError: when it is not said what is wanted, or within what; or the platform has a store, and the
                model has no name.
            AgentNotFoundError: when no action gives what is wanted.
            DeclarationError: when a component is not declared correctly.
        """
        if self.wanted is None or not self.scope:
            raise ConfigurationError("Say what is wanted, and of what it is made: .returning(Meal).within(Stages())")
        if self.platform.is_durable and not isinstance(self.model, str | LlmOptions | None):
            raise ConfigurationError(
                "A process that is kept in a store goes on elsewhere too, and a model object is not there: give the "
                'name of the model, as in SupervisorInvocation(platform, model="gpt-5.4").'
            )
        agent = PlannedAgent.of(led(self.scope, self.wanted, self.model, self.max_rounds))
        return await self.platform.start(agent, *objects, named=named, options=self.options)
