"""Servers that publish the agents, goals and tools of a platform to other programs.

The names are loaded when they are first used, as each of them needs an extra.
"""

from typing import TYPE_CHECKING

from tactician.errors import MissingExtraError

if TYPE_CHECKING:
    from tactician.serve.a2a import A2aSettings, a2a_app

_EXTRAS: dict[str, str] = {"a2a_app": "a2a", "A2aSettings": "a2a"}
"""The extra that each name needs."""

__all__ = ["a2a_app", "A2aSettings"]


def __getattr__(name: str) -> object:
    if (extra := _EXTRAS.get(name)) is None:
        raise AttributeError(f"module 'tactician.serve' has no attribute {name!r}")
    try:
        value = _load(name)
    except ImportError as error:
        raise MissingExtraError(
            f'tactician.serve.{name} needs {error.name}, which is not installed. Run: pip install "tactician[{extra}]"'
        ) from error
    globals()[name] = value
    return value


def _load(name: str) -> object:
    from tactician.serve import a2a

    return getattr(a2a, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXTRAS})
