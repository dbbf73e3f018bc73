"""Settings of a process: budget, retries of actions, concurrency, pace, and what the log and listeners get."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import pydantic

from tactician.amounts import need_amount
from tactician.conversation import ChatUser
from tactician.data_fields import CodeOnly
from tactician.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    ModelServerError,
    ModelTimeoutError,
    PermanentError,
    RateLimitError,
    TransientError,
)
from tactician.events.bus import EventListener
from tactician.frozen import frozen
from tactician.planning import PlanningBudget
from tactician.process.board.blackboard import Blackboard
from tactician.process.state.handle import ProcessHandle
from tactician.process.stored_types import find_loaded_error, type_name
from tactician.runs import Budget
from tactician.runs.outcomes.budget import restore_budget

if TYPE_CHECKING:
    from tactician.planning import Objective
    from tactician.planning.rules import Rule

    Rules: TypeAlias = tuple[Rule, ...]
else:
    Rules = tuple
    Objective = object

_PASSING = (TransientError, RateLimitError, ModelServerError, ModelTimeoutError, ModelConnectionError, ConnectionError)


@frozen(kw_only=True)
class ActionRetryPolicy:
    """Number of attempts of an action, and the pauses between them.

    Retried are a `TransientError`, failures of models and connections that pass, and the exceptions named here. A
    `PermanentError` is never retried, nor are mistakes in the code of an action, nor what a router has retried already.

    Attributes:
        attempts: number of attempts in all.
        delay: seconds before the second attempt.
        factor: factor by which each further pause is longer.
        max_delay: seconds, the longest pause.
        on: other exceptions that are worth another attempt.

    Raises:
        ConfigurationError: when a value is out of range or of the wrong type.
    """

    attempts: int = 3
    delay: float = 1.0
    factor: float = 2.0
    max_delay: float = 60.0
    on: tuple[
        Annotated[type[Exception], pydantic.PlainValidator(find_loaded_error), pydantic.PlainSerializer(type_name)],
        ...,
    ] = ()

    def __post_init__(self) -> None:
        need_amount("ActionRetryPolicy.attempts", self.attempts, least=1, whole=True)
        for name in ("delay", "factor", "max_delay"):
            need_amount(f"ActionRetryPolicy.{name}", getattr(self, name))
        if not _is_of_exceptions(self.on):
            raise ConfigurationError(
                f"ActionRetryPolicy.on is {self.on!r}; write a tuple of exceptions: on=(KeyError,)"
            )

    def pause_after(self, attempt: int, error: Exception) -> float | None:
        """Return the seconds to wait after an attempt, counted from 1; `None` when it was the last."""
        if attempt >= self.attempts or not self._passes(error):
            return None
        from tactician.resilience.backoff import compute_backoff

        return compute_backoff(attempt, base=self.delay, factor=self.factor, longest=self.max_delay)

    def _passes(self, error: BaseException) -> bool:
        """Return whether the error is worth another attempt; a group is, when each error in it is."""
        if isinstance(error, PermanentError):
            return False
        if isinstance(error, BaseExceptionGroup) and all(map(self._passes, error.exceptions)):
            return True
        if isinstance(error, ModelError) and error.is_exhausted:
            return isinstance(error, self.on)
        return isinstance(error, (*_PASSING, *self.on))


def _is_of_exceptions(kinds: object) -> bool:
    return isinstance(kinds, tuple) and all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds)


def _restore_budget(saved: object, _: object) -> Budget:
    return restore_budget(saved)


DEFAULT_RETRIES: Final = ActionRetryPolicy()


# A process that a model steers should not be able to spend without an end.
DEFAULT_BUDGET: Final = Budget(actions=50, tokens=1_000_000, cost=2.0)


@frozen(kw_only=True)
class Verbosity:
    """Content of the log of a process, besides that it starts, runs an action, and ends.

    Attributes:
        prompts: the requests to models.
        responses: the responses of models.
        plans: each plan that is not simply the rest of the last plan.
        debug: every other event too: calls of tools, refused answers, decisions of a router ...
    """

    prompts: bool = False
    responses: bool = False
    plans: bool = False
    debug: bool = False


@frozen(kw_only=True)
class PlanReview:
    """Terms under which a person decides on the plans of a process.

    Attributes:
        required_role: role that a person needs to decide; anybody may, when `None`.
        deadline: how long to wait; without an end, when `None`.
        default: the decision when nobody has decided in time.
        replans: `ask` for each later plan that is not the rest of the approved one, or `allow` them.
        above_dollars: US dollars; a plan that is expected to take no more, by the earlier runs of its actions, needs no
            decision. Every plan needs one, when `None`.

    Raises:
        ConfigurationError: when a value is out of range.
    """

    required_role: str | None = None
    deadline: timedelta | None = None
    default: Literal["approve", "reject"] = "reject"
    replans: Literal["ask", "allow"] = "ask"
    above_dollars: float | None = None

    def __post_init__(self) -> None:
        if self.above_dollars is not None:
            need_amount("PlanReview.above_dollars", self.above_dollars)
        for name, allowed in (("default", ("approve", "reject")), ("replans", ("ask", "allow"))):
            if (value := getattr(self, name)) not in allowed:
                raise ConfigurationError(
                    f"PlanReview.{name} is {value!r}; it must be {' or '.join(map(repr, allowed))}"
                )


def _restore_rules(saved: object) -> Rules:
    from tactician.planning.rules import Rule, from_data

    if not isinstance(saved, Sequence):
        raise TypeError(f"the rules must be a sequence of rules, not {saved!r}")
    return tuple(rule if isinstance(rule, Rule) else from_data(rule) for rule in saved)


def _save_rules(rules: Rules) -> list[dict[str, object]]:
    return [rule.to_data() for rule in rules]


def _restore_objective(saved: object) -> Objective | None:
    if saved is None:
        return None
    from tactician.planning import Objective

    return Objective.of(saved)


def _save_objective(objective: Objective | None) -> dict[str, float] | None:
    return None if objective is None else objective.to_data()


@frozen(kw_only=True)
class ProcessOptions:
    """Settings of a process.

    Attributes:
        budget: limits of the process, with all that runs inside it: 50 actions, a million tokens and 2 US dollars, by
            default.
        memory_id: id of the memory that the process recalls at its start and adds its findings to; none, when `None`.
        conversation_id: id of the conversation that the process takes part in; the process begins the conversation if
            it does not exist. What its actions `send` goes there, they find it by a parameter of the type
            `Conversation`, and the process is `RESTING` between two messages of its user.
        user: the user that the process works for, whom code inside it finds by `context.find(ChatUser)`. A conversation
            of the user is not found by others.
        blackboard: objects to begin with, besides those that the process is started with; the process has a copy.
        max_parallel: number of actions that may run at once, where their order does not matter.
        retry: policy for actions that have none of their own.
        delay: least number of seconds between two actions.
        tool_delay: least number of seconds between two calls of tools, in all that runs inside the process.
        terminate_when: function that is called before each action, plain or `async`; the text that it returns is why
            the process is terminated.
        verbosity: content of the log, by the logger `tactician.process` at the level INFO; no log, when `None`.
        on_event: function that is called with every event of the process, and of what runs inside it.
        planning: limits of each decision of the planner; the limits of the agent, else of the platform, when `None`.
        rules: rules that the process keeps besides those of its agent, of `tactician.planning.rules`.
        plan_review: terms under which a person decides on its plans; no reviews, when `None`.
        objective: what the plans are to save: `Objective.TIME`, `DOLLARS`, `COST` or weights, from what earlier runs of
            the actions took; the objective of the agent, else of the platform, when `None`.
        explore: seed of the exploration of actions that have run seldom; no exploration, when `None`.

    Raises:
        ConfigurationError: when a value is out of range or of the wrong type.
    """

    budget: Annotated[Budget, pydantic.WrapValidator(_restore_budget), pydantic.Field(alias="limits")] = DEFAULT_BUDGET
    memory_id: str | None = None
    conversation_id: str | None = None
    user: ChatUser | None = None
    blackboard: CodeOnly[Blackboard | None] = None
    max_parallel: int = 1
    retry: ActionRetryPolicy = DEFAULT_RETRIES
    delay: float = 0.0
    tool_delay: float = 0.0
    terminate_when: CodeOnly[Callable[[ProcessHandle], str | Awaitable[str | None] | None] | None] = None
    verbosity: Verbosity | None = None
    on_event: CodeOnly[EventListener | None] = None
    planning: PlanningBudget | None = None
    rules: Annotated[Rules, pydantic.PlainValidator(_restore_rules), pydantic.PlainSerializer(_save_rules)] = ()
    plan_review: PlanReview | None = None
    objective: Annotated[
        Objective | None, pydantic.PlainValidator(_restore_objective), pydantic.PlainSerializer(_save_objective)
    ] = None
    explore: int | None = None

    def __post_init__(self) -> None:
        _need("budget", self.budget, Budget, "Budget(actions=50)")
        _need("user", self.user, ChatUser | None, "ChatUser('alice')")
        _need("retry", self.retry, ActionRetryPolicy, "ActionRetryPolicy(attempts=3)")
        _need("blackboard", self.blackboard, Blackboard | None, "Blackboard(...)")
        _need("verbosity", self.verbosity, Verbosity | None, "Verbosity(plans=True)")
        _need("planning", self.planning, PlanningBudget | None, "PlanningBudget(time=5.0)")
        _need_rules(self.rules)
        _need("plan_review", self.plan_review, PlanReview | None, "PlanReview(required_role='lead')")
        _need_objective(self.objective)
        _need("explore", self.explore, int | None, "7")
        _need_name("memory_id", self.memory_id)
        _need_name("conversation_id", self.conversation_id)
        _need_function("on_event", self.on_event, "print")
        _need_function("terminate_when", self.terminate_when, "lambda process: None")
        need_amount("ProcessOptions.max_parallel", self.max_parallel, least=1, whole=True)
        need_amount("ProcessOptions.delay", self.delay)
        need_amount("ProcessOptions.tool_delay", self.tool_delay)

    def for_child(self) -> ProcessOptions:
        """Return the options of a process inside that has none of its own. The budget around it holds for both."""
        return ProcessOptions(
            budget=Budget(),
            max_parallel=self.max_parallel,
            retry=self.retry,
            delay=self.delay,
            planning=self.planning,
            objective=self.objective,
            explore=self.explore,
        )


def _need(name: str, value: object, kind: type | UnionType, example: str) -> None:
    if not isinstance(value, kind):
        raise ConfigurationError(f"ProcessOptions.{name} is {value!r}; write {name}={example}")


def _need_rules(rules: object) -> None:
    if rules == ():
        return
    from tactician.planning.rules import Rule

    if not (isinstance(rules, tuple) and all(isinstance(rule, Rule) for rule in rules)):
        raise ConfigurationError(f"ProcessOptions.rules is {rules!r}; write rules=(rules.before('a', 'b'),)")


def _need_objective(objective: object) -> None:
    if objective is None:
        return
    from tactician.planning import Objective

    if not isinstance(objective, Objective):
        raise ConfigurationError(f"ProcessOptions.objective is {objective!r}; write objective=Objective.DOLLARS")


def _need_name(name: str, value: object) -> None:
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise ConfigurationError(f"ProcessOptions.{name} is {value!r}; it must be a name, or None")


def _need_function(name: str, value: object, example: str) -> None:
    if value is not None and not callable(value):
        raise ConfigurationError(f"ProcessOptions.{name} is {value!r}; write a function, as in {name}={example}")


DEFAULT_OPTIONS: Final = ProcessOptions()


def need_options(options: ProcessOptions | None) -> ProcessOptions:
    """Return the options, or the default ones for `None`.

    Raises:
        ConfigurationError: when `options` is not a `ProcessOptions`.
    """
    if not isinstance(options, ProcessOptions | None):
        raise ConfigurationError(f"The options are {options!r}; write options=ProcessOptions(...)")
    return options or DEFAULT_OPTIONS


def create_blackboard(options: ProcessOptions | None) -> Blackboard:
    """Create the blackboard of a process, with the objects in its options.

    Raises:
        ConfigurationError: when `options` is not a `ProcessOptions`.
    """
    board = need_options(options).blackboard
    entries = () if board is None else (replace(entry, saved=None) for entry in board.entries)  # another agent's form
    return Blackboard.of(entries, {} if board is None else board.conditions)
