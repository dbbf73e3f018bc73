"""Goals as tools: what planned agents can do, for other agents and for other programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic.errors import PydanticUserError

from tactician.agents import PlannedAgent
from tactician.agents.planned.specs import find_planned_specs
from tactician.errors import DeclarationError, ToolError
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.llm.model import ToolSpec
from tactician.platform.start_objects import Start, StartInput, StartObjects, find_starts
from tactician.process import Export, ProcessError
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.state.goals import GoalSpec
from tactician.runs import RunContext, Runnable, RunStatus
from tactician.text import snake_case
from tactician.tools import Tool
from tactician.tools.tool import describe_result

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def goal_tools(
    agents: Mapping[str, Runnable], home: Callable[[], RunContext], *, remote: bool | None
) -> tuple[GoalTool, ...]:
    """Create a tool for each exported goal, and all that it can be reached from: an object, or several together.

    Args:
        agents: agents that have the goals.
        home: function that returns the context with their models and tool groups.
        remote: only goals that are exported to other programs, or, when `False`, to other agents; both, when `None`.

    Raises:
        DeclarationError: with all goals that are exported on purpose, to which no objects lead, or only objects
            without a JSON form.
    """
    problems: list[str] = []
    offers = [offer for spec in find_planned_specs(agents.values()) for offer in _list_offers(spec, remote, problems)]
    if problems:
        raise DeclarationError("exported goals", problems)
    return tuple(GoalTool(offer, name, home) for offer, name in zip(offers, _list_names(offers), strict=True))


@frozen
class _Offer:
    """Goal that can be reached from these objects."""

    agent: PlannedAgentSpec
    goal: GoalSpec
    name: str
    start: Start


class GoalTool(Tool):
    """Goal of a planned agent as a tool. Its arguments are the objects to start from.

    Attributes:
        agent: the agent, with this goal only.
        goal: the goal.
        inputs: the objects to start from.
    """

    def __init__(self, offer: _Offer, name: str, home: Callable[[], RunContext]) -> None:
        agent, goal = offer.agent, offer.goal
        self.goal = goal
        self.inputs = offer.start.inputs
        self._start = offer.start
        self._home = home
        self._spec = ToolSpec(name, f"{goal.description.rstrip('.')}. {agent.description}", offer.start.schema)
        self.agent: PlannedAgent = PlannedAgent.of(replace(agent, goals=(goal,)))

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    def read(self, arguments: str) -> StartObjects:
        """Parse the arguments, and return the objects to start from.

        Raises:
            InvalidArgumentsError: when they are not valid.
        """
        return self._start.read(arguments)

    async def call(self, arguments: str, context: RunContext) -> str:
        """Run a process towards the goal, as a child of the run that calls it, and return its result as JSON.

        Raises:
            InvalidArgumentsError: when they are not the objects to start from.
            ToolError: when the goal is not reached, with the reason; or when the process waits for an answer, and
                there is no run around it that can wait.
        """
        start = self.read(arguments)
        if self.agent.name in context.path:
            raise ToolError(f"{self.agent.name} is at work on this already: it cannot ask itself.")
        home = self._home()
        here = context.with_services(home.services)
        try:
            result = await self.agent.run(start.objects, named=start.named, context=here)
        except ProcessError as error:
            raise ToolError(str(error)) from error
        if result.status is RunStatus.WAITING:
            asked = "; ".join(request.prompt for request in result.pending)
            raise ToolError(f"{self.agent.name} waits, as the run {result.run_id}, for an answer: {asked}")
        if result.status is RunStatus.PAUSED:
            raise ToolError(f"{self.agent.name} is paused, as the run {result.run_id}.")
        return describe_result(result.output)


def _list_offers(agent: PlannedAgentSpec, remote: bool | None, problems: list[str]) -> Iterator[_Offer]:
    for goal in agent.goals:
        if not _is_wanted(goal.export, remote):
            continue
        starts = _list_declared_starts(goal.export) or tuple(find_starts(goal, agent))
        is_meant = goal.export.remote or bool(goal.export.starting_input_types)  # others are exported by default
        if not starts and is_meant:
            problems.append(
                f"{agent.name}: no object leads to the goal {goal.name!r}; name the types to start from, as in "
                "Export(starting_input_types=[Order])"
            )
        for inputs in starts:
            name = _as_name(goal.export.name or goal.name)
            kinds = " and ".join(start.kind.__name__ for start in inputs)
            try:
                started = name if len(starts) == 1 else f"{name}_from_{snake_case(kinds)}"[:64]
                yield _Offer(agent, goal, started, Start(inputs))
            except PydanticUserError as error:
                if is_meant:
                    why = str(error).splitlines()[0]
                    problems.append(
                        f"{agent.name}: the goal {goal.name!r} cannot start from {add_article(kinds)}: {why}"
                    )


def _list_declared_starts(export: Export) -> tuple[tuple[StartInput, ...], ...]:
    several = (kinds if isinstance(kinds, tuple) else (kinds,) for kinds in export.starting_input_types)
    return tuple(tuple(map(StartInput, kinds)) for kinds in several)


def _is_wanted(export: Export, remote: bool | None) -> bool:
    if remote is None:
        return export.remote or export.local
    return export.remote if remote else export.local


def _list_names(offers: Sequence[_Offer]) -> Iterator[str]:
    """Yield the names of the tools, prefixed with the name of the agent where two agents have the same."""
    names = [offer.name for offer in offers]
    times = Counter(names)
    for offer, name in zip(offers, names, strict=True):
        yield name if times[name] == 1 else snake_case(f"{snake_case(offer.agent.name)}_{name}")


def _as_name(name: str) -> str:
    return name if _NAME.fullmatch(name) else snake_case(name)
