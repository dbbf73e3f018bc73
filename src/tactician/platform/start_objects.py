"""Objects from which a goal can be reached, and their schemas as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from tactician.frozen import frozen
from tactician.llm.model import JsonSchema
from tactician.process import UserInput
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.state.goals import GoalSpec
from tactician.text import snake_case
from tactician.tools.function import create_arguments_error

_CLOSED = ConfigDict(extra="forbid")


@frozen
class StartInput:
    """Object to start from: its type, and the name that it needs, if any."""

    kind: type
    name: str = ""

    @property
    def argument(self) -> str:
        """Name of the argument for it, where there are several."""
        return self.name or snake_case(self.kind.__name__)


@frozen
class StartObjects:
    """Objects to start from.

    Attributes:
        objects: those without names.
        named: the others by their names.
    """

    objects: tuple[object, ...]
    named: Mapping[str, object]


class Start:
    """Objects to start from, as the arguments of a tool.

    A single object without a name is the arguments itself; what is not an object in JSON travels as `{"value": ...}`.
    Several objects are an argument each.

    Raises:
        PydanticUserError: when a type has no JSON form.
    """

    def __init__(self, inputs: Sequence[StartInput]) -> None:
        self.inputs = tuple(inputs)
        only = inputs[0] if len(inputs) == 1 and not inputs[0].name else None
        adapter: TypeAdapter[object] = TypeAdapter(object if only is None else only.kind)
        schema = _inline_root(adapter.json_schema())
        self._is_bare = only is not None and schema.get("type") == "object"
        if not self._is_bare:
            self._arguments = {"value": only} if only is not None else {need.argument: need for need in inputs}
            fields = {name: (need.kind, ...) for name, need in self._arguments.items()}
            adapter = TypeAdapter(_create_arguments(fields))
            schema = {name: value for name, value in adapter.json_schema().items() if name != "title"}
        self._adapter = adapter
        properties = schema.get("properties")
        if only is not None and only.kind is UserInput and isinstance(properties, dict):
            properties = {name: property_ for name, property_ in properties.items() if name != "timestamp"}  # it is now
        self.schema: JsonSchema = {**schema, "properties": properties or {}}

    def read(self, arguments: str) -> StartObjects:
        """Parse the arguments, and return the objects.

        Raises:
            InvalidArgumentsError: when they are not valid.
        """
        try:
            values = self._adapter.validate_json(arguments or "{}")
        except ValidationError as error:
            raise create_arguments_error(error) from error
        if self._is_bare:
            return StartObjects((values,), {})
        pairs = [(need.name, getattr(values, argument)) for argument, need in self._arguments.items()]
        return StartObjects(
            tuple(value for name, value in pairs if not name), {name: value for name, value in pairs if name}
        )


def list_start_types(agent: PlannedAgentSpec) -> tuple[type, ...]:
    """Return the types of objects that actions need and none gives."""
    produced = {name for action in agent.plannable for name, value in action.effects.items() if value}
    kinds = {
        kind: None
        for action in agent.actions
        for label, kind in zip(action.needs, action.input_types, strict=False)
        if label.removesuffix("?") not in produced
    }
    return tuple(kinds)


def _create_arguments(fields: Mapping[str, tuple[type, object]]) -> type[BaseModel]:
    build: Callable[..., type[BaseModel]] = create_model  # the names of the fields are data
    return build("arguments", __config__=_CLOSED, **fields)


def find_starts(goal: GoalSpec, agent: PlannedAgentSpec) -> Iterator[tuple[StartInput, ...]]:
    """Yield what the goal can be reached from: each type of which a single object may be enough.

    Where none is, yield the objects that are needed together, unless only actions give these.
    """
    is_single = False
    for kind in _types_leading_to(goal, agent):
        is_single = True
        yield (StartInput(kind),)
    if not is_single and (several := _find_several(goal, agent)) is not None:
        yield several


def _find_several(goal: GoalSpec, agent: PlannedAgentSpec) -> tuple[StartInput, ...] | None:
    """Return the fewest objects from which the goal may be reached, among those that no action gives."""
    facts, types = _list_effects(agent), _list_inputs(agent)
    needed = {label: kind for label, kind in types.items() if label not in facts}
    reachable_facts = facts | types.keys()

    def is_enough(labels: Iterable[str]) -> bool:
        there = {name for label in labels for name in _list_fulfilled(label, types)}
        return _may_reach(goal, agent, there, reachable_facts)

    if not is_enough(needed):
        return None
    for label in sorted(needed, key=lambda label: ": " not in label):  # what needs a name goes first
        if is_enough(fewer := [other for other in needed if other != label]):
            needed = {other: needed[other] for other in fewer}
    return tuple(StartInput(kind, label.partition(": ")[0] if ": " in label else "") for label, kind in needed.items())


def _list_effects(agent: PlannedAgentSpec) -> set[str]:
    return {name for action in agent.plannable for name, value in action.effects.items() if value}


def _list_inputs(agent: PlannedAgentSpec) -> dict[str, type]:
    """Return the types of the objects that actions must have, by the names of their conditions."""
    return {
        label: kind
        for action in agent.actions
        for label, kind in zip(
            (need for need in action.needs if not need.endswith("?")), action.input_types, strict=False
        )
    }


def _list_fulfilled(label: str, types: Mapping[str, type]) -> set[str]:
    """Return the conditions that an object fulfils: its own, and its superclasses'."""
    return {label} | {name for name, needed in types.items() if ": " not in name and issubclass(types[label], needed)}


def _types_leading_to(goal: GoalSpec, agent: PlannedAgentSpec) -> Iterator[type]:
    """Yield the types that no action gives, and of which a single object may be enough to reach the goal.

    Conditions that no action brings about are taken to be fulfilled.
    """
    facts, types = _list_effects(agent), _list_inputs(agent)
    for label, kind in types.items():
        there = {name for name, needed in types.items() if ": " not in name and issubclass(kind, needed)}
        if label not in facts and label in there and _may_reach(goal, agent, there, facts | types.keys()):
            yield kind


def _may_reach(goal: GoalSpec, agent: PlannedAgentSpec, there: set[str], reachable_facts: set[str]) -> bool:
    left, facts = list(agent.plannable), set(there)
    while ready := [action for action in left if _list_open_facts(action.pre, reachable_facts) <= facts]:
        facts.update(name for action in ready for name, value in action.effects.items() if value)
        left = [action for action in left if action not in ready]
    return _list_open_facts(goal.plan.conditions, reachable_facts) <= facts


def _list_open_facts(conditions: Mapping[str, bool], reachable_facts: set[str]) -> set[str]:
    return {name for name, value in conditions.items() if value and name in reachable_facts}


def _inline_root(schema: dict[str, object]) -> dict[str, object]:
    """Return the schema with its root inlined: the root of a type that contains itself is a reference."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, dict):
        return {name: value for name, value in schema.items() if name != "title"}
    root: dict[str, object] = definitions[reference.removeprefix("#/$defs/")]
    return {**root, "$defs": definitions}
