"""The options of a process as JSON, and back. Functions among them have no such form."""

from __future__ import annotations

from dataclasses import fields
from typing import NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from tactician.errors import ConfigurationError, StoredStateError
from tactician.process.names import error_named, is_found_elsewhere, type_name
from tactician.process.options import ProcessOptions, Verbosity
from tactician.process.retrying import DEFAULT_RETRIES, ActionRetryPolicy
from tactician.runs import Budget


class SavedRetries(TypedDict):
    """How often an action is tried; `on` are the names of kinds of errors."""

    attempts: int
    delay: float
    factor: float
    max_delay: float
    on: list[str]


class SavedOptions(TypedDict):
    """How a process is run, as far as that has a JSON form. What may be missing is as it was before there was such."""

    limits: dict[str, float | None]
    memory_id: str | None
    max_parallel: int
    delay: float
    tool_delay: NotRequired[float]
    retry: NotRequired[SavedRetries]
    verbosity: NotRequired[Verbosity | None]


def saved_options(options: ProcessOptions) -> SavedOptions:
    """The options as JSON: all but the functions, and the blackboard, which is saved by itself."""
    return SavedOptions(
        limits={limit.name: getattr(options.budget, limit.name) for limit in fields(Budget)},
        memory_id=options.memory_id,
        max_parallel=options.max_parallel,
        delay=options.delay,
        tool_delay=options.tool_delay,
        retry=_saved_retries(options.retry),
        verbosity=options.verbosity,
    )


def restored_options(saved: SavedOptions) -> ProcessOptions:
    """The options that were saved.

    Raises:
        StoredStateError: when they are not valid, or name a kind of error that is not known here.
    """
    retry = saved.get("retry")
    try:
        return ProcessOptions(
            budget=_restored_budget(saved["limits"]),
            memory_id=saved["memory_id"],
            max_parallel=saved["max_parallel"],
            delay=saved["delay"],
            tool_delay=saved.get("tool_delay", 0.0),
            retry=DEFAULT_RETRIES if retry is None else _restored_retries(retry),
            verbosity=saved.get("verbosity"),
        )
    except ConfigurationError as error:
        raise StoredStateError(f"The snapshot holds options that are not valid: {error}") from error


def _restored_budget(limits: dict[str, float | None]) -> Budget:
    try:
        return TypeAdapter(Budget).validate_python(limits)
    except (ValidationError, ConfigurationError) as error:
        raise StoredStateError(f"The snapshot holds a budget that is not valid: {error}") from error


def check_can_be_kept(options: ProcessOptions) -> None:
    """Nothing, for options with which a process goes on elsewhere as it began.

    Raises:
        ConfigurationError: when one of them changes what the process does, and would be lost.
    """
    if options.terminate_when is not None:
        raise ConfigurationError(
            "terminate_when is a function, which no store keeps: the process would go on without it elsewhere. "
            "Limit it by its budget, or start it on a platform without a store."
        )
    for kind in options.retry.on:
        if not is_found_elsewhere(kind):
            raise ConfigurationError(
                f"retry.on has {kind.__qualname__}, which is defined inside a function: a process that is kept in a "
                "store would not find it elsewhere. Define it at the level of its module."
            )


def _saved_retries(policy: ActionRetryPolicy) -> SavedRetries:
    return SavedRetries(
        attempts=policy.attempts,
        delay=policy.delay,
        factor=policy.factor,
        max_delay=policy.max_delay,
        on=[type_name(kind) for kind in policy.on],
    )


def _restored_retries(saved: SavedRetries) -> ActionRetryPolicy:
    return ActionRetryPolicy(
        attempts=saved["attempts"],
        delay=saved["delay"],
        factor=saved["factor"],
        max_delay=saved["max_delay"],
        on=tuple(_known_error(name) for name in saved["on"]),
    )


def _known_error(name: str) -> type[Exception]:
    if (found := error_named(name)) is None:
        raise StoredStateError(
            f"The snapshot says to try again after a {name}, which this program has not loaded: import its module."
        )
    return found
