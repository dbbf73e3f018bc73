"""Types of objects from which a goal can be reached, and their schemas as arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from tactician.llm import JsonSchema
from tactician.process import GoalSpec, PlannedAgentSpec, UserInput
from tactician.tools import create_arguments_error

_CLOSED = ConfigDict(extra="forbid")


class Start:
    """A type of objects to start from. What is not an object in JSON travels as `{"value": ...}`.

    Raises:
        PydanticUserError: when the type has no JSON form.
    """

    def __init__(self, kind: type) -> None:
        self.kind = kind
        adapter: TypeAdapter[object] = TypeAdapter(kind)
        schema = _inline_root(adapter.json_schema())
        self._is_wrapped = schema.get("type") != "object"
        if self._is_wrapped:
            adapter = TypeAdapter(create_model("arguments", __config__=_CLOSED, value=(kind, ...)))
            schema = adapter.json_schema()
        self._adapter = adapter
        properties = schema.get("properties")
        if kind is UserInput and isinstance(properties, dict):
            properties = {name: property_ for name, property_ in properties.items() if name != "timestamp"}  # it is now
        self.schema: JsonSchema = {**schema, "properties": properties or {}}

    def read(self, arguments: str) -> object:
        """Parse the arguments, and return the object.

        Raises:
            InvalidArgumentsError: when they are not valid.
        """
        try:
            values = self._adapter.validate_json(arguments or "{}")
        except ValidationError as error:
            raise create_arguments_error(error) from error
        return getattr(values, "value") if self._is_wrapped else values  # noqa: B009 - its class is made at runtime


def list_start_types(agent: PlannedAgentSpec) -> tuple[type, ...]:
    """Return the types of objects that actions need and none gives."""
    given = {name for action in agent.plannable for name, value in action.effects.items() if value}
    kinds = {
        kind: None
        for action in agent.actions
        for label, kind in zip(action.needs, action.input_types, strict=False)
        if label.removesuffix("?") not in given
    }
    return tuple(kinds)


def types_leading_to(goal: GoalSpec, agent: PlannedAgentSpec) -> Iterator[type]:
    """Yield the types that no action gives, and of which a single object may be enough to reach the goal.

    Conditions that no action brings about are taken to be fulfilled.
    """
    facts = {name for action in agent.plannable for name, value in action.effects.items() if value}
    types = {
        label: kind
        for action in agent.actions
        for label, kind in zip(
            (need for need in action.needs if not need.endswith("?")), action.input_types, strict=False
        )
    }
    for label, kind in types.items():
        there = {name for name, needed in types.items() if ": " not in name and issubclass(kind, needed)}
        if label not in facts and label in there and _may_reach(goal, agent, there, facts | types.keys()):
            yield kind


def _may_reach(goal: GoalSpec, agent: PlannedAgentSpec, there: set[str], known: set[str]) -> bool:
    left, facts = list(agent.plannable), set(there)
    while ready := [action for action in left if _list_open_facts(action.pre, known) <= facts]:
        facts.update(name for action in ready for name, value in action.effects.items() if value)
        left = [action for action in left if action not in ready]
    return _list_open_facts(goal.plan.conditions, known) <= facts


def _list_open_facts(conditions: Mapping[str, bool], known: set[str]) -> set[str]:
    return {name for name, value in conditions.items() if value and name in known}


def _inline_root(schema: dict[str, object]) -> dict[str, object]:
    """Return the schema with its root inlined: the root of a type that contains itself is a reference."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, dict):
        return {name: value for name, value in schema.items() if name != "title"}
    root: dict[str, object] = definitions[reference.removeprefix("#/$defs/")]
    return {**root, "$defs": definitions}
