"""`SupervisorInvocation`: a model leads the actions of components towards an object of a requested type."""

from __future__ import annotations

from dataclasses import replace
from typing import Generic, cast

from typing_extensions import TypeVar

from tactician.agents import PlannedAgent
from tactician.agents.planned.planned_agent import raise_unless_completed
from tactician.agents.supervision.supervised_agent import DEFAULT_SUPERVISOR_ROUNDS
from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.llm import LanguageModel, LlmOptions
from tactician.platform.platform import Platform
from tactician.platform.supervised_agents import build_supervised_agent
from tactician.process import AgentProcess, ProcessFailedError, ProcessOptions
from tactician.process.objects import Named
from tactician.runs.context.threads import run_blocking

T = TypeVar("T", default=object)
W = TypeVar("W")


@frozen
class SupervisorInvocation(Generic[T]):
    """Request to a model to supervise actions: `SupervisorInvocation(platform).returning(Meal).within(Stages())`.

    Every method but `run`, `run_sync` and `start` returns a changed copy.

    Args:
        platform: platform that has the models.
        model: the supervising model; the default model of the platform, when `None`.
        max_rounds: maximum number of rounds in which the model calls tools.
        options: options of the process.
        output_type: see `returning`.
        scope: see `within`.
    """

    platform: Platform
    model: str | LlmOptions | LanguageModel | None = None
    max_rounds: int = DEFAULT_SUPERVISOR_ROUNDS
    options: ProcessOptions | None = None
    output_type: type[T] | None = None
    scope: tuple[object, ...] = ()

    def returning(self, kind: type[W]) -> SupervisorInvocation[W]:
        """Set the type of the object that is the goal."""
        return cast("SupervisorInvocation[W]", replace(self, output_type=kind))  # type: ignore[arg-type]

    def within(self, *instances: object) -> SupervisorInvocation[T]:
        """Add components and planned agents, whose actions may be used."""
        return replace(self, scope=(*self.scope, *instances))

    async def run(self, *objects: object, named: Named | None = None) -> T:
        """Run a process that starts from these objects, and return its result; text becomes a `UserInput`.

        Raises:
            ConfigurationError: when `returning` or `within` was not called.
            AgentNotFoundError: when no action gives an object of the type.
            DeclarationError: when a component is not declared correctly.
            ProcessFailedError: when the goal is not reached.
        """
        process = await self.start(*objects, named=named)
        raise_unless_completed(process)
        if self.output_type is not None and isinstance(result := process.result, self.output_type):
            return result
        actual, within = type(process.result).__name__, " and ".join(type(part).__name__ for part in self.scope)
        raise ProcessFailedError(f"{within} gave {add_article(actual)} and not the type of `returning`", process)

    def run_sync(self, *objects: object, named: Named | None = None) -> T:
        """Call `run` from a program without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(*objects, named=named))

    async def start(self, *objects: object, named: Named | None = None) -> AgentProcess:
        """Run a process as far as it can go, and return it. Check its status: it may wait for an answer or have failed.

        With a store, the process can be continued wherever the same components and planned agents are registered.

        Raises:
            ConfigurationError: when `returning` or `within` was not called; or the platform has a store, and the model
                is an object and not a name.
            AgentNotFoundError: when no action gives an object of the type.
            DeclarationError: when a component is not declared correctly.
        """
        if self.output_type is None or not self.scope:
            raise ConfigurationError(
                "Set the type of the result, and the components: .returning(Meal).within(Stages())"
            )
        if self.platform.is_durable and not isinstance(self.model, str | LlmOptions | None):
            raise ConfigurationError(
                "Another worker may continue a process that is kept in a store, and cannot have this model object: "
                'pass the name of the model, as in SupervisorInvocation(platform, model="gpt-5.4").'
            )
        agent = PlannedAgent.of(build_supervised_agent(self.scope, self.output_type, self.model, self.max_rounds))
        return await self.platform.start(agent, *objects, named=named, options=self.options)
