"""Actions as tools of a supervisor, without the arguments that are on the blackboard already."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError

from tactician.errors import RuleRefusedError, ToolError
from tactician.frozen import frozen
from tactician.llm.model import ToolSpec
from tactician.process import OperationContext
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.state.state import ActionRun
from tactician.runs import RunContext
from tactician.text import snake_case
from tactician.tools import Tool
from tactician.tools.function import create_arguments_error
from tactician.tools.tool import describe_result
from tactician.tools.traits import ToolTraits

BINDING = "made by the supervisor"


@frozen
class RequiredInput:
    """Object that an action requires.

    Attributes:
        label: the condition that the object is on the blackboard.
        type: the type.
        producers: the actions that produce the object. Without any, the model creates it.
    """

    label: str
    type: type
    producers: tuple[str, ...]

    @property
    def argument(self) -> str:
        """The name of the tool argument."""
        binding, _, written = self.label.rpartition(": ")
        return snake_case(binding or written.rpartition(".")[2])

    @property
    def binding(self) -> str:
        """The name under which an object from the model is bound, apart from earlier objects."""
        binding, _, _ = self.label.rpartition(": ")
        return binding or BINDING

    def is_there(self, agent: PlannedAgentSpec, context: OperationContext) -> bool:
        """Return whether the object is on the blackboard."""
        return agent.observations[self.label](context.blackboard)

    def can_be_created(self, agent: PlannedAgentSpec, context: OperationContext) -> bool:
        """Return whether the model may create the object: no action does, and no other object is there."""
        if self.producers:
            return False
        return not self.is_there(agent, context) or context.blackboard.find_named(self.binding, self.type) is not None


def list_required_inputs(action: ActionSpec, agent: PlannedAgentSpec) -> tuple[RequiredInput, ...]:
    """Return the objects that an action requires."""
    labels = (label for label in action.needs if not label.endswith("?"))
    return tuple(
        RequiredInput(
            label, kind, tuple(producer.name for producer in agent.actions if producer.plan.effects.get(label))
        )
        for label, kind in zip(labels, action.input_types, strict=False)  # conditions come after the objects
    )


async def find_unmet_conditions(action: ActionSpec, agent: PlannedAgentSpec, context: OperationContext) -> list[str]:
    """Return the conditions, apart from objects, that prevent an action from running now."""
    objects = {required.label for required in list_required_inputs(action, agent)}
    facts = (name for name, value in action.plan.pre.items() if value and name not in objects)
    return [name for name in facts if not await _is_true(name, agent, context)]


async def _is_true(name: str, agent: PlannedAgentSpec, context: OperationContext) -> bool:
    if (observe := agent.conditions.get(name)) is None:
        return agent.observations[name](context.blackboard)
    holds = observe(context)
    return await holds if isinstance(holds, Awaitable) else bool(holds)


@dataclass(slots=True)
class SupervisionState:
    """State of a supervised process.

    Attributes:
        agent: the spec with the actions.
        names: the tool names of the actions.
        context: the context of the actions.
        failure: the exception that stops all actions.
        running: the names of the running actions.
        creation: lock of the calls with objects that the model has created. An action finds the newest object of a
            type, so that another call must not put one there before it.
    """

    agent: PlannedAgentSpec
    names: Mapping[str, str]
    context: OperationContext
    failure: Exception | None = None
    running: set[str] = field(default_factory=set)
    creation: asyncio.Lock = field(default_factory=asyncio.Lock)

    def can_run(self, action: ActionSpec) -> bool:
        """Return whether the action has not run yet, or may run again."""
        has_run = action.name in self.running or self.context.process.has_run(action.name)
        return not has_run or action.plan.pre.get(action.condition_ran) is not False

    async def run_action(self, action: ActionSpec, context: RunContext) -> tuple[ActionRun, object]:
        """Run an action, and return its outcome and its outputs."""
        try:
            return await self.context.process.act(action.name, context)
        except RuleRefusedError:
            raise
        except Exception as error:
            self.failure = error
            raise

    @contextmanager
    def note_running(self, action: ActionSpec) -> Iterator[None]:
        """Note that an action runs during the `with` block."""
        self.running.add(action.name)
        try:
            yield
        finally:
            self.running.discard(action.name)


class CurriedAction(Tool):
    """Action as a tool whose arguments are the objects that are not on the blackboard.

    An object that another action produces must exist before the tool can be called. An object that no action produces
    is an argument, which the model creates, and is added to the blackboard.
    """

    def __init__(self, action: ActionSpec, situation: SupervisionState) -> None:
        self.action = action
        self._situation = situation
        agent, context = situation.agent, situation.context
        is_goal = any(goal.name == action.name for goal in context.process.goals)
        self.traits = ToolTraits(return_direct=is_goal)
        inputs = list_required_inputs(action, agent)
        absent = [required for required in inputs if not required.is_there(agent, context)]
        self._producible = {
            required.argument: required
            for required in inputs
            if required.can_be_created(agent, context) and _has_form(required.type)
        }
        self.blocked = [required for required in absent if required.argument not in self._producible]
        self.missing = len(absent)
        name = situation.names[action.name]
        self._arguments = _create_arguments_model(
            name, tuple((key, required.type, required in absent) for key, required in self._producible.items())
        )
        schema = {key: value for key, value in self._arguments.model_json_schema().items() if key != "title"}
        self._spec = ToolSpec(name, self._describe(is_goal), schema)

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    async def call(self, arguments: str, context: RunContext) -> str:
        """Run the action, and put its outputs on the blackboard.

        Raises:
            InvalidArgumentsError: when the arguments do not fit.
            ToolError: when the action cannot run now, gives nothing or fails.
        """
        try:
            values = self._arguments.model_validate_json(arguments or "{}")
        except ValidationError as error:
            raise create_arguments_error(error) from error
        created = [
            (value, required.binding)
            for key, required in self._producible.items()
            if (value := getattr(values, key)) is not None
        ]
        async with self._situation.creation if created else nullcontext():
            run, output = await self._run(created, context)
        if run.error is not None:
            raise ToolError(run.error)
        if output is None and self.action.output_types:
            raise ToolError(f"{self.name} gave nothing.")
        return describe_result(output)

    async def _run(self, created: Iterable[tuple[object, str]], context: RunContext) -> tuple[ActionRun, object]:
        """Run the action with objects that the model has created, and their names."""
        self._check()
        situation, leading = self._situation, self._situation.context
        with situation.note_running(self.action):
            for value, binding in created:
                leading.blackboard.add(value, binding)
            if conditions := await find_unmet_conditions(self.action, situation.agent, leading):
                raise ToolError(f"{self.name} cannot run now: {' and '.join(map(repr, conditions))} does not hold.")
            return await situation.run_action(self.action, context)

    @property
    def obstacle(self) -> str | None:
        """A description of the missing objects; `None` when none is missing."""
        return " and ".join(_wait_for(required, self._situation.names) for required in self.blocked) or None

    def _check(self) -> None:
        if self.obstacle is not None:
            raise ToolError(f"{self.name} cannot run yet: it needs {self.obstacle}.")
        if not self._situation.can_run(self.action):
            raise ToolError(f"{self.name} has run already, and may run once only.")

    def _describe(self, is_goal: bool) -> str:
        parts = [f"{self.action.description}.".replace("..", ".")] if self.action.description else []
        if self.action.output_types:
            parts.append(f"Gives {' or '.join(map(describe_type, self.action.output_types))}.")
        if is_goal:
            parts.append("This reaches the goal.")
        if self.obstacle is not None:
            parts.append(f"NOT READY: needs {self.obstacle}.")
        elif not self.missing:
            parts.append("READY.")
        return " ".join(parts)


def describe_type(kind: type) -> str:
    """Return the name and the fields of a type, for a model."""
    try:
        schema = TypeAdapter(kind).json_schema()
    except PydanticUserError:
        return kind.__name__
    fields = schema.get("properties", {})
    listed = ", ".join(f"{name}: {field.get('type', 'object')}" for name, field in fields.items())
    return f"{kind.__name__} {{{listed}}}" if listed else kind.__name__


def _wait_for(required: RequiredInput, names: Mapping[str, str]) -> str:
    producers = " or ".join(names[giver] for giver in required.producers)
    return f"{required.label} (from {producers})" if producers else f"{required.label}, which no action produces"


@lru_cache(maxsize=256)
def _has_form(kind: type) -> bool:
    """Return whether a model can write an object of the type."""
    try:
        TypeAdapter(kind).json_schema()
    except PydanticUserError:
        return False
    return True


@lru_cache(maxsize=256)
def _create_arguments_model(name: str, fields: tuple[tuple[str, type, bool], ...]) -> type[BaseModel]:
    """Return the arguments model of a tool. Optional arguments replace existing objects."""
    described = "leave it out to use the last one"
    declared = {
        key: (kind, ...) if required else (Annotated[kind | None, Field(description=described)], None)
        for key, kind, required in fields
    }
    model = create_model(f"{name} arguments", __config__=ConfigDict(extra="forbid"), **declared)  # type: ignore[call-overload]
    return cast("type[BaseModel]", model)
