"""Options of runs that are enqueued, and their checks: a wrong option is refused before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import UnionType
from typing import Final

from typing_extensions import TypedDict

from tactician.amounts import need_amount
from tactician.clock import LONGEST_WAIT, Clock
from tactician.errors import ConfigurationError
from tactician.process import ProcessOptions
from tactician.process.objects import Named
from tactician.runs import Budget, ChatUser
from tactician.suggestions import did_you_mean

MOST_URGENT: Final = 100_000
"""Largest priority; its negative is the smallest."""


class EnqueueOptions(TypedDict, total=False):
    """Options of a run that is enqueued for workers.

    Attributes:
        named: further objects for a planned agent, by their names.
        options: settings of a process.
        budget: the budget of the run and of all nested runs; the budget of the Runnable by default.
        user: the user that the run works for, whom code inside it finds by `context.find(ChatUser)`.
        priority: rank among the runs that wait for a worker, from -100,000 to 100,000; the highest comes first. A
            point weighs as much as a minute of waiting, so that no run waits for ever.
        deadline: time by which the run has to end: a datetime with a time zone, or a timedelta from now.
        idempotency_key: key of the run. Enqueued again with the same key, nothing is started, and the id of the first
            run is returned.
        trace_parent: W3C trace context of the program that asks for the run.
    """

    named: Named | None
    options: ProcessOptions | None
    budget: Budget | None
    user: ChatUser | None
    priority: int
    deadline: datetime | timedelta | None
    idempotency_key: str | None
    trace_parent: str | None


_KINDS: Final[Mapping[str, tuple[type | UnionType, str]]] = {
    "named": (Mapping, "named={'name': value}"),
    "options": (ProcessOptions, "options=ProcessOptions(...)"),
    "budget": (Budget, "budget=Budget(...)"),
    "user": (ChatUser, "user=ChatUser(...)"),
    "deadline": (datetime | timedelta, "deadline=timedelta(hours=2)"),
    "idempotency_key": (str, "idempotency_key='order-17'"),
    "trace_parent": (str, "trace_parent='00-<trace>-<span>-01'"),
}
_FOR_PROCESSES: Final = ("named", "options")


def check_enqueue_options(settings: EnqueueOptions) -> None:
    """Check the names and the types of options.

    Raises:
        ConfigurationError: when an option is unknown, of the wrong type or out of range.
    """
    names = EnqueueOptions.__annotations__
    for name, value in settings.items():
        if name not in names:
            hint = did_you_mean(name, names) or f" Its options are {', '.join(names)}."
            raise ConfigurationError(f"enqueue has no option {name!r}.{hint}")
        if name == "priority":
            need_amount("priority", value, least=-MOST_URGENT, most=MOST_URGENT, whole=True)
        elif value is not None and not isinstance(value, _KINDS[name][0]):
            raise ConfigurationError(f"{name} is {value!r}; write {_KINDS[name][1]}")
    if settings.get("idempotency_key") == "":
        raise ConfigurationError("idempotency_key is empty; leave it out, or write a key that names the run")


def check_process_options(settings: EnqueueOptions, name: str) -> None:
    """Check the options of a run that is no process.

    Raises:
        ConfigurationError: when an option is for processes only.
    """
    for option in _FOR_PROCESSES:
        if settings.get(option) is not None:
            raise ConfigurationError(f"{option} is for planned agents, and {name!r} is none: leave {option}= out")


def find_deadline(settings: EnqueueOptions, clock: Clock) -> float | None:
    """Return the deadline in seconds since the epoch, if any.

    Raises:
        ConfigurationError: when it has no time zone, or is no time to wait.
    """
    deadline = settings.get("deadline")
    if deadline is None:
        return None
    if isinstance(deadline, datetime):
        if deadline.utcoffset() is None:
            raise ConfigurationError(
                f"deadline is {deadline!r}, which has no time zone; write {deadline.replace(tzinfo=UTC)!r}, or how "
                "long to wait, as in timedelta(hours=2)"
            )
        return deadline.timestamp()
    if not 0 <= deadline.total_seconds() <= LONGEST_WAIT:
        raise ConfigurationError(f"deadline is {deadline!r}; write how long to wait, as in timedelta(hours=2)")
    return clock.time() + deadline.total_seconds()
