"""Options of a process as JSON, and back."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from tactician.conversation import ChatUser
from tactician.errors import ConfigurationError, StoredStateError
from tactician.grammar import add_article
from tactician.planning import PlanningBudget
from tactician.process.options import ActionRetryPolicy, ProcessOptions, Verbosity, need_options
from tactician.process.stored_types import find_error, is_importable, type_name
from tactician.runs import restore_budget, save_budget


class SavedRetries(TypedDict):
    """Retry policy of actions; `on` are the names of types of errors."""

    attempts: int
    delay: float
    factor: float
    max_delay: float
    on: list[str]


class SavedOptions(TypedDict):
    """Settings of a process that have a JSON form."""

    limits: dict[str, float | None]
    memory_id: str | None
    conversation_id: NotRequired[str | None]
    user: NotRequired[ChatUser | None]
    max_parallel: int
    delay: float
    tool_delay: float
    retry: SavedRetries
    verbosity: Verbosity | None
    planning: NotRequired[PlanningBudget | None]


def save_options(options: ProcessOptions) -> SavedOptions:
    """Return the options as JSON: all but the functions, and the blackboard, which is saved by itself."""
    return SavedOptions(
        limits=save_budget(options.budget),
        memory_id=options.memory_id,
        conversation_id=options.conversation_id,
        user=options.user,
        max_parallel=options.max_parallel,
        delay=options.delay,
        tool_delay=options.tool_delay,
        retry=_save_retries(options.retry),
        verbosity=options.verbosity,
        planning=options.planning,
    )


def restore_options(saved: SavedOptions) -> ProcessOptions:
    """Restore options that were saved.

    Raises:
        StoredStateError: when they are not valid, or name a type of error that this program has not loaded.
    """
    try:
        return ProcessOptions(
            budget=restore_budget(saved["limits"]),
            memory_id=saved["memory_id"],
            conversation_id=saved.get("conversation_id"),
            user=saved.get("user"),
            max_parallel=saved["max_parallel"],
            delay=saved["delay"],
            tool_delay=saved["tool_delay"],
            retry=_restore_retries(saved["retry"]),
            verbosity=saved["verbosity"],
            planning=saved.get("planning"),
        )
    except ConfigurationError as error:
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


def _save_retries(policy: ActionRetryPolicy) -> SavedRetries:
    return SavedRetries(
        attempts=policy.attempts,
        delay=policy.delay,
        factor=policy.factor,
        max_delay=policy.max_delay,
        on=[type_name(kind) for kind in policy.on],
    )


def _restore_retries(saved: SavedRetries) -> ActionRetryPolicy:
    return ActionRetryPolicy(
        attempts=saved["attempts"],
        delay=saved["delay"],
        factor=saved["factor"],
        max_delay=saved["max_delay"],
        on=tuple(_find_known_error(name) for name in saved["on"]),
    )


def _find_known_error(name: str) -> type[Exception]:
    if (kind := find_error(name)) is None:
        raise StoredStateError(
            f"The snapshot says to try again after {add_article(name)}, which this "
            "program has not loaded: import its module."
        )
    return kind
