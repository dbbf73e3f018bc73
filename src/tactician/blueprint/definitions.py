"""Conversion between agent definitions and blueprints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic.alias_generators import to_camel

from tactician.agents import AgentDefinition
from tactician.agents.blueprint_port import BlueprintLike
from tactician.agents.definition import HandoffDefinition
from tactician.agents.window_definition import WindowDefinition
from tactician.blueprint.abilities import GuardrailPart
from tactician.blueprint.agents import PLAIN, AgentBlueprint
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.models import ResponderPart, export_responder
from tactician.blueprint.references import BlueprintRef
from tactician.blueprint.schema_base import Part, Pending
from tactician.blueprint.tool_lists import export_tools
from tactician.blueprint.turn_settings import SlidingPart, SummarizationPart, WindowPart
from tactician.documents.problems import Problems
from tactician.errors import BlueprintError, Problem
from tactician.llm import Responder
from tactician.tools import as_tool
from tactician.tools.toolbox import Toolbox, ToolLike

P = TypeVar("P", bound=Part)
_VARIABLES = "a definition cannot contain variables: write their values"
_UNSAID = (
    *("tool_input_guardrails", "tool_output_guardrails", "agent_tools", "built_in_tools", "tool_groups", "autonomy"),
    *("references", "contributors"),
    *(name for name in PLAIN if name not in ("id", "description", "max_turns", "parallel_tools")),
)


def create_blueprint(
    definition: AgentDefinition, model: str | None, responder: Responder | None, tools: Sequence[ToolLike]
) -> AgentBlueprint:
    """Return the blueprint of the agent that a definition describes, with its handoff targets.

    Raises:
        DeclarationError: with every tool and every guardrail that does not exist.
        BlueprintError: with every tool that no import would find.
    """
    blueprint = definition.build(model=model, tools=tools).to_blueprint(strict=True)
    assert isinstance(blueprint, AgentBlueprint)
    return blueprint if responder is None else _with_responder(blueprint, export_responder(responder))


def create_definition(blueprint: BlueprintLike, tools: Sequence[ToolLike]) -> AgentDefinition:
    """Return the definition of the agent of a blueprint, without its model and output type.

    Raises:
        BlueprintError: with everything that a definition cannot express.
    """
    if not isinstance(blueprint, AgentBlueprint):
        raise BlueprintError(f"{blueprint.label} has no definition", [Problem("", "only agents have a definition")])
    reader = _Reader({name: tool.name for tool in map(as_tool, tools) for name in _list_paths(tool)})
    definition = reader.definition(blueprint, ())
    reader.problems.check(f"{blueprint.name} has no definition", BlueprintError)
    return definition


def _with_responder(blueprint: AgentBlueprint, responder: ResponderPart) -> AgentBlueprint:
    handoffs = tuple(
        handoff.model_copy(update={"target": _with_responder(handoff.target, responder)})
        for handoff in blueprint.handoffs
        if isinstance(handoff.target, AgentBlueprint)
    )
    return blueprint.model_copy(update={"responder": responder, "handoffs": handoffs})


def _list_paths(tool: ToolLike) -> Iterable[str]:
    return export_tools(Toolbox([tool]), Exporter()).names


class _Reader:
    """Reader of blueprints that collects the settings that a definition cannot express."""

    def __init__(self, tools: Mapping[str, str]) -> None:
        self.problems = Problems()
        self._tools = tools

    def definition(self, blueprint: AgentBlueprint, path: tuple[str | int, ...]) -> AgentDefinition:
        """Return the definition of the agent and of its handoff targets."""
        context, text = blueprint.context_management, self._text(blueprint.instructions, (*path, "instructions"))
        for field in _UNSAID:
            if getattr(blueprint, field):
                self._problem(path, to_camel(field), "a definition cannot say that")
        definition, about = self._replace_pending(blueprint, path), (*path, "contextManagement")
        return AgentDefinition(
            name=self._text(blueprint.name, (*path, "name")),
            instructions=text,
            max_turns=definition.max_turns,
            temperature=definition.temperature,
            tool_names=self._tool_names(blueprint.tool_class_names, path),
            input_guardrails=self._guardrails(blueprint.input_guardrails, (*path, "inputGuardrails")),
            output_guardrails=self._guardrails(blueprint.output_guardrails, (*path, "outputGuardrails")),
            handoffs=self._handoffs(blueprint, path),
            context_management=None if context is None else self._context(self._replace_pending(context, about), path),
        )

    def _text(self, value: object, path: tuple[str | int, ...]) -> str:
        if not isinstance(value, str):
            self._problem(path, "", "a definition has them in itself, not in a file or a provider")
            return ""
        parts = value.split("$${")
        if any("${" in part for part in parts):
            self._problem(path, "", _VARIABLES)
        return "${".join(parts)

    def _replace_pending(self, part: P, path: tuple[str | int, ...]) -> P:
        """Return the part with placeholders for variables that are not texts."""
        pending = [name for name, value in part if isinstance(value, Pending)]
        for name in pending:
            self._problem(path, to_camel(name), _VARIABLES)
        return part.model_copy(update=dict.fromkeys(pending, 1)) if pending else part

    def _handoffs(self, blueprint: AgentBlueprint, path: tuple[str | int, ...]) -> tuple[HandoffDefinition, ...]:
        definitions: list[HandoffDefinition] = []
        for place, handoff in enumerate(blueprint.handoffs):
            target_path = (*path, "handoffs", place, "target")
            if not isinstance(handoff.target, AgentBlueprint):
                what = (
                    "build it, and take its blueprint whole"
                    if isinstance(handoff.target, BlueprintRef)
                    else "agents only"
                )
                self._problem(target_path, "", f"a definition hands over to agents that it holds: {what}")
                continue
            target = self.definition(handoff.target, target_path)
            definitions.append(HandoffDefinition(name=handoff.name, description=handoff.description, target=target))
        return tuple(definitions)

    def _tool_names(self, names: Sequence[str], path: tuple[str | int, ...]) -> tuple[str, ...]:
        for place, name in enumerate(names):
            if name not in self._tools:
                self._problem((*path, "toolClassNames"), place, f"{name} is not among the tools that are available")
        return tuple(self._tools[name] for name in names if name in self._tools)

    def _guardrails(self, parts: Sequence[GuardrailPart], path: tuple[str | int, ...]) -> tuple[str, ...]:
        for place, part in enumerate(parts):
            if part.registry_id is None:
                self._problem(path, place, "a definition can name registered guardrails only")
        return tuple(part.registry_id for part in parts if part.registry_id is not None)

    def _context(self, part: WindowPart, path: tuple[str | int, ...]) -> WindowDefinition | None:
        if isinstance(part, SlidingPart):
            preserve = part.preserve_developer_messages
            return WindowDefinition(
                strategy_type="sliding", max_tokens=part.max_tokens, preserve_developer_messages=preserve
            )
        if isinstance(part, SummarizationPart):
            return WindowDefinition(
                strategy_type="summarization",
                max_tokens=part.max_tokens,
                keep_recent_messages=part.keep_recent_messages,
                summarization_prompt=part.summarization_prompt,
            )
        self._problem(path, "contextManagement", "a definition can say sliding and summarization only")
        return None

    def _problem(self, path: tuple[str | int, ...], step: str | int, message: str) -> None:
        self.problems.add(message, *path, *((step,) if step != "" else ()))
