"""Runnables of each kind, each of which waits for a person in its middle.

They are built of documented names only, so that an earlier version of the package can run this file too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_json

from tactician import (
    END,
    Agent,
    AgentNetwork,
    Department,
    Edge,
    Ensemble,
    Graph,
    HierarchicalAgents,
    Loop,
    MapReduce,
    OperationContext,
    ParallelAgents,
    Phase,
    PhaseReview,
    Planner,
    Review,
    RouterAgent,
    SupervisorAgent,
    Task,
    UserInput,
    Workflow,
    achieves_goal,
    action,
    planned_agent,
    repeat_until,
    runnable,
    scatter_gather,
    tool,
)
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
from tactician.llm.model import Delta
from tactician.process import ask_human
from tactician.testing import ScriptedModel

INPUT: Final = "Pay the baker"
_ARGUMENTS: Final = {"pay": {"amount": 5}, "invoke": {"request": INPUT}}


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


class Payer:
    """Model that calls the first tool that it has, and then answers with what the tools gave.

    Args:
        calls: the tools that it calls instead, with their arguments, one in each turn.
    """

    name = "payer"
    features = Features(tools=True, json_schema=True)

    def __init__(self, **calls: object) -> None:
        self._calls = calls

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer, which depends on nothing but the request."""
        asked = max(number for number, message in enumerate(request.messages) if isinstance(message, UserMessage))
        since = [message for message in request.messages[asked:] if isinstance(message, ToolResult)]
        usage = Usage(input_tokens=10, output_tokens=5, requests=1, model=self.name)
        calls = self._calls or {tool.name: _ARGUMENTS.get(tool.name[:6], {}) for tool in request.tools[:1]}
        results = [result.content for result in since if result.name in calls]
        if len(results) < len(calls):
            name, arguments = list(calls.items())[len(results)]
            call = ToolCall(f"call-{len(request.messages)}", name, to_json(arguments).decode())
            return ModelResponse(AssistantMessage((call,)), usage, "tool_calls", self.name)
        text = f"Done: {'; '.join(results)}" if results else "Nothing to do."
        return ModelResponse(AssistantMessage((Text(text),)), usage, "stop", self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the answer as a whole."""
        yield await self.generate(request)


def _create_payer(name: str = "Payer") -> Agent:
    return Agent(name, model=Payer(), tools=[pay], description=f"{name} pays bills", role=name, goal="Pay")


def _create_clerk(name: str = "Clerk") -> Agent:
    return Agent(name, model=Payer(), description=f"{name} files bills", role=name, goal="File")


class Order(BaseModel):
    """Input of a planned agent."""

    number: int


class Address(BaseModel):
    """Answer of a person."""

    city: str


class Parcel(BaseModel):
    """Output of a planned agent."""

    label: str


@planned_agent(name="Shop", description="Sends parcels")
class Shop:
    """Planned agent that asks for an address."""

    @action
    def take(self, wish: UserInput) -> Order:
        """Take an order."""
        return Order(number=len(wish.content))

    @action
    async def ask(self, order: Order) -> Address:
        """Ask where it goes."""
        return await ask_human(Address, f"Where does order {order.number} go?")

    @achieves_goal("sent")
    @action
    def send(self, order: Order, address: Address) -> Parcel:
        """Send a parcel."""
        return Parcel(label=f"{order.number} to {address.city}")


@planned_agent(name="Depot", description="Lets an agent pay")
class Depot:
    """Planned agent with an agent that waits in an action."""

    @achieves_goal("delivered")
    @action
    async def deliver(self, wish: UserInput, context: OperationContext) -> Parcel:
        """Pay, and deliver."""
        return Parcel(label=(await context.run_agent(_create_payer(), str, wish.content)))


@planned_agent(name="Lead", description="Sends parcels as a model likes", planner=Planner.SUPERVISOR)
class Lead:
    """Planned agent whose model chooses the actions."""

    @action
    def take(self, wish: UserInput) -> Order:
        """Take an order."""
        return Order(number=len(wish.content))

    @achieves_goal("sent")
    @action
    async def send(self, order: Order) -> Parcel:
        """Ask where it goes, and send a parcel."""
        return Parcel(label=f"{order.number} to {(await ask_human(Address, 'Where does it go?')).city}")


def _create_router() -> RouterAgent:
    return RouterAgent("Router", routes={"files": _create_clerk(), "pays": _create_payer()}, model=ScriptedModel("2"))


def _create_company() -> HierarchicalAgents:
    department = Department(Agent("Manager", model=Payer()), [_create_payer()])
    return HierarchicalAgents(executive=Agent("Company", model=Payer()), departments={"pays": department})


def _create_desk() -> Agent:
    return Agent("Desk", model=Payer(transfer_to_payer={}), handoffs=[_create_payer()])


def _create_firm() -> Ensemble:
    calls = Payer(delegate_task={"role": "Payer", "task": "Pay"})
    return Ensemble(
        "Firm",
        [Task("Report on {input}")],
        workflow=Workflow.HIERARCHICAL,
        agents=[_create_payer(), _create_clerk()],
        manager=Agent("Editor", model=calls),
    )


def _create_task(name: str, *, by: Agent | None = None, **options: Any) -> Task:  # noqa: ANN401 - options of a task
    return Task(f"{name} {{input}}", id=name, agent=by or _create_clerk(f"{name} clerk"), **options)


def _create_reviewed() -> Ensemble:
    review = Review.after("Good?", timeout=None)
    tasks = [_create_task("read"), _create_task("write", review=review), _create_task("print")]
    return Ensemble("Reviewed", tasks)


def _create_phases() -> Ensemble:
    read = Phase("reading", [_create_task("read")])
    write = Phase("writing", [_create_task("write")], after=[read], review=PhaseReview.by_person())
    return Ensemble("Phases", phases=[read, write, Phase("printing", [_create_task("print")], after=[write])])


def _create_parallel() -> Ensemble:
    tasks = [_create_task("read"), _create_task("pay", by=_create_payer()), _create_task("file")]
    return Ensemble("Beside", tasks, workflow=Workflow.PARALLEL)


def _create_survey() -> object:
    def add(texts: list[str]) -> str:
        return " and ".join(texts)

    steps = [_create_payer(), _create_clerk()]
    return scatter_gather(str, steps, add, elements=str, name="Survey")


def _create_repetition() -> object:
    def check(text: str) -> bool:
        return "paid" in text

    return repeat_until(str, _create_payer(), check, name="Repetition")


def _create_graph() -> Ensemble:
    states = {"first": _create_task("read"), "second": _create_task("pay", by=_create_payer())}
    edges = [Edge("first", "second"), Edge("second", END)]
    return Ensemble("Ways", [Graph(states, start="first", edges=edges, id="way")])


def _create_loop() -> Ensemble:
    body = [_create_task("read"), _create_task("pay", by=_create_payer())]
    return Ensemble("Rounds", [Loop(body, until=lambda outputs: "paid" in outputs.last.raw, id="loop")])


def _create_reading() -> Ensemble:
    reading = MapReduce(
        ["bread", "cake"],
        map=lambda page: _create_task(page, by=_create_payer(page)),
        reduce=lambda outputs: _create_task(f"sum of {len(outputs)}"),
        id="reading",
    )
    return Ensemble("Reading", [reading])


def _create_office() -> Ensemble:
    return Ensemble("Office", [_create_task("order"), Ensemble("Inner", [_create_task("pay", by=_create_payer())])])


def _create_function() -> object:
    async def Errand(wish: str) -> str:
        """Run an errand."""
        return str((await _create_payer().run(wish)).output)

    return runnable(Errand)


PROGRAMS: Final[Mapping[str, Callable[[], Any]]] = {
    "Payer": _create_payer,
    "Router": lambda: RouterAgent(
        "Router", routes={"files": _create_clerk(), "pays": _create_payer()}, model=ScriptedModel("2")
    ),
    "Boss": lambda: SupervisorAgent("Boss", workers={"pays": _create_payer()}, model=Payer()),
    "Beside agents": lambda: ParallelAgents("Beside agents", [_create_payer(), _create_clerk()]),
    "Network": lambda: AgentNetwork("Network", [_create_payer(), _create_clerk()]),
    "Company_Hierarchy": _create_company,
    "Desk": _create_desk,
    "Shop": Shop,
    "Lead": Lead,
    "Firm": _create_firm,
    "Depot": Depot,
    "Reviewed": _create_reviewed,
    "Phases": _create_phases,
    "Beside": _create_parallel,
    "Ways": _create_graph,
    "Rounds": _create_loop,
    "Reading": _create_reading,
    "Office": _create_office,
    "Survey": _create_survey,
    "Repetition": _create_repetition,
    "Errand": _create_function,
}
"""Builders by the name of the Runnable."""
