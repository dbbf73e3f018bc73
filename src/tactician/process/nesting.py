"""Another agent that an action runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar, cast

from tactician.errors import ConfigurationError
from tactician.loop import InvalidOutput, output_type
from tactician.process.inputs import Bound
from tactician.runs import OutputError, RunContext, Runnable, RunResult, RunStatus
from tactician.tools import as_text

T = TypeVar("T")
TOWARDS: Final = "__towards__"
"""The name of a method that gives the same agent with only those goals that give an object of a type."""


async def output_of(agent: object, wanted: type[T], inputs: Sequence[object], context: RunContext) -> T:
    """What an agent gives, as an object of a type.

    Raises:
        ConfigurationError: when it is no Runnable, has no goal that gives the type, or has to wait outside of actions.
        RunError: when it fails, is stuck, or gives something else.
    """
    runnable = _aimed(agent, wanted)
    if not hasattr(agent, TOWARDS) and any(isinstance(one, Bound) for one in inputs):
        raise ConfigurationError(f"{runnable.name} is no planned agent: only such begin with named objects.")
    result = await runnable.run(inputs[0] if len(inputs) == 1 else tuple(inputs), context=context)
    if result.status is RunStatus.WAITING:  # inside an action, it would have been on its way out
        raise ConfigurationError(
            f"{runnable.name} waits for somebody, which can be waited for in an action of a process only: not in a "
            "condition, a cost or a test."
        )
    try:
        return output_type(wanted).accept(result.output)
    except InvalidOutput as error:
        failed = RunResult(None, RunStatus.FAILED, tally=result.tally, run_id=result.run_id)
        message = f"{runnable.name}: its answer is not a valid {_name_of(wanted)}: {error}"
        raise OutputError(message, failed, as_text(result.output)) from error


def _name_of(wanted: object) -> object:
    return getattr(wanted, "__name__", wanted)


def _aimed(agent: object, wanted: object) -> Runnable:
    towards = cast("Callable[[type], object] | None", getattr(agent, TOWARDS, None))
    aimed = agent if towards is None else towards(wanted) if isinstance(wanted, type) else None
    if aimed is None:
        raise ConfigurationError(f"{getattr(agent, 'name', agent)!r} has no goal that gives a {_name_of(wanted)}.")
    if not isinstance(aimed, Runnable):
        raise ConfigurationError(
            f"{type(agent).__name__} is no agent: pass a Runnable, or an instance of a @planned_agent class."
        )
    return aimed
