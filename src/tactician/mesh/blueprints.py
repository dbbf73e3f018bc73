"""Blueprints of capabilities of a mesh: `mesh_task` as an agent, and `mesh_tools` among the built-in tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, Final, Literal

from tactician.amounts import Count, Factor
from tactician.blueprint import Blueprint, Builder, Exporter, blueprint_exporter, blueprint_type
from tactician.blueprint.blueprint import Node
from tactician.blueprint.built_in_tools.parts import TOOL_KINDS
from tactician.blueprint.permissions import find_problem_of_address
from tactician.blueprint.provided_tools import ProvidedToolsPart, provided_tools_exporter
from tactician.blueprint.schema_base import Name, Part, Seconds
from tactician.mesh.calls.options import FallbackOn, Late, MeshCallOptions
from tactician.mesh.calls.policies import MESH_BREAKER, Retries, StickyChoice, sticky
from tactician.mesh.calls.remote_task import RemoteTaskRunnable, describe_task
from tactician.mesh.calls.remote_tools import RemoteTools
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.message import Priority
from tactician.mesh.queries import CapabilityQuery
from tactician.mesh.sources import KEY_VARIABLE, MeshAddress, MeshSource
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tactician.secrets import has_secret

_TIMES: Final = ("deadline", "wait", "max_age")
_STICKY: Final = "sticky:"


class RetriesPart(Part):
    """Retries of a request that no node has accepted."""

    count: Count | None = None
    base: Seconds | None = None
    longest: Seconds | None = None


class BreakerPart(Part):
    """Circuit breaker of each node that is asked."""

    failure_threshold: Count | None = None
    window: Seconds | None = None
    cooldown: Seconds | None = None
    cooldown_factor: Factor | None = None
    max_cooldown: Seconds | None = None


class MeshCallPart(Part):
    """Address of a mesh, and options of a call over it. Times are in seconds."""

    capability: Name | None = None
    url: Name | None = None
    realm: Name | None = None
    key_env_var: Name | None = None
    node: Name | None = None
    priority: Literal["CRITICAL", "HIGH", "NORMAL", "LOW"] | None = None
    deadline: Seconds | None = None
    must_meet_deadline: bool | None = None
    wait: Seconds | None = None
    late: Late | None = None
    version: Name | None = None
    accept_within: Seconds | None = None
    patience: Seconds | None = None
    retries: RetriesPart | None = None
    breaker: BreakerPart | None = None
    choose: Name | None = None
    fallback: Node | None = None
    fallback_text: str | None = None
    fallback_on: FallbackOn | None = None
    max_age: Seconds | None = None
    cache_key: Name | None = None
    share: tuple[Literal["budget", "trace", "user"], ...] | None = None

    def build_source(self, builder: Builder) -> MeshAddress | None:
        """Return the address of the mesh; `None` when it may not be used."""
        if self.url is not None and (problem := find_problem_of_address(self.url, builder.permissions.hosts)):
            builder.add_problem(problem, "url")
            return None
        if self.key_env_var is not None and (why_not := builder.permissions.find_problem_of_variable(self.key_env_var)):
            builder.add_problem(why_not, "keyEnvVar")
        return MeshAddress(self.url, self.realm, self.key_env_var or KEY_VARIABLE)

    def build_options(self, builder: Builder) -> MeshCallOptions | None:
        """Return the options; `None` when one is not valid."""
        values: dict[str, Any] = {field.name: getattr(self, field.name, None) for field in fields(MeshCallOptions)}
        values |= {name: timedelta(seconds=float(values[name])) for name in _TIMES if values[name] is not None}
        values |= {"on": self.node, "priority": None if self.priority is None else Priority[self.priority]}
        values |= self._build_policies()
        node = None if self.fallback is None else builder.build_node(self.fallback, "fallback")
        values["fallback"] = node or self.fallback_text
        chosen = {name: value for name, value in values.items() if value is not None}
        return builder.attempt(lambda: MeshCallOptions.create(**chosen))

    def _build_policies(self) -> dict[str, object]:
        choose = self.choose
        return {
            "retries": None if self.retries is None else replace(Retries(), **_read_part(self.retries)),
            "breaker": None if self.breaker is None else replace(MESH_BREAKER, **_read_part(self.breaker)),
            "choose": sticky(choose[len(_STICKY) :]) if choose and choose.startswith(_STICKY) else choose,
        }


@blueprint_type("mesh_task")
class MeshTaskBlueprint(Blueprint, MeshCallPart):
    """Blueprint of a task of another program, over a mesh: by default the mesh of the platform."""

    type: Literal["mesh_task"] = "mesh_task"
    capability: Name
    description: str | None = None

    def build_with(self, builder: Builder) -> RemoteTaskRunnable | None:
        """Return the task; a run finds the mesh."""
        if (source := self.build_source(builder)) is None or (options := self.build_options(builder)) is None:
            return None
        return RemoteTaskRunnable(source, self.capability, options, self.description or "")


class MeshToolsPart(MeshCallPart, ProvidedToolsPart):
    """Capabilities of a mesh as tools: a single capability, or all that have certain tags."""

    tool: Literal["mesh_tools"]
    tags: tuple[Name, ...] | None = None
    any_tags: tuple[Name, ...] | None = None
    kind: Literal["task", "tool"] | None = None
    accepts: dict[str, Any] | None = None

    def build_tools(self, builder: Builder) -> RemoteTools | None:
        """Return the provider of the tools; a run finds the mesh."""
        if (source := self.build_source(builder)) is None or (options := self.build_options(builder)) is None:
            return None
        query = CapabilityQuery(
            name=self.capability,
            tags=frozenset(self.tags or ()),
            any_tags=frozenset(self.any_tags or ()),
            kind=self.kind,
            version=self.version,
            accepts=self.accepts,
        )
        return RemoteTools(source, query, options)


TOOL_KINDS["mesh_tools"] = MeshToolsPart


@blueprint_exporter(RemoteTaskRunnable)
def export_task(task: RemoteTaskRunnable, exporter: Exporter) -> MeshTaskBlueprint | None:
    """Return the blueprint of a remote task."""
    is_usual = task.description == describe_task(task.capability, task.options)
    described = {"capability": task.capability, "description": None if is_usual else task.description}
    return exporter.make(
        MeshTaskBlueprint,
        {**described, **_describe_source(task.source, exporter), **_describe_options(task.options, exporter)},
    )


@provided_tools_exporter(RemoteTools)
def export_tools(tools: RemoteTools, exporter: Exporter) -> MeshToolsPart | None:
    """Return the part of capabilities as tools."""
    query = tools.query
    described = {
        "tool": "mesh_tools",
        "capability": query.name,
        "tags": tuple(sorted(query.tags)) or None,
        "any_tags": tuple(sorted(query.any_tags)) or None,
        "kind": query.kind,
        "accepts": query.accepts,
    }
    source = _describe_source(tools.source, exporter)
    return exporter.make(MeshToolsPart, {**described, **source, **_describe_options(tools.options, exporter)})


def _describe_source(source: MeshSource, exporter: Exporter) -> Mapping[str, object]:
    if isinstance(source, MeshAddress):
        variable = None if source.key_variable == KEY_VARIABLE else source.key_variable
        return {"url": source.url, "realm": source.realm, "key_env_var": variable}
    assert isinstance(source, MeshConnection)
    if has_secret(source.url):
        exporter.add_problem("the address may hold a secret: put it into the variable TACTICIAN_MESH", "url")
    return {"url": source.url, "realm": None if source.realm == "default" else source.realm}


def _describe_options(options: MeshCallOptions, exporter: Exporter) -> dict[str, object]:
    default, described = MeshCallOptions(), dict[str, object]()
    for field in fields(MeshCallOptions):
        if (value := getattr(options, field.name)) != getattr(default, field.name):
            described["node" if field.name == "on" else field.name] = _describe_value(value)
    fallback = described.pop("fallback", None)
    if isinstance(fallback, str):
        described["fallback_text"] = fallback
    elif options.fallback is not None and not isinstance(options.fallback, str):
        described["fallback"] = exporter.export_node(options.fallback, "fallback")
    return described


def _describe_value(value: object) -> object:
    match value:
        case timedelta():
            return value.total_seconds()
        case Priority():
            return value.name
        case StickyChoice(field=field):
            return f"{_STICKY}{field}"
        case Retries():
            return RetriesPart(**_find_changes(value, Retries()))
        case CircuitBreakerPolicy():
            return BreakerPart(**_find_changes(value, MESH_BREAKER))
        case frozenset():
            return tuple(sorted(value))
    return value


def _find_changes(policy: Retries | CircuitBreakerPolicy, default: Retries | CircuitBreakerPolicy) -> dict[str, Any]:
    values = {field.name: getattr(policy, field.name) for field in fields(policy)}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def _read_part(part: Part) -> dict[str, Any]:
    return part.model_dump(exclude_none=True)
