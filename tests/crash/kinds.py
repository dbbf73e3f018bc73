"""Kinds of runs that workers continue: an agent with tools, a supervisor of agents, a flow, a planned agent, a request
in a conversation of a service.

All that they do is a function of their input, and each model's answer, tool call, function and action is a side effect
in a ledger.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from pydantic import BaseModel, create_model
from pydantic_core import to_json

from tactician import (
    Agent,
    AgentService,
    OperationContext,
    Platform,
    ProcessOptions,
    RunContext,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    repeat_until,
    runnable,
    scatter_gather,
    tool,
)
from tactician.agents.flows.repeat_until import RepeatUntil
from tactician.llm import (
    AssistantMessage,
    Features,
    ModelRequest,
    ModelResponse,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from tactician.llm.messages import join_text
from tactician.llm.model import Delta
from tactician.tools.toolbox import ToolLike
from tests.crash.ledger import Ledger

Graph = Mapping[str, frozenset[str]]
"""The side effects of a run, each with those that must be saved before it begins."""
Turns = tuple[tuple[str, ...], ...]
"""The tool calls of each turn of a model, such as `"post 1"`."""

_CLERK: Final[Turns] = (
    *(("post 1",), ("post 2",), ("post 3", "post 4", "post 5")),
    *(("post 6",), ("post 7",), ("post 8",), ("post 9", "post 10")),
)
AIDE_TURNS: Final[Turns] = (("post 1",), ("post 2", "post 3"))
_BOSS: Final[Turns] = (("invoke_aide A", "invoke_helper B"), ("invoke_aide C",))
_LARGE: Final = 100_000
"""Size of a result that makes a run so large that its steps are folded into a snapshot before its end."""
_ROUNDS: Final = 4
_LANES: Final = "abc"
_STAGES: Final = 6
_CONSULTS: Final = "c3"
"""The action that runs an agent."""


@dataclass(frozen=True)
class Kind:
    """Kind of run.

    Attributes:
        name: name of the Runnable.
        output: text of its result.
        effects: its side effects.
        steps: number of steps of each kind in the log of the run.
        options: settings of its process, if it is one.
        is_request: true for a request to a service, in a conversation; such a run begins in the program that asks.
    """

    name: str
    output: str
    effects: Graph
    steps: Mapping[str, int]
    options: ProcessOptions | None = None
    is_request: bool = False


class TurnModel:
    """Model that calls the tools of its script, turn by turn, and answers with the sum of their results.

    Args:
        ledger: ledger for its answers.
        turns: the script.
    """

    name = "turns"
    features = Features(tools=True, json_schema=True)

    def __init__(self, ledger: Ledger, turns: Turns) -> None:
        self._ledger = ledger
        self._turns = turns

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer, which depends on nothing but the messages."""
        asked = max(number for number, one in enumerate(request.messages) if isinstance(one, UserMessage))
        label, since = join_text([request.messages[asked]]), request.messages[asked:]
        turn = sum(isinstance(message, AssistantMessage) for message in since)
        run, part = _split(label)
        await self._ledger.record(run, f"{part}answer {turn + 1}")
        usage = Usage(input_tokens=10, output_tokens=5, requests=1, model=self.name)
        if turn < len(self._turns):
            numbered = enumerate(self._turns[turn], start=1)
            calls = tuple(_to_call(f"{label}:{turn + 1}.{number}", call, label) for number, call in numbered)
            return ModelResponse(AssistantMessage(calls), usage, "tool_calls", self.name)
        total = sum(int(message.content) for message in since if isinstance(message, ToolResult))
        return ModelResponse(AssistantMessage((Text(str(total)),)), usage, "stop", self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the answer as a whole."""
        yield await self.generate(request)


def create_agents(ledger: Ledger) -> list[object]:
    """Return the Runnables of a platform, one of each kind."""
    return [_create_clerk(ledger), _create_boss(ledger), _create_survey(ledger), _create_assembly(ledger)]


def create_service(ledger: Ledger, platform: Platform) -> AgentService:
    """Return a service with the agent that answers requests."""
    return AgentService(platform).register(create_agent(ledger, "Desk", _CLERK))


def messages_of_request(label: str) -> list[str]:
    """Return the texts that a conversation has after a request: those of tool calls are empty."""
    turns = (("", *(call.removeprefix("post ") for call in calls)) for calls in _CLERK)
    return [label, *chain.from_iterable(turns), DESK.output]


def _split(label: str) -> tuple[str, str]:
    """Return the label of the run, and the beginning of the names of side effects in a part of it."""
    run, _, part = label.partition("/")
    return run, f"{part} " if part else ""


def _to_call(call_id: str, call: str, label: str) -> ToolCall:
    name, argument = call.split()
    arguments = {"label": label, "number": int(argument)} if name == "post" else {"request": f"{label}/{argument}"}
    return ToolCall(call_id.replace("/", "-"), name, to_json(arguments).decode())


def _posts(ledger: Ledger, size: int) -> ToolLike:
    @tool
    async def post(label: str, number: int, context: RunContext) -> str:
        """Post a letter."""
        run, part = _split(label)
        await ledger.record(run, f"{part}post {number}", context.idempotency_key)
        return f"{number:{size}}"

    return post


def create_agent(ledger: Ledger, name: str, turns: Turns, model: TurnModel | None = None, size: int = 1) -> Agent:
    """Return an agent that posts letters, whose receipts are of some size."""
    return Agent(name, model=model or TurnModel(ledger, turns), tools=[_posts(ledger, size)])


def _create_clerk(ledger: Ledger) -> Agent:
    return create_agent(ledger, "Clerk", _CLERK, size=_LARGE)


def _create_boss(ledger: Ledger) -> SupervisorAgent:
    workers = {
        "helps": create_agent(ledger, "Aide", AIDE_TURNS),
        "helps too": create_agent(ledger, "Helper", AIDE_TURNS),
    }
    return SupervisorAgent("Boss", workers=workers, model=TurnModel(ledger, _BOSS))


def _create_survey(ledger: Ledger) -> object:
    def create_lane(lane: int) -> RepeatUntil[int]:
        async def count(label: str, last: int | None, context: RunContext) -> int:
            number = 1 if last is None else last + 1
            await ledger.record(label, f"count {lane}.{number}", context.idempotency_key)
            return number

        async def check(number: int, label: str, context: RunContext) -> bool:
            await ledger.record(label, f"check {lane}.{number}", context.idempotency_key)
            return number == _ROUNDS

        return repeat_until(int, count, check, name=f"Lane{lane}")

    async def poll(label: str, context: RunContext) -> int:
        await ledger.record(label, "poll", context.idempotency_key)
        return 1

    async def add(numbers: list[int], label: str, context: RunContext) -> int:
        await ledger.record(label, "add", context.idempotency_key)
        return sum(numbers)

    steps = [create_lane(1), create_lane(2), create_agent(ledger, "Aide", AIDE_TURNS), runnable(poll)]
    return scatter_gather(int, steps, add, elements=int, name="Survey")


class Total(BaseModel):
    """Result of a planned agent."""

    total: int


_TYPES: Final[Mapping[str, type[BaseModel]]] = {
    name: create_model(name.upper(), label=(str, ""), total=(int, 0), __module__=__name__)
    for name in (f"{lane}{number}" for lane in _LANES for number in range(1, _STAGES + 1))
}


def _create_assembly(ledger: Ledger) -> object:
    """Return a planned agent with three lanes of actions beside each other, and one action that adds their results."""
    aide = create_agent(ledger, "Aide", AIDE_TURNS)
    methods = {name: _create_stage(ledger, name, aide) for name in _TYPES}
    methods["assemble"] = _create_assemble(ledger)
    instance: object = planned_agent(description="adds what three lanes give")(type("Assembly", (), methods))()
    return instance


def _create_stage(ledger: Ledger, name: str, aide: Agent) -> Callable[..., Awaitable[object]]:
    lane, number, kind = name[0], int(name[1:]), _TYPES[name]

    async def act(self: object, given: Any, context: OperationContext) -> object:  # noqa: ANN401 - made at runtime
        label, total = (given.content, 0) if isinstance(given, UserInput) else (given.label, given.total)
        if name == _CONSULTS:
            return kind(label=label, total=total + await context.run_agent(aide, int, f"{label}/{name}"))
        await ledger.record(label, name, context.idempotency_key)
        return kind(label=label, total=total + number)

    given = UserInput if number == 1 else _TYPES[f"{lane}{number - 1}"]
    return action(_declare(act, name, given=given, context=OperationContext, result=kind))


def _create_assemble(ledger: Ledger) -> Callable[..., Awaitable[object]]:
    async def assemble(self: object, a: Any, b: Any, c: Any, context: OperationContext) -> Total:  # noqa: ANN401
        await ledger.record(a.label, "assemble", context.idempotency_key)
        return Total(total=a.total + b.total + c.total)

    ends = {lane: _TYPES[f"{lane}{_STAGES}"] for lane in _LANES}
    declared = _declare(assemble, "assemble", **ends, context=OperationContext, result=Total)
    return achieves_goal("all is assembled")(action(declared))


def _declare(
    function: Callable[..., Awaitable[object]], name: str, *, result: type, **parameters: type
) -> Callable[..., Awaitable[object]]:
    function.__name__ = name
    function.__annotations__ = {**parameters, "return": result}
    return function


def graph_of_agent(turns: Turns, part: str = "", after: frozenset[str] = frozenset()) -> Graph:
    """Return the side effects of an agent that posts: each answer after the calls of the turn before it."""
    graph: dict[str, frozenset[str]] = {}
    before = after
    for number, calls in enumerate((*turns, ()), start=1):
        answer = f"{part}answer {number}"
        graph[answer] = before
        graph |= {f"{part}{call}": frozenset({answer}) for call in calls}
        before = frozenset(f"{part}{call}" for call in calls)
    return graph


def _graph_of_boss() -> Graph:
    first, last = frozenset({"answer 1"}), f"answer {len(AIDE_TURNS) + 1}"
    return {
        "answer 1": frozenset(),
        **graph_of_agent(AIDE_TURNS, "A ", first),
        **graph_of_agent(AIDE_TURNS, "B ", first),
        "answer 2": frozenset({f"A {last}", f"B {last}"}),
        **graph_of_agent(AIDE_TURNS, "C ", frozenset({"answer 2"})),
        "answer 3": frozenset({f"C {last}"}),
    }


def _graph_of_survey() -> Graph:
    graph = {**graph_of_agent(AIDE_TURNS), "poll": frozenset[str]()}
    ends = {f"answer {len(AIDE_TURNS) + 1}", "poll"}
    for lane in (1, 2):
        for number in range(1, _ROUNDS + 1):
            graph[f"count {lane}.{number}"] = frozenset({f"check {lane}.{number - 1}"} if number > 1 else ())
            graph[f"check {lane}.{number}"] = frozenset({f"count {lane}.{number}"})
        ends.add(f"check {lane}.{_ROUNDS}")
    return {**graph, "add": frozenset(ends)}


def _graph_of_assembly() -> Graph:
    graph: dict[str, frozenset[str]] = {}
    ends: set[str] = set()
    for lane in _LANES:
        before: frozenset[str] = frozenset()
        for number in range(1, _STAGES + 1):
            name = f"{lane}{number}"
            inside = graph_of_agent(AIDE_TURNS, f"{name} ", before) if name == _CONSULTS else {name: before}
            graph |= inside
            before = frozenset({list(inside)[-1]})
        ends |= before
    return {**graph, "assemble": frozenset(ends)}


CLERK = Kind("Clerk", "55", graph_of_agent(_CLERK), {"answer": 8, "tool": 10})
BOSS = Kind("Boss", "18", _graph_of_boss(), {"answer": 12, "tool": 12})
SURVEY = Kind("Survey", "15", _graph_of_survey(), {"answer": 3, "tool": 3, "function": 18})
ASSEMBLY = Kind(
    "Assembly",
    '{"total":66}',
    _graph_of_assembly(),
    {"answer": 3, "tool": 3, "action": 19},
    ProcessOptions(max_parallel=3),
)
DESK = Kind("Desk", "55", graph_of_agent(_CLERK), {"answer": 8, "tool": 10}, is_request=True)
ENQUEUED: Final = (CLERK, BOSS, SURVEY, ASSEMBLY)
KINDS: Final = (*ENQUEUED, DESK)
