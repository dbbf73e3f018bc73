"""Stored types: the names of types in a store, and upgrades of objects that older versions of a type have saved."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from pathlib import Path
from typing import Any, Final, NotRequired, TypeAlias, TypeVar, cast

import pydantic
from typing_extensions import TypedDict

from tactician.errors import DeclarationError, StoredStateError
from tactician.grammar import add_article
from tactician.text import describe_error


def type_name(kind: type) -> str:
    """Return the name under which objects of a type are stored.

    A type of the program that runs, `__main__`, has the name that it would have in another program that imports it.
    """
    module = kind.__module__
    return f"{_main_module() if module == '__main__' else module}.{kind.__qualname__}"


def find_error(name: str) -> type[Exception] | None:
    """Return the type of error of that name, if the program has loaded it; nothing is imported."""
    return next((kind for kind in _iterate_subtypes(Exception) if name in list_stored_names(kind)), None)


def find_loaded_error(name: object) -> type[Exception]:
    """Return the type of error that has been stored by its name.

    Raises:
        StoredStateError: when the program has not loaded it.
    """
    if (kind := find_error(str(name))) is None:
        raise StoredStateError(
            f"The snapshot says to try again after {add_article(str(name))}, which this "
            "program has not loaded: import its module."
        )
    return kind


def is_loaded_name(name: str) -> bool:
    """Return whether a class has the name, in a module that the program has loaded; nothing is imported.

    Not so for `__main__`, where a class that was renamed by hand, as in a notebook, is still there.
    """
    parts = name.split(".")
    loaded = (place for place in range(len(parts) - 1, 0, -1) if ".".join(parts[:place]) in sys.modules)
    place = next(loaded, None)
    if place is None or (module := ".".join(parts[:place])) == "__main__":
        return False
    value = reduce(lambda owner, part: getattr(owner, part, None), parts[place:], cast("object", sys.modules[module]))
    return isinstance(value, type) and type_name(value) == name


def is_importable(kind: type) -> bool:
    """Return whether another program that imports the same modules finds the type by its name."""
    return "<locals>" not in kind.__qualname__


def _iterate_subtypes(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _iterate_subtypes(narrower)


@cache
def _main_module() -> str:
    main = sys.modules["__main__"]
    if (spec := getattr(main, "__spec__", None)) is not None:
        return str(spec.name).removesuffix(".__main__")
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else "__main__"


class SavedObject(TypedDict):
    """Object as JSON, with the name and the version of its type. Version 1 may be missing."""

    type: str
    version: NotRequired[int]
    value: pydantic.JsonValue


Saved: TypeAlias = "dict[str, pydantic.JsonValue]"
Upgrade: TypeAlias = Callable[[Saved], Saved]
"""Turns what a version has saved into what the next version would have saved."""
F = TypeVar("F", bound=Callable[[dict[str, Any]], dict[str, Any]])  # any values: users read the fields they know of
C = TypeVar("C", bound=type)

_LIBRARY, _DEPTH = "tactician", 3
_EARLIER_HOMES: Final = {
    "tactician.blueprint.defaults.FunctionBlueprint": "tactician.blueprint.named",
    "tactician.blueprint.defaults.PlannedBlueprint": "tactician.blueprint.named",
    "tactician.platform.conversations.request.Request": "tactician.platform.requests.request",
    "tactician.resilience.backoff.RetryRule": "tactician.llm.routing.retries",
    "tactician.tools.tool.ToolOutput": "tactician.tools.output",
}
"""Modules of classes of Tactician, which classes below this package cannot say with `formerly`."""
_UPGRADES: Final = "__tactician_upgrades__"
_NAMES: Final = "__tactician_former_names__"
_NAME_IT: Final = "write the name that it had, with its module, as in @formerly('acme.sales.Purchase')"


def upgrades(kind: type, *, from_version: int) -> Callable[[F], F]:
    """Declare a function that turns what a version of a type has saved into what the next version saves.

    Without any, the version of a type is 1. Declare the first function when you change the type in a way that its
    defaults do not cover, the second with the second such change, and so on.

    Args:
        kind: the type as it is now.
        from_version: version of the JSON object of the fields that the function takes.

    Raises:
        DeclarationError: when there can be no such upgrade, or the function is not suitable.
    """
    if not isinstance(kind, type):
        raise DeclarationError(f"@upgrades({kind!r})", [f"{kind!r} is not a class; write the class itself"])

    def mark(function: F) -> F:
        upgrades_of_kind = _get_upgrades(kind)
        if problems := [*_check_number(from_version, upgrades_of_kind), *_check_upgrade(function)]:
            place = f"@upgrades(from_version={from_version!r})"
            raise DeclarationError(kind.__name__, [f"{place}: {problem}" for problem in problems])
        setattr(kind, _UPGRADES, {**upgrades_of_kind, from_version: function})
        return function

    return mark


def _check_number(version: object, upgrades_by_number: Mapping[int, Upgrade]) -> Iterator[str]:
    following = len(upgrades_by_number) + 1
    if type(version) is not int or version < 1:
        yield f"versions count from 1; write from_version={following}"
    elif version in upgrades_by_number:
        yield f"another function has this number; write from_version={following}"
    elif version > following:
        yield f"nothing upgrades version {following}; declare that upgrade above, or write from_version={following}"


def _check_upgrade(function: Callable[..., object]) -> Iterator[str]:
    if inspect.iscoroutinefunction(function):
        yield f"{function.__name__} is async, and nothing waits for it; write a plain function"
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        yield "the function has to take what was saved; write `def upgrade(saved: dict[str, Any]) -> dict[str, Any]`"


def formerly(*names: str) -> Callable[[C], C]:
    """Declare the names, `module.Class`, under which objects of a class were saved before it was renamed or moved.

    Raises:
        DeclarationError: when the name is missing, is not a valid name of a class, or belongs to another class now.
    """

    def mark(owner: C) -> C:
        problems = [problem for name in names for problem in _check_name(name, owner)]
        if problems or not names:
            raise DeclarationError(owner.__name__, problems or [f"@formerly(): {_NAME_IT}"])
        setattr(owner, _NAMES, names)
        return owner

    return mark


def _check_name(name: object, owner: type) -> Iterator[str]:
    if not isinstance(name, str) or not all(map(str.isidentifier, name.split("."))) or "." not in name:
        yield f"@formerly({name!r}): that is not the name of a class; {_NAME_IT}"
    elif name == type_name(owner):
        yield f"@formerly({name!r}): that is its name now; {_NAME_IT}"
    elif is_loaded_name(name):
        yield f"@formerly({name!r}): another class has this name now; {_NAME_IT}"


def list_stored_names(kind: type) -> tuple[str, ...]:
    """Return the names under which there may be objects of a type in a store; the last is the present name."""
    former: tuple[str, ...] = vars(kind).get(_NAMES, ())
    return (*former, *_list_earlier_names(kind), type_name(kind))


def _list_earlier_names(kind: type) -> Iterator[str]:
    """Yield the names of a class of Tactician from before its package had rooms, and its module others in it."""
    home = kind.__module__.split(".")
    if home[0] == _LIBRARY:
        if len(home) > _DEPTH:
            yield ".".join([*home[: _DEPTH - 1], home[-1], kind.__qualname__])
        if (earlier := _EARLIER_HOMES.get(type_name(kind))) is not None:
            yield f"{earlier}.{kind.__qualname__}"


def version_of(kind: type) -> int:
    """Return the version of a type, with which objects are saved now."""
    return 1 + max(_get_upgrades(kind), default=0)


def upgrade_object(kind: type, version: int, value: pydantic.JsonValue) -> pydantic.JsonValue:
    """Return what was saved of an object as the present version of its type saves it.

    Raises:
        StoredStateError: when there is no way from that version.
    """
    newest = version_of(kind)
    if version == newest:
        return value
    if not isinstance(value, dict):
        raise StoredStateError(f"{type_name(kind)} was saved as no JSON object, and cannot be upgraded")
    return apply_upgrades(value, version, newest, _get_upgrades(kind), type_name(kind))


def apply_upgrades(value: Saved, version: int, newest: int, steps: Mapping[int, Upgrade], what: str) -> Saved:
    """Apply all upgrades from a version to the newest.

    Raises:
        StoredStateError: when there is no way from that version.
    """
    if version > newest:
        raise StoredStateError(
            f"{what} has version {version}, and this program knows versions up to {newest}: a newer program has saved "
            "it. Continue it with that program, or update this program."
        )
    for number in range(version, newest):
        if (step := steps.get(number)) is None:
            raise StoredStateError(f"{what} has version {version}, and nothing upgrades version {number}")
        value = _apply_upgrade(step, value, number, what)
    return value


def _apply_upgrade(step: Upgrade, value: Saved, number: int, what: str) -> Saved:
    try:
        return step(value)
    except Exception as error:  # the code of users, and what they did not expect
        reason = describe_error(error)
        raise StoredStateError(f"{what} could not be upgraded from version {number}: {reason}") from error


def _get_upgrades(kind: type) -> Mapping[int, Upgrade]:
    upgrades: Mapping[int, Upgrade] = vars(kind).get(_UPGRADES, {})  # not a base class's
    return upgrades
