"""Commands that a directive gives to nodes in place of guidance, such as `directives.SetTier("fallback")`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated, Final, TypeAlias

import pydantic
from pydantic import Field

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.mesh.messages.directives import CommandData
from tactician.suggestions import did_you_mean

_Name = Annotated[str, Field(min_length=1, max_length=200)]


@frozen
class SetTier:
    """Command to use the models of a tier, which a node names in `Node(tiers=...)`.

    Attributes:
        tier: name of the tier; `None` for the models that the work itself names.
        running: true to change the next model call of runs that have begun, which else keep their models.
    """

    tier: _Name | None
    running: bool = False


@frozen
class Pause:
    """Command to begin no work, and to continue none that was suspended, until `Continue`. Requests are accepted."""


@frozen
class Continue:
    """Command to work again after `Pause`."""


@frozen
class SetWeight:
    """Command to bring requests forward, or to put them back.

    Attributes:
        minutes: minutes of waiting that a request counts more; below 0, fewer.
    """

    minutes: Annotated[int, Field(ge=-100_000, le=100_000)]


@frozen
class Enable:
    """Command to take requests for a capability again.

    Attributes:
        capability: its name.
    """

    capability: _Name


@frozen
class Disable:
    """Command to refuse new requests for a capability, with the reason `disabled`.

    Attributes:
        capability: its name.
    """

    capability: _Name


@frozen
class SetQueueLimit:
    """Command to let so many requests wait.

    Attributes:
        requests: number of requests.
    """

    requests: Annotated[int, Field(ge=0, le=10_000_000)]


@frozen
class SetConcurrency:
    """Command to work on so many requests at once, in each instance.

    Attributes:
        requests: number of requests.
    """

    requests: Annotated[int, Field(ge=1, le=100_000)]


@frozen
class Drain:
    """Command to stop: instances that run now finish their work and end."""


Command: TypeAlias = SetTier | Pause | Continue | SetWeight | Enable | Disable | SetQueueLimit | SetConcurrency | Drain
COMMANDS: Final[dict[str, type[Command]]] = {
    kind.__name__: kind
    for kind in (SetTier, Pause, Continue, SetWeight, Enable, Disable, SetQueueLimit, SetConcurrency, Drain)
}
"""All commands, by their names."""
_OF_NODES: Final = (SetQueueLimit, SetConcurrency, Drain)
"""Commands for a node as a whole."""


_ADAPTERS: Final[dict[str, pydantic.TypeAdapter[Command]]] = {}


def _adapt(kind: type[Command]) -> pydantic.TypeAdapter[Command]:
    return _ADAPTERS.setdefault(kind.__name__, pydantic.TypeAdapter(kind))


def write_command(command: Command) -> CommandData:
    """Return a command as a message has it.

    Raises:
        ConfigurationError: when a value of the command is not valid.
    """
    fields = asdict(command)
    try:
        _adapt(type(command)).validate_python(fields)
    except pydantic.ValidationError as error:
        raise ConfigurationError(f"{command!r}: {_describe(error)}") from error
    return CommandData(action=type(command).__name__, value=fields)


def read_command(data: CommandData) -> Command:
    """Return the command of a message.

    Raises:
        ConfigurationError: when no such command is known, or a value is not valid.
    """
    if (kind := COMMANDS.get(data.action)) is None:
        hint = did_you_mean(data.action, COMMANDS)
        raise ConfigurationError(f"{data.action!r} is no command of a mesh.{hint} Commands: {', '.join(COMMANDS)}.")
    try:
        return _adapt(kind).validate_python(data.value or {})
    except pydantic.ValidationError as error:
        raise ConfigurationError(f"{data.action}: {_describe(error)}") from error


def check_command(
    command: Command, target: str, tiers: Collection[str] | None, capabilities: Collection[str] | None
) -> None:
    """Check that a command makes sense for nodes.

    Args:
        command: the command.
        target: what it is for, as `Mesh.direct` has it.
        tiers: names of the tiers of the nodes; `None` when no node is there.
        capabilities: names of their capabilities; `None` when no node is there.

    Raises:
        ConfigurationError: when it does not.
    """
    if isinstance(command, _OF_NODES) and target.startswith(("capability:", "tag:")):
        raise ConfigurationError(
            f"{type(command).__name__} is for a whole node: write its name or 'realm:x' in place of {target!r}."
        )
    match command:
        case SetTier(str() as tier) if tiers is not None and tier not in tiers:
            raise ConfigurationError(f"No tier {tier!r}.{did_you_mean(tier, tiers)} {_list('tiers', tiers)}")
        case Enable(capability=name) | Disable(capability=name) if (
            capabilities is not None and name not in capabilities
        ):
            hint = did_you_mean(name, capabilities)
            raise ConfigurationError(f"No capability {name!r}.{hint} {_list('capabilities', capabilities)}")


def _list(what: str, names: Collection[str]) -> str:
    return f"The {what}: {', '.join(sorted(names)) or 'none'}."


def _describe(error: pydantic.ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'its value'}: {problem['msg']}"
