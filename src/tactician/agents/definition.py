"""Definitions of agents without models and tools, for models that create agents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Protocol

from pydantic import BeforeValidator, Field

from tactician.agents.agent import Agent
from tactician.agents.base import BaseRunnable
from tactician.agents.blueprint_port import BlueprintLike
from tactician.agents.temperature import ModelWithTemperature, with_temperature
from tactician.agents.window_definition import Definition, WindowDefinition
from tactician.errors import ConfigurationError, DeclarationError
from tactician.grammar import add_article
from tactician.guardrails import input as input_named
from tactician.guardrails import output as output_named
from tactician.guardrails.guardrail import AnyGuardrail
from tactician.late_imports import Port
from tactician.llm import LanguageModel, LlmOptions, Responder
from tactician.loop import Handoff, handoff
from tactician.loop.policy import DEFAULT_MAX_TURNS
from tactician.suggestions import did_you_mean
from tactician.text import snake_case
from tactician.tools import Tool, as_tool
from tactician.tools.toolbox import ToolLike

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_none_as_empty = BeforeValidator(lambda value: () if value is None else value)


class HandoffDefinition(Definition):
    """Definition of a handoff to another agent."""

    name: Annotated[str, Field(description="A short name of the handoff, such as transfer_to_billing")]
    description: Annotated[str, Field(description="When to hand the conversation over")]
    target: Annotated[AgentDefinition, Field(description="The agent that continues the conversation")]

    @property
    def tool_name(self) -> str:
        """The name as a valid tool name."""
        return self.name if _TOOL_NAME.fullmatch(self.name) else snake_case(self.name)

    def _build(self, model: str | LlmOptions | LanguageModel | None, tools: Mapping[str, Tool]) -> Handoff[object]:
        return handoff(self.target._build(model, tools), self.tool_name, self.description)


class AgentDefinition(Definition):
    """Behaviour of an agent. The model, the tools and the guardrails are resolved when the definition is built."""

    name: Annotated[str, Field(min_length=1, description="A unique name, for logs and handoffs")]
    instructions: Annotated[
        str, Field(description="The system prompt: who the agent is, what it does, how, and what it must not do")
    ]
    max_turns: Annotated[
        int, Field(gt=0, description="Requests to the model: 1 for plain answers, 5 to 10 with tools, more if need be")
    ] = DEFAULT_MAX_TURNS
    temperature: Annotated[
        float | None,
        Field(ge=0, le=2, description="Randomness from 0.0 (facts) to 2.0 (fiction); null for the model's own"),
    ] = None
    tool_names: Annotated[
        tuple[str, ...], _none_as_empty, Field(description="The names of the tools it may use, of those available")
    ] = ()
    input_guardrails: Annotated[
        tuple[str, ...], _none_as_empty, Field(description="The names of the guardrails on its input")
    ] = ()
    output_guardrails: Annotated[
        tuple[str, ...], _none_as_empty, Field(description="The names of the guardrails on its answers")
    ] = ()
    handoffs: Annotated[
        tuple[HandoffDefinition, ...], _none_as_empty, Field(description="The agents to which it may hand over")
    ] = ()
    context_management: Annotated[
        WindowDefinition | None, Field(description="How long conversations are shown to it; null for all of them")
    ] = None

    def build(
        self, *, model: str | LlmOptions | LanguageModel | None = None, tools: Sequence[ToolLike] = ()
    ) -> Agent[str]:
        """Return the agent, and the agents to which it hands over.

        Args:
            model: the model of all these agents; by default the default model of the run's context.
            tools: the tools that the definition may name.

        Raises:
            DeclarationError: with every tool and every guardrail that does not exist.
        """
        tools_by_name = {tool.name: tool for tool in map(as_tool, tools)}
        if problems := list(self._find_problems(tools_by_name, "")):
            raise DeclarationError(self.name, problems)
        return self._build(model, tools_by_name)

    @classmethod
    def from_agent(cls, agent: Agent[object]) -> AgentDefinition:
        """Return the definition of an agent, without its model, output type and autonomy.

        Raises:
            DeclarationError: with everything that a definition cannot say: a guardrail without a registered name or a
                guardrail of tools, tool groups, a handoff to something other than an `Agent`, a custom context
                strategy, a circle of handoffs.
        """
        return _Reader().definition(agent)

    def to_blueprint(
        self, *, model: str | None = None, responder: Responder | None = None, tools: Sequence[ToolLike] = ()
    ) -> BlueprintLike[BaseRunnable[object]]:
        """Return the blueprint of the agent and of its handoff targets, an `AgentBlueprint`.

        Args:
            model: the name of the model of all these agents; the default model of the platform, when `None`.
            responder: the responder of that model; looked up by the model's name, when `None`.
            tools: the tools that the definition may name.

        Raises:
            DeclarationError: with every tool and every guardrail that does not exist.
            BlueprintError: with every tool that no import would find.
        """
        return DEFINITIONS.load().create_blueprint(self, model, responder, tools)

    @classmethod
    def from_blueprint(cls, blueprint: BlueprintLike, *, tools: Sequence[ToolLike] = ()) -> AgentDefinition:
        """Return the definition of the agent in a blueprint, without its model and responder.

        Args:
            blueprint: the blueprint of an agent.
            tools: the tools that the definition may name.

        Raises:
            BlueprintError: with everything that a definition cannot express.
        """
        return DEFINITIONS.load().create_definition(blueprint, tools)

    def _build(self, model: str | LlmOptions | LanguageModel | None, tools: Mapping[str, Tool]) -> Agent[str]:
        return Agent(
            self.name,
            model=with_temperature(model, self.temperature),
            instructions=self.instructions,
            tools=[tools[name] for name in dict.fromkeys(self.tool_names)],
            handoffs=[handoff._build(model, tools) for handoff in self.handoffs],
            input_guardrails=[input_named(name) for name in self.input_guardrails],
            output_guardrails=[output_named(name) for name in self.output_guardrails],
            window=None if self.context_management is None else self.context_management.build(),
            max_turns=self.max_turns,
        )

    def _find_problems(self, tools: Mapping[str, Tool], place: str) -> Iterable[str]:
        for name in dict.fromkeys(self.tool_names):
            if name not in tools:
                yield f"{place}toolNames: there is no tool {name!r}.{_suggest_names(name, tools)}"
        for field, find, names in (
            ("inputGuardrails", input_named, self.input_guardrails),
            ("outputGuardrails", output_named, self.output_guardrails),
        ):
            for name in names:
                try:
                    find(name)
                except ConfigurationError as error:
                    yield f"{place}{field}: {error}"
        taken = set(self.tool_names)
        for number, part in enumerate(self.handoffs):
            if part.tool_name in taken:
                yield f"{place}handoffs[{number}].name: {part.tool_name!r} is used twice"
            taken.add(part.tool_name)
            yield from part.target._find_problems(tools, f"{place}handoffs[{number}].target.")


class DefinitionCodec(Protocol):
    """Functions that convert between definitions and blueprints."""

    def create_blueprint(
        self, definition: AgentDefinition, model: str | None, responder: Responder | None, tools: Sequence[ToolLike]
    ) -> BlueprintLike[BaseRunnable[object]]:
        """Return the blueprint of the agent that a definition describes."""
        ...

    def create_definition(self, blueprint: BlueprintLike, tools: Sequence[ToolLike]) -> AgentDefinition:
        """Return the definition of the agent of a blueprint."""
        ...


DEFINITIONS: Final[Port[DefinitionCodec]] = Port("definitions")
"""The codec that `tactician.blueprint` binds; see `tactician.late_imports`."""


class _Reader:
    """Reader of agents that collects the settings that a definition cannot express."""

    def __init__(self) -> None:
        self._problems: list[str] = []

    def definition(self, agent: Agent[object]) -> AgentDefinition:
        """Return the definition of the agent and of its handoff targets."""
        definition = self._read(agent, ())
        if self._problems:
            raise DeclarationError(agent.name, self._problems)
        return definition

    def _read(self, agent: Agent[object], path: tuple[Agent[object], ...]) -> AgentDefinition:
        spec, guards = agent.spec, agent.spec.guards
        if guards.tool_input or guards.tool_output:
            self._problems.append(f"{agent.name}: a definition cannot name guardrails of tools")
        if spec.tool_groups:
            self._problems.append(f"{agent.name}: a definition cannot name tool groups")
        if spec.references or spec.contributors:
            self._problems.append(f"{agent.name}: a definition cannot name references and contributors")
        path = (*path, agent)
        return AgentDefinition(
            name=agent.name,
            instructions=agent.instructions,
            max_turns=spec.max_turns,
            temperature=_find_temperature(spec.model),
            tool_names=tuple(tool.name for tool in agent.tools if not isinstance(tool, Handoff)),
            input_guardrails=self._list_tool_names(agent, (*guards.input.immediate, *guards.input.concurrent)),
            output_guardrails=self._list_tool_names(agent, guards.output),
            handoffs=tuple(
                target for handoff in spec.handoffs if (target := self._read_handoff(agent, handoff, path)) is not None
            ),
            context_management=self._read_window(agent),
        )

    def _list_tool_names(self, agent: Agent[object], used: Iterable[AnyGuardrail]) -> tuple[str, ...]:
        names = [(guardrail.name, guardrail.registered) for guardrail in used]
        self._problems += [
            f"{agent.name}: the guardrail {name!r} is not registered; give it a name, as in "
            f'@guardrails.input_guardrail("{name}")'
            for name, registered in names
            if registered is None
        ]
        return tuple(registered for _, registered in names if registered is not None)

    def _read_handoff(
        self, agent: Agent[object], handoff: Handoff[object], path: tuple[Agent[object], ...]
    ) -> HandoffDefinition | None:
        target = handoff.target
        if not isinstance(target, Agent):
            self._problems.append(
                f"{agent.name}: {handoff.name} hands over to "
                f"{add_article(type(target).__name__)}, which is not an Agent"
            )
            return None
        if target in path:
            self._problems.append(f"{agent.name}: {handoff.name} goes in a circle, back to {target.name}")
            return None
        return HandoffDefinition(name=handoff.name, description=handoff.description, target=self._read(target, path))

    def _read_window(self, agent: Agent[object]) -> WindowDefinition | None:
        try:
            return None if agent.window is None else WindowDefinition.from_strategy(agent.window)
        except DeclarationError as error:
            self._problems += [f"{agent.name}: {error.subject}: {problem}" for problem in error.problems]
            return None


def _find_temperature(model: str | LlmOptions | LanguageModel | None) -> float | None:
    if isinstance(model, ModelWithTemperature):
        return model.temperature
    return model.temperature if isinstance(model, LlmOptions) else None


def _suggest_names(name: str, tool_names: Iterable[str]) -> str:
    names = list(tool_names)
    return f"{did_you_mean(name, names)} Tools: {', '.join(names) or 'none'}."
