"""What older versions have saved, step by step made into what is read now: snapshots, and objects of users' types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeVar, cast

from pydantic import JsonValue

from tactician.errors import DeclarationError, StoredStateError
from tactician.process.names import is_taken, type_name

Saved: TypeAlias = dict[str, JsonValue]
Upgrade: TypeAlias = Callable[[Saved], Saved]
"""Makes of what a version has saved what the next one would have."""
F = TypeVar("F", bound=Callable[[dict[str, Any]], dict[str, Any]])  # any values: users read the fields they know of
C = TypeVar("C", bound=type)

_UPGRADES: Final = "__tactician_upgrades__"
_NAMES: Final = "__tactician_former_names__"
_NAME_IT: Final = "write the name that it had, with its module, as in @formerly('acme.sales.Purchase')"


def upgrades(kind: type, *, from_version: int) -> Callable[[F], F]:
    """Declares a function that makes what the next version of a type saves of what an older one has saved.

    Without any, the version of a type is 1. Declare the first function when you change the type in a way that its
    defaults do not cover, the second with the second such change, and so on.

    Args:
        kind: the type as it is now.
        from_version: of what the function is given: the JSON object of the fields.

    Raises:
        DeclarationError: when there can be no such upgrade, or the function is not fit for one.
    """
    if not isinstance(kind, type):
        raise DeclarationError(f"@upgrades({kind!r})", [f"{kind!r} is no class; write the class itself"])

    def mark(function: F) -> F:
        known = _upgrades_of(kind)
        if problems := [*_wrong_number(from_version, known), *_wrong_upgrade(function)]:
            place = f"@upgrades(from_version={from_version!r})"
            raise DeclarationError(kind.__name__, [f"{place}: {problem}" for problem in problems])
        setattr(kind, _UPGRADES, {**known, from_version: function})
        return function

    return mark


def _wrong_number(version: object, known: Mapping[int, Upgrade]) -> Iterator[str]:
    following = len(known) + 1
    if type(version) is not int or version < 1:
        yield f"versions count from 1; write from_version={following}"
    elif version in known:
        yield f"another function has this number; write from_version={following}"
    elif version > following:
        yield f"nothing upgrades version {following}; declare that one above, or write from_version={following}"


def _wrong_upgrade(function: Callable[..., object]) -> Iterator[str]:
    if inspect.iscoroutinefunction(function):
        yield f"{function.__name__} is async, and nothing waits for it; write a plain function"
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        yield "the function has to take what was saved; write `def upgrade(saved: dict[str, Any]) -> dict[str, Any]`"


def formerly(*names: str) -> Callable[[C], C]:
    """Declares under which names, `module.Class`, objects of a class were saved before it was renamed or moved.

    Raises:
        DeclarationError: when there is no name, or one that is none, or that another class has now.
    """

    def mark(owner: C) -> C:
        problems = [problem for name in names for problem in _wrong_name(name, owner)]
        if problems or not names:
            raise DeclarationError(owner.__name__, problems or [f"@formerly(): {_NAME_IT}"])
        setattr(owner, _NAMES, names)
        return owner

    return mark


def _wrong_name(name: object, owner: type) -> Iterator[str]:
    if not isinstance(name, str) or not all(map(str.isidentifier, name.split("."))) or "." not in name:
        yield f"@formerly({name!r}): that is no name of a class; {_NAME_IT}"
    elif name == type_name(owner):
        yield f"@formerly({name!r}): that is its name now; {_NAME_IT}"
    elif is_taken(name):
        yield f"@formerly({name!r}): another class has this name now; {_NAME_IT}"


def stored_names(kind: type) -> tuple[str, ...]:
    """The names under which there may be objects of a type in a store; the last one is that of now."""
    former: tuple[str, ...] = vars(kind).get(_NAMES, ())
    return (*former, type_name(kind))


def version_of(kind: type) -> int:
    """The version of a type: what is saved of it now."""
    return 1 + max(_upgrades_of(kind), default=0)


def upgraded_object(kind: type, version: int, value: JsonValue) -> JsonValue:
    """What was saved of an object, as the present version of its type saves it.

    Raises:
        StoredStateError: when there is no way from that version.
    """
    newest = version_of(kind)
    if version == newest:
        return value
    if not isinstance(value, dict):
        raise StoredStateError(f"{type_name(kind)} was saved as no JSON object, and cannot be upgraded")
    return _stepped(value, version, newest, _upgrades_of(kind), type_name(kind))


def upgraded_snapshot(snapshot: Saved, newest: int) -> Saved:
    """A snapshot of this or an older version, as this version writes it.

    Raises:
        StoredStateError: when it is of another one.
    """
    version = snapshot.get("version")
    if type(version) is not int or version < 1:
        raise StoredStateError(f"The snapshot of the process cannot be read: {version!r} is no version")
    return _stepped(snapshot, version, newest, _SNAPSHOTS, "The snapshot of the process cannot be read: it")


def _stepped(value: Saved, version: int, newest: int, steps: Mapping[int, Upgrade], what: str) -> Saved:
    if version > newest:
        raise StoredStateError(
            f"{what} has version {version}, and this program knows versions up to {newest}: a newer program has saved "
            "it. Let that one go on with it, or bring this one up to date."
        )
    for number in range(version, newest):
        if (step := steps.get(number)) is None:
            raise StoredStateError(f"{what} has version {version}, and nothing upgrades version {number}")
        value = _taken(step, value, number, what)
    return value


def _taken(step: Upgrade, value: Saved, number: int, what: str) -> Saved:
    try:
        return step(value)
    except Exception as error:  # the code of users, and what they did not expect
        reason = f"{type(error).__name__}: {error}"
        raise StoredStateError(f"{what} could not be upgraded from version {number}: {reason}") from error


def _upgrades_of(kind: type) -> Mapping[int, Upgrade]:
    found: Mapping[int, Upgrade] = vars(kind).get(_UPGRADES, {})  # those of a base class are of the base class only
    return found


def _upgrade_to_version_2(snapshot: Saved) -> Saved:
    """Add the child processes and the number of their actions; the context of the options is called a memory."""
    history = [{**run, "children": []} for run in cast("list[Saved]", snapshot["history"])]
    options = dict(cast("Saved", snapshot["options"]))
    options["memory_id"] = options.pop("context_id")
    changed: Saved = {"history": cast("list[JsonValue]", history), "actions": len(history), "options": options}
    return {**snapshot, "version": 2, **changed}


_SNAPSHOTS: Mapping[int, Upgrade] = {1: _upgrade_to_version_2}
