"""A package of somebody else: tools, types, guardrails and agents that blueprints name."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from tactician import (
    InProcessMemory,
    InProcessReflections,
    PlannedAgent,
    Scope,
    Task,
    UserInput,
    achieves_goal,
    action,
    approve,
    guardrails,
    planned_agent,
    runnable,
    tool,
)
from tactician.context_format import JsonFormatter
from tactician.ensemble import ReflectionInput, TaskInput, TaskOutputs
from tactician.guardrails import GuardrailResult
from tactician.llm import Message
from tactician.llm.model import ToolSpec
from tactician.runs import PendingRequest, RunContext
from tactician.runs.outcomes.suspension import Response
from tactician.tools import Tool

T = TypeVar("T")


class Order(BaseModel):
    number: int


class Invoice(BaseModel):
    total: float


class Page(BaseModel, Generic[T]):
    items: list[T]


@tool
def look_up(number: int) -> str:
    """Look an order up."""
    return f"order {number}"


def plain(text: str) -> str:
    """Give a text back."""
    return text


class Echo(Tool):
    @property
    def spec(self) -> ToolSpec:
        return ToolSpec("echo", "Says it again.", {"type": "object", "properties": {}})

    async def call(self, arguments: str, context: RunContext) -> str:
        return arguments


class Shelf:
    """An object whose methods are tools."""

    def __init__(self, size: int = 3) -> None:
        self.books: list[str] = []

    @tool
    def put(self, title: str) -> str:
        """Put a book on the shelf."""
        self.books.append(title)
        return "done"

    @tool
    def titles(self) -> list[str]:
        """Say what is there."""
        return self.books


class NeedsAddress:
    def __init__(self, address: str) -> None:
        self.address = address

    @tool
    def ping(self) -> str:
        """Ping it."""
        return self.address


class FewWords:
    def __init__(self, limit: int = 5) -> None:
        self._limit = limit

    def check(self, text: str) -> GuardrailResult:
        return guardrails.passed() if len(text.split()) <= self._limit else guardrails.failed("too many words")


class Box:
    def __init__(self, size: int = 3) -> None:
        self.size = size

    @tool
    def fill(self) -> int:
        """Fill it."""
        return self.size


class Boom:
    def __init__(self) -> None:
        raise RuntimeError("boom")


class Quits:
    def __init__(self) -> None:
        raise SystemExit(3)


@planned_agent(description="Explodes")
class Explodes:
    def __init__(self) -> None:
        raise KeyError("no such star")

    @achieves_goal("a fortune")
    @action
    def tell(self, question: UserInput) -> Order:
        return Order(number=1)


@guardrails.input_guardrail("acme_short", concurrent=True)
def short(text: str) -> GuardrailResult:
    return guardrails.passed() if len(text) < 1_000 else guardrails.failed("too long")


def no_shouting(text: str) -> GuardrailResult:
    return guardrails.failed("too loud") if text.isupper() else guardrails.passed()


class Polite:
    def check(self, output: str) -> GuardrailResult:
        return guardrails.failed("rude") if "damn" in output else guardrails.passed()


@guardrails.tool_input_guardrail("acme_no_zero")
def no_zero(call: object) -> GuardrailResult:
    return guardrails.passed()


class CountsWords:
    def count(self, message: Message) -> int:
        return 1


@dataclass
class Horoscope:
    text: str


class Stars:
    """Something that no JSON can say."""


@planned_agent(description="Tells fortunes")
class Teller:
    def __init__(self, count: int = 5, names: tuple[str, ...] = ()) -> None:
        self.count = count
        self._names = names

    @achieves_goal("a fortune")
    @action
    def tell(self, question: UserInput) -> Horoscope:
        return Horoscope(f"{self.count} stars for {question.content}")


@planned_agent(description="Asks the stars")
class Astrologer:
    def __init__(self, stars: Stars) -> None:
        self.stars = stars

    @achieves_goal("a fortune")
    @action
    def tell(self, question: UserInput) -> Horoscope:
        return Horoscope(question.content)


async def backwards(text: str) -> str:
    """Turn a text round."""
    return text[::-1]


@runnable
async def upwards(text: str) -> str:
    """Shout."""
    return text.upper()


teller = PlannedAgent(Teller())
SECRET = "a text that is nobody's business"


def count_words(task: TaskInput) -> int:
    """Count the words of the output before."""
    return len(task.context_outputs[0].raw.split()) if task.context_outputs else 0


def is_due(known: TaskOutputs) -> bool:
    """Return whether a task is to run."""
    return len(known.outputs) < 99


def check_length(task: TaskInput) -> str:
    """Decide on a phase."""
    return "APPROVE" if len(task.context_outputs[-1].raw) < 9_999 else "RETRY: shorter"


def is_done(outputs: TaskOutputs) -> bool:
    """Return whether a loop ends."""
    return len(outputs.last.raw) > 3


def make_task(item: object) -> Task:
    """Return the task of an item, or of several."""
    return Task(f"Read {item}", handler=count_words)


def list_items(task: TaskInput) -> list[str]:
    """Return the items of a map-reduce."""
    return task.text.split()


def estimate(text: str) -> int:
    """Return the number of tokens of a text."""
    return len(text)


def find_improvement(input: ReflectionInput) -> str | None:
    """Reflect on an output."""
    return "shorter" if len(input.output) > 99 else None


def answer(request: PendingRequest) -> Response | None:
    """Answer a review."""
    return approve()


def listen(event: object) -> None:
    """Hear an event."""


class Journal(InProcessReflections):
    """A store of reflections."""


class Diary(InProcessMemory):
    """A memory."""

    def __init__(self) -> None:
        super().__init__({"project": Scope(), "style": Scope()})


class Upper(JsonFormatter):
    """A format of data."""
