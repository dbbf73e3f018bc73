"""Options of a process as JSON, and back."""

from __future__ import annotations

from functools import cache

import pydantic

from tactician.data_fields import list_data_fields
from tactician.errors import ConfigurationError, StoredStateError
from tactician.process.state.options import ProcessOptions, need_options
from tactician.process.stored_types import is_importable


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
