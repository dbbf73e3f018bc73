"""`HierarchicalAgents`: an executive over departments, each a manager with workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import TypeVar, override

from tactician.agents.agent import Agent
from tactician.agents.base import BaseRunnable
from tactician.agents.composition import Member
from tactician.agents.results import as_own_result
from tactician.errors import AgentNotFoundError, DeclarationError
from tactician.frozen import frozen
from tactician.loop.policy import DEFAULT_MAX_TURNS
from tactician.runs import Budget, Input, RunContext, Runnable, RunResult
from tactician.runs.life.inputs import READS_MESSAGES, InputTypes
from tactician.suggestions import did_you_mean, suggest_options

T_co = TypeVar("T_co", covariant=True, default=str)


@frozen
class Department:
    """Manager with workers.

    Attributes:
        manager: the supervisor, with its own model, instructions, tools, guardrails and options.
        workers: the workers, which the manager knows by their descriptions.
    """

    manager: Agent[object]
    workers: Sequence[Runnable]


@suggest_options
class HierarchicalAgents(BaseRunnable[T_co]):
    """Executive that delegates to managers, who delegate to their workers.

    Args:
        executive: the top supervisor, with its own model, instructions, tools, guardrails and options.
        departments: the departments by name.
        max_turns: the limit of the executive and of each manager, instead of their own.
        name: the name; `<executive>_Hierarchy` by default.
        description: the purpose; the executive's by default.

    Raises:
        DeclarationError: when there is no department, a department has no workers, or two managers have the same name.
    """

    def __init__(
        self,
        *,
        executive: Agent[T_co],
        departments: Mapping[str, Department],
        max_turns: int = DEFAULT_MAX_TURNS,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        self.name = name or f"{executive.name}_Hierarchy"
        problems = [] if departments else ["it needs at least one department"]
        problems += [
            f"the department {label!r} has no workers" for label in departments if not departments[label].workers
        ]
        if problems:
            raise DeclarationError(f"HierarchicalAgents {self.name!r}", problems)
        self.own_description = description or ""
        self.description = description or executive.description
        self.executive = executive
        self.departments = dict(departments)
        self.max_turns = max_turns
        self._supervisors = {
            label: _create_supervisor(department, max_turns) for label, department in departments.items()
        }
        reports = [
            (f"{label}: {supervisor.description}", supervisor) for label, supervisor in self._supervisors.items()
        ]
        self._root = executive.with_workers(reports, name=f"{executive.name}_Executive", max_turns=max_turns)

    def __repr__(self) -> str:
        return f"HierarchicalAgents({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return (Member("executive", self._root),)

    @property
    @override
    def input_types(self) -> InputTypes:
        return READS_MESSAGES

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        return as_own_result(await self._root.run(input, context=context), context)

    def find_manager(self, name: str) -> Agent[object]:
        """Return the manager of a department, with its workers.

        Raises:
            AgentNotFoundError: when there is no such department.
        """
        if (supervisor := self._supervisors.get(name)) is not None:
            return supervisor
        hint = did_you_mean(name, self._supervisors)
        raise AgentNotFoundError(
            f"{self.name} has no department {name!r}.{hint} Departments: {', '.join(self._supervisors)}."
        )

    async def send_to_department(
        self, name: str, input: Input, *, context: RunContext | None = None, budget: Budget | None = None
    ) -> RunResult[object]:
        """Run a department, without the executive.

        Continue a waiting run with `find_manager(name).resume(...)`.

        Raises:
            AgentNotFoundError: when there is no such department.
            RunError: when it fails.
        """
        return await self.find_manager(name).run(input, context=self.prepare_context(context), budget=budget)


def _create_supervisor(department: Department, max_turns: int) -> Agent[object]:
    workers = [(worker.description, worker) for worker in department.workers]
    return department.manager.with_workers(workers, name=f"{department.manager.name}_Supervisor", max_turns=max_turns)
