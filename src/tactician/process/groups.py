"""What errors mean that come as a group, as from an `asyncio.TaskGroup`, or out of a process inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tactician.errors import Rejected, Replan
from tactician.process.errors import ProcessStuckError
from tactician.runs import BudgetError, OutputError, Paused

_OF_ONE_MEANING: Final = (Replan, Rejected, OutputError, BudgetError)


def plain(error: BaseException) -> BaseException:
    """The one error that a group comes to: the only one in it, or the first where all say the same; else the group.

    Where something failed, what else had to wait does not count. A rejection because of which a process inside is stuck
    is one of the action around it.
    """
    failed = error.split(Paused)[1] or error if isinstance(error, BaseExceptionGroup) else error
    first, *others = map(_meant, errors_in(failed))
    is_one = any(all(isinstance(one, kind) for one in (first, *others)) for kind in _OF_ONE_MEANING)
    return first if is_one or not others else failed


def _meant(error: BaseException) -> BaseException:
    cause = error.__cause__
    return cause if isinstance(error, ProcessStuckError) and isinstance(cause, Rejected) else error


def errors_in(error: BaseException) -> Iterator[BaseException]:
    """The errors of a group, and of the groups in it; or the error itself, when it is no group."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    for one in error.exceptions:
        yield from errors_in(one)
