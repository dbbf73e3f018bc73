"""Options of calls over a mesh."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final, Literal, get_args

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.mesh.calls.requester import ACCEPT_WITHIN
from tactician.mesh.messages.message import Priority
from tactician.suggestions import did_you_mean

PATIENCE: Final = 1.0
"""Seconds for which a run that can be suspended waits in memory."""
Late = Literal["error", "partial", "background"]


@frozen(kw_only=True)
class MeshCallOptions:
    """Options of a remote task.

    Attributes:
        on: name of the node; the soonest that offers the capability, when `None`.
        priority: rank among the requests that wait.
        deadline: time from the request on by which the reply is needed.
        must_meet_deadline: true to be refused at once when the node does not expect to meet the deadline.
        wait: how long the caller waits; as long as it takes, when `None`.
        late: what happens then: an error, the progress so far as the result, or an error while the work goes on.
        version: version of the capability that is needed.
        accept_within: seconds for which the caller waits for the acceptance.
        patience: seconds for which a run waits in memory before it is suspended.

    Raises:
        ConfigurationError: when a time is no `timedelta`, or there is no such priority.
    """

    on: str | None = None
    priority: Priority = Priority.NORMAL
    deadline: timedelta | None = None
    must_meet_deadline: bool = False
    wait: timedelta | None = None
    late: Late = "error"
    version: str | None = None
    accept_within: float = ACCEPT_WITHIN
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        """Refuse times and priorities of another kind, before a node is asked."""
        for name, time in (("deadline", self.deadline), ("wait", self.wait)):
            check_time(name, time)
        if self.priority not in tuple(Priority):
            raise ConfigurationError(f"priority is {self.priority!r}; write priority=Priority.HIGH")

    @classmethod
    def create(cls, **options: object) -> MeshCallOptions:
        """Return the options.

        Raises:
            ConfigurationError: when a name or a value is not valid.
        """
        if unknown := [name for name in options if name not in cls.__annotations__]:
            hint = did_you_mean(unknown[0], cls.__annotations__)
            raise ConfigurationError(f"A call of the mesh has no option {unknown[0]!r}.{hint}")
        if (late := options.get("late", "error")) not in get_args(Late):
            raise ConfigurationError(f"late is {late!r}; write 'error', 'partial' or 'background'")
        build: Callable[..., MeshCallOptions] = cls
        return build(**options)


def check_time(name: str, time: object) -> None:
    """Check a time that may be None.

    Raises:
        ConfigurationError: when it is something else than a `timedelta`, such as a number of seconds.
    """
    if time is not None and not isinstance(time, timedelta):
        raise ConfigurationError(f"{name} is {time!r}; write {name}=timedelta(minutes=30)")
