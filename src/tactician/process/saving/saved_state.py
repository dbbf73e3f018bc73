"""The state and the options of a process as JSON: for its checkpoint, and for a fork's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Final, NotRequired, TypeVar, cast

import pydantic
from pydantic_core import InitErrorDetails, PydanticCustomError
from typing_extensions import TypedDict

from tactician.data_fields import find_missing, list_data_fields
from tactician.errors import ConfigurationError, StoredStateError
from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.process.board.board_changes import BoardChange
from tactician.process.board.order import Order
from tactician.process.state.options import ProcessOptions, need_options
from tactician.process.state.state import ActionRun, PlanReviewState, ProcessStatus
from tactician.process.stored_types import is_importable
from tactician.runs import PendingRequest
from tactician.runs.progress.checkpoint import Checkpoint, Live, revive

T = TypeVar("T")
_FAILURES: Final = frozenset({ProcessStatus.FAILED, ProcessStatus.TERMINATED, ProcessStatus.KILLED})


def save_options(options: ProcessOptions) -> object:
    """Return the options as JSON: all but the functions, and the blackboard, which is saved by itself."""
    code_only = {field.name for field in list_data_fields(ProcessOptions) if field.is_code_only}
    saved: object = _adapter().dump_python(options, by_alias=True, exclude=code_only)
    return saved


def restore_options(saved: object) -> ProcessOptions:
    """Restore options that were saved.

    Raises:
        StoredStateError: when they are not valid, or name a type of error that this program has not loaded.
    """
    try:
        return _adapter().validate_python(saved)
    except (pydantic.ValidationError, ConfigurationError) as error:
        raise StoredStateError(f"The snapshot holds options that are not valid: {error}") from error


def check_options(options: ProcessOptions | None) -> None:
    """Check that a process with these options continues elsewhere as it began.

    Raises:
        ConfigurationError: when `options` is not a `ProcessOptions`, or an option changes what the process does, and
            would be lost.
    """
    options = need_options(options)
    if options.terminate_when is not None:
        raise ConfigurationError(
            "terminate_when is a function, which a store cannot save: another worker would continue the process "
            "without it. Limit the process by its budget, or start it on a platform without a store."
        )
    for kind in options.retry.on:
        if not is_importable(kind):
            raise ConfigurationError(
                f"retry.on has {kind.__qualname__}, which is defined inside a function: another worker that "
                "continues the process could not import it. Define it at the top level of its module."
            )


@cache
def _adapter() -> pydantic.TypeAdapter[ProcessOptions]:
    return pydantic.TypeAdapter(ProcessOptions)


class SavedState(TypedDict):
    """Everything of a process that is small enough to be saved with each step."""

    status: ProcessStatus
    goal: str | None
    failure: str | None
    declined: str | None
    waiting: dict[str, tuple[PendingRequest, ...]]
    responses: dict[str, object]
    unstickings: int
    replans: int
    order: Order
    rules: NotRequired[SavedRules]
    review: NotRequired[PlanReviewState]


class SavedRules(TypedDict):
    """Progress of a process with its rules."""

    states: dict[str, int]
    timers: dict[str, float]
    read: int


def _keep_saved(value: object) -> dict[str, object]:
    """Return options as they are stored: they are read when they are needed, for which errors have to be loaded."""
    if not isinstance(value, dict):
        raise PydanticCustomError("options", "the options are not an object")
    if missing := find_missing(ProcessOptions, value):
        mistakes = [InitErrorDetails(type="missing", loc=(name,), input=value) for name in missing]
        raise pydantic.ValidationError.from_exception_data("ProcessOptions", mistakes)
    return value


def _write_options(options: ProcessOptions | dict[str, object]) -> object:
    return save_options(options) if isinstance(options, ProcessOptions) else options


@frozen
class ProcessOrigin:
    """Beginning of a process, as it is stored: what never changes."""

    id: str
    agent: str
    began_at: float
    recipe: Mapping[str, pydantic.JsonValue] | None
    _options: Annotated[
        ProcessOptions | dict[str, object],
        pydantic.PlainValidator(_keep_saved),
        pydantic.PlainSerializer(_write_options),
        pydantic.Field(alias="options"),
    ]

    @property
    def options(self) -> ProcessOptions:
        """The settings of the process.

        Raises:
            StoredStateError: when they are not valid.
        """
        return self._options if isinstance(self._options, ProcessOptions) else restore_options(self._options)


def is_process(data: Mapping[str, object]) -> bool:
    """Return whether a process wrote the data of a checkpoint."""
    return "origin" in data


def read_state(data: Mapping[str, object]) -> SavedState:
    """Return the small part of the state of a process.

    Raises:
        StoredStateError: when it cannot be read.
    """
    return revive(data.get("state"), _state_adapter().validate_python)


def read_history(data: Mapping[str, object]) -> list[ActionRun]:
    """Return the history of a process.

    Raises:
        StoredStateError: when it cannot be read.
    """
    items = _items(data.get("history"))
    saved = iter(revive_all(items, history_adapter()))
    return [cast("ActionRun", item.value) if isinstance(item, Live) else next(saved) for item in items]


def read_origin(data: Mapping[str, object]) -> ProcessOrigin:
    """Return the beginning of a process.

    Raises:
        StoredStateError: when it cannot be read.
    """
    return revive(data.get("origin"), _origin_adapter().validate_python)


def save_origin(origin: ProcessOrigin) -> Live[ProcessOrigin]:
    """Return the beginning of a process as a value of its checkpoint."""
    return Live(origin, _write_origin)


def read_board(data: Mapping[str, object]) -> list[BoardChange]:
    """Return the changes of the blackboard of a process; objects are as they are stored.

    Raises:
        StoredStateError: when they cannot be read.
    """
    return revive_all(_items(data.get("board")), _changes_adapter())


def revive_all(items: Iterable[object], adapter: pydantic.TypeAdapter[list[T]]) -> list[T]:
    """Return the objects of the items that are JSON, read all at once.

    Raises:
        StoredStateError: when an object is not valid.
    """
    return revive([item for item in items if not isinstance(item, Live)], adapter.validate_python)


def _items(value: object) -> list[object]:
    """Return the items of a list of the data, which is missing while nothing was added to it."""
    if value is None or isinstance(value, list):
        return value or []
    raise StoredStateError(f"The saved state of the process cannot be read: {type(value).__name__} instead of a list.")


def _write_origin(origin: ProcessOrigin) -> object:
    return _origin_adapter().dump_python(origin, by_alias=True)


@cache
def _origin_adapter() -> pydantic.TypeAdapter[ProcessOrigin]:
    return pydantic.TypeAdapter(ProcessOrigin)


@cache
def _state_adapter() -> pydantic.TypeAdapter[SavedState]:
    return pydantic.TypeAdapter(SavedState)


@cache
def _changes_adapter() -> pydantic.TypeAdapter[list[BoardChange]]:
    return pydantic.TypeAdapter(list[BoardChange])


@cache
def history_adapter() -> pydantic.TypeAdapter[list[ActionRun]]:
    """Return the adapter of histories to their stored form."""
    return pydantic.TypeAdapter(list[ActionRun])


def renew_processes(tree: Checkpoint, run_id: str) -> None:
    """Give the processes in the checkpoints of a fork ids of their own, and let those continue that had ended.

    A process inside another run that reached its goal stays as it is: the run around it has its result.

    Args:
        tree: the checkpoints.
        run_id: id of the fork.

    Raises:
        StoredStateError: when a process cannot be read.
    """
    for checkpoint in tree.walk():
        if is_process(checkpoint.data):
            is_outermost = checkpoint is tree
            origin = replace(read_origin(checkpoint.data), id=run_id if is_outermost else new_id())
            checkpoint.set(origin=save_origin(origin))
            _reopen(checkpoint, is_outermost=is_outermost)


def _reopen(checkpoint: Checkpoint, *, is_outermost: bool) -> None:
    state = read_state(checkpoint.data)
    if state["status"] in _FAILURES or (is_outermost and state["status"].is_terminal):
        checkpoint.set(state={**state, "status": ProcessStatus.RUNNING, "failure": None, "goal": None})
