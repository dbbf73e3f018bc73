"""How a process is run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError
from tactician.events import EventListener
from tactician.process.blackboard import Blackboard
from tactician.process.retrying import DEFAULT_RETRIES, ActionRetryPolicy
from tactician.runs import Budget

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess

# A process that a model steers should not be able to spend without an end.
DEFAULT_BUDGET = Budget(actions=50, tokens=1_000_000, cost=2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbosity:
    """What the log is told of a process, besides that it starts, runs an action, and ends.

    Attributes:
        prompts: what models are sent.
        responses: what models answer.
        plans: each plan that is not simply the rest of the last one.
        debug: every other event too: the calls of tools, answers that were refused, what a router did ...
    """

    prompts: bool = False
    responses: bool = False
    plans: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """How to run a process.

    Attributes:
        budget: how far it may go, with all that runs inside it: 50 actions, a million tokens and 2 US dollars, by
            default.
        memory_id: id of the memory that the process recalls at its start and adds its findings to; none, when `None`.
        blackboard: what it begins with, besides what it is started with; it has a copy.
        max_parallel: how many actions may run at once, where their order does not matter.
        retry: how often an action is tried that does not say so itself.
        delay: seconds between two actions, at least.
        tool_delay: seconds from one call of a tool to the next, at least, in all that runs inside it.
        terminate_when: asked before each action, plain or `async`; a text that it returns is why the process is
            terminated.
        verbosity: what the log is told, by the logger `tactician.process` at the level INFO; nothing, when `None`.
        on_event: called with every event of the process, and of what runs inside it.

    Raises:
        ConfigurationError: when one of them is not what it has to be.
    """

    budget: Budget = DEFAULT_BUDGET
    memory_id: str | None = None
    blackboard: Blackboard | None = None
    max_parallel: int = 1
    retry: ActionRetryPolicy = DEFAULT_RETRIES
    delay: float = 0.0
    tool_delay: float = 0.0
    terminate_when: Callable[[AgentProcess], str | Awaitable[str | None] | None] | None = None
    verbosity: Verbosity | None = None
    on_event: EventListener | None = None

    def __post_init__(self) -> None:
        _need("budget", self.budget, Budget, "Budget(actions=50)")
        _need("retry", self.retry, ActionRetryPolicy, "ActionRetryPolicy(attempts=3)")
        _need("blackboard", self.blackboard, Blackboard | None, "Blackboard(...)")
        _need("verbosity", self.verbosity, Verbosity | None, "Verbosity(plans=True)")
        _need_name("memory_id", self.memory_id)
        _need_function("on_event", self.on_event, "print")
        _need_function("terminate_when", self.terminate_when, "lambda process: None")
        need_amount("ProcessOptions.max_parallel", self.max_parallel, least=1, whole=True)
        need_amount("ProcessOptions.delay", self.delay)
        need_amount("ProcessOptions.tool_delay", self.tool_delay)


def _need(name: str, value: object, kind: type | UnionType, example: str) -> None:
    if not isinstance(value, kind):
        raise ConfigurationError(f"ProcessOptions.{name} is {value!r}; write {name}={example}")


def _need_name(name: str, value: object) -> None:
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise ConfigurationError(f"ProcessOptions.{name} is {value!r}; it has to be a name, or None")


def _need_function(name: str, value: object, example: str) -> None:
    if value is not None and not callable(value):
        raise ConfigurationError(f"ProcessOptions.{name} is {value!r}; write a function, as in {name}={example}")


def board_to_begin_with(options: ProcessOptions | None) -> Blackboard:
    """A blackboard of its own for a process, with what the options say.

    Raises:
        ConfigurationError: when they are no options.
    """
    if not isinstance(options, ProcessOptions | None):
        raise ConfigurationError(f"The options are {options!r}; write options=ProcessOptions(...)")
    given = None if options is None else options.blackboard
    return Blackboard() if given is None else Blackboard.of(given.entries, given.conditions)
