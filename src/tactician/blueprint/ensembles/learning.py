"""Memory and reflections of an ensemble in blueprints, with their stores."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field

from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.functions import export_object, find_object
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.schema_base import Name, Part, Positive, Seconds, part_or
from tactician.ensemble import InProcessMemory, InProcessReflections, ReflectionStore, Scope, SqlMemory, SqlReflections
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.grammar import add_article
from tactician.secrets import has_secret
from tactician.stores import StoreVariable
from tactician.stores.address import StoreAddress, store_path

_MODULE: Final = "tactician.stores"
_SECRET: Final = "the address may hold a secret: write it to an environment variable, and name that"


class ScopePart(Part):
    """Retention of the entries in a scope of a memory. The time is in seconds."""

    keep_last: Positive | None = None
    keep_within: Seconds | None = None


class StorePart(Part):
    """Store at an address, or at the address in an environment variable; without either, it ends with the program."""

    store: Name | None = None
    store_env_var: Name | None = None


class MemoryPart(StorePart):
    """Memory with scopes. The embedder is the name of a model, by which entries are recalled."""

    scopes: Annotated[dict[str, ScopePart], Field(min_length=1)]
    embedder: Name | None = None


class ReflectionsPart(StorePart):
    """Store of reflections."""

    keep_last: Positive | None = None


MemoryItem: TypeAlias = Annotated[MemoryPart | str, part_or(MemoryPart, str, "an object with scopes nor a name")]
ReflectionsItem: TypeAlias = Annotated[
    ReflectionsPart | str, part_or(ReflectionsPart, str, "an object with the address of a store nor a name")
]


def build_memory(part: MemoryPart | str | None, builder: Builder) -> ScopedMemory | None:
    """Return the memory that a part describes or names."""
    if part is None or isinstance(part, str):
        return find_object(part, ScopedMemory, "a memory with scopes", builder, "memory")
    part_builder, scopes = builder.at("memory"), _build_scopes(part.scopes, builder.at("memory", "scopes"))
    if part.store is None and part.store_env_var is None:
        return part_builder.attempt(lambda: InProcessMemory(scopes, embedder=part.embedder), "scopes")
    if (address := _find_address(part, part_builder)) is None:
        return None
    return part_builder.attempt(lambda: SqlMemory(address, scopes, embedder=part.embedder), "store")


def export_memory(memory: ScopedMemory | None, exporter: Exporter) -> MemoryPart | str | None:
    """Return the part of a memory."""
    part_exporter = exporter.at("memory")
    if memory is None or type(memory) not in (InProcessMemory, SqlMemory):
        return export_object(memory, "the memory", part_exporter)
    if memory.embedder is not None and not isinstance(memory.embedder, str):
        part_exporter.add_problem(
            f"{add_article(type(memory.embedder).__name__)} has no name: pass the name of the model", "embedder"
        )
        return None
    scopes = {name: _export_scope(scope) for name, scope in memory.scopes.items()}
    store = _export_address(memory.address, part_exporter) if isinstance(memory, SqlMemory) else {}
    return part_exporter.make(MemoryPart, {**store, "scopes": scopes, "embedder": memory.embedder})


def build_reflections(part: ReflectionsPart | str | None, builder: Builder) -> ReflectionStore | None:
    """Return the store of reflections that a part describes or names."""
    if part is None or isinstance(part, str):
        kind: type[ReflectionStore] = ReflectionStore  # type: ignore[type-abstract] # it is checked, and not called
        return find_object(part, kind, "a store of reflections", builder, "reflections")
    part_builder = builder.at("reflections")
    settings: dict[str, Any] = {} if part.keep_last is None else {"keep_last": part.keep_last}
    if part.store is None and part.store_env_var is None:
        return part_builder.attempt(lambda: InProcessReflections(**settings), "keepLast")
    if (address := _find_address(part, part_builder)) is None:
        return None
    return part_builder.attempt(lambda: SqlReflections(address, **settings), "store")


def export_reflections(store: ReflectionStore | None, exporter: Exporter) -> ReflectionsPart | str | None:
    """Return the part of a store of reflections."""
    part_exporter = exporter.at("reflections")
    if type(store) is not InProcessReflections and type(store) is not SqlReflections:
        return export_object(store, "the store", part_exporter)
    keep_last = store.keep_last if store.keep_last != InProcessReflections().keep_last else None
    address = _export_address(store.address, part_exporter) if isinstance(store, SqlReflections) else {}
    return part_exporter.make(ReflectionsPart, {**address, "keep_last": keep_last})


def _build_scopes(parts: Mapping[str, ScopePart], builder: Builder) -> dict[str, Scope]:
    made = {name: builder.attempt(lambda: _build_scope(part), name) for name, part in parts.items()}  # noqa: B023 - called at once
    return {name: scope for name, scope in made.items() if scope is not None}


def _build_scope(part: ScopePart) -> Scope:
    settings: dict[str, Any] = {} if part.keep_last is None else {"keep_last": part.keep_last}
    return Scope(**settings, keep_within=None if part.keep_within is None else timedelta(seconds=part.keep_within))


def _export_scope(scope: Scope) -> ScopePart:
    age = None if scope.keep_within is None else scope.keep_within.total_seconds()
    return ScopePart(keep_last=scope.keep_last if scope.keep_last != Scope().keep_last else None, keep_within=age)


def _find_address(part: StorePart, builder: Builder) -> StoreAddress | None:
    """Return the address of a store; `None` when there was a problem."""
    if part.store is not None and part.store_env_var is not None:
        builder.add_problem("there is a store too: leave out one of them", "storeEnvVar")
        return None
    if (name := part.store_env_var) is not None:
        if (why_not := builder.permissions.find_problem_of_variable(name)) is not None:
            builder.add_problem(why_not, "storeEnvVar")
            return None
        variable = StoreVariable(name, builder.environment)
        return None if builder.attempt(variable.read, "storeEnvVar") is None else variable
    assert part.store is not None
    address = part.store
    if has_secret(address):
        builder.add_problem(f"{_SECRET} as storeEnvVar", "store")
        return None
    if not builder.may_use("a store", _MODULE, "store"):
        return None
    if (path := builder.attempt(lambda: store_path(address) or "", "store")) is None:
        return None
    if path.startswith("file:"):
        builder.add_problem("write the path of a file, and no options", "store")
        return None
    return builder.resolve_file(path, "store") if path else _check_host(address, builder)


def _check_host(address: str, builder: Builder) -> str | None:
    allowed, host = builder.permissions.hosts, urlsplit(address).hostname or "localhost"
    if allowed is None or host in allowed:
        return address
    builder.add_problem(f"the host {host} is not allowed; allow it with build(hosts=[{host!r}])", "store")
    return None


def _export_address(address: StoreAddress, exporter: Exporter) -> dict[str, object]:
    if isinstance(address, StoreVariable):
        return {"store_env_var": address.name}
    path = address if isinstance(address, Path) else store_path(address)
    if path is not None and not str(path).startswith("file:"):
        return {"store": exporter.make_relative(Path(path).absolute())}
    if path is not None or has_secret(str(address)):
        why = "write the path of a file, and no options" if path is not None else f"{_SECRET} with StoreVariable"
        exporter.add_problem(why, "store")
    return {"store": str(address)}
