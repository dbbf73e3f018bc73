"""Specification of an agent: the settings, their defaults and their validation, once.

A new setting is a key of `AgentSettings`, with its limits, and a field with its default of `AgentSpec` (or of
`TurnPolicy`, where the turn loop reads it). Blueprints, their JSON Schema and the checks of values follow from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, Self, TypeAlias, TypedDict, cast

from typing_extensions import TypeForm, TypeVar, Unpack

from tactician.agents.setting_kinds import find_wrong_kinds
from tactician.amounts import Positive, Seconds, Text
from tactician.conversation import WindowStrategy
from tactician.errors import DeclarationError
from tactician.guardrails.callables import GuardrailLike
from tactician.llm import ModelLike
from tactician.loop import Autonomous, Handoff, handoff
from tactician.loop.policy import Guards, TurnPolicy
from tactician.loop.turns import NO_TOOLS
from tactician.prompts import LlmReference, PromptContributor
from tactician.prompts.contributor_adapters import ContributorLike, as_contributor, check_reference, split_references
from tactician.prompts.sources import InstructionSource
from tactician.runs import Runnable
from tactician.suggestions import did_you_mean
from tactician.tools import ToolGroup
from tactician.tools.toolbox import Toolbox, ToolLike

if TYPE_CHECKING:
    from tactician.planning.rules import Rule

    Rules: TypeAlias = Sequence[Rule]
else:
    Rules = Sequence[object]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=str)


class AgentSettings(TypedDict, total=False):
    """Keyword arguments of `Agent` besides its name and its output type, with the limits of their values."""

    model: ModelLike | None
    instructions: str | InstructionSource
    tools: Sequence[ToolLike | LlmReference]
    tool_groups: str | Sequence[str | ToolGroup]
    references: Sequence[LlmReference]
    contributors: Sequence[ContributorLike]
    handoffs: Sequence[Handoff[object] | Runnable]
    description: str | None
    id: Text | None
    role: Text | None
    goal: Text | None
    background: Text | None
    input_guardrails: Sequence[GuardrailLike]
    output_guardrails: Sequence[GuardrailLike]
    tool_input_guardrails: Sequence[GuardrailLike]
    tool_output_guardrails: Sequence[GuardrailLike]
    window: WindowStrategy | None
    autonomy: Autonomous | None
    rules: Rules
    max_turns: Positive
    max_attempts: Positive | None
    max_tool_calls: Positive | None
    max_tool_output_tokens: Positive | None
    max_tool_output_chars: Positive | None
    parallel_tools: bool
    tool_timeout: Seconds | None
    allow_delegation: bool


_GUARDRAILS: Final = ("input_guardrails", "output_guardrails", "tool_input_guardrails", "tool_output_guardrails")
_PARTS: Final = ("role", "goal", "background")
_KNOWN: Final = AgentSettings.__annotations__.keys()
_SYNONYMS: Final = {
    "backstory": "background",
    "guardrails": "output_guardrails",
    "llm": "model",
    "max_iterations": "max_turns",
    "max_steps": "max_turns",
    "output": "output_type",
    "prompt": "instructions",
    "result_type": "output_type",
    "system": "instructions",
    "system_message": "instructions",
    "system_prompt": "instructions",
    "toolkits": "tool_groups",
    "toolsets": "tool_groups",
}
"""Names of settings in other frameworks, with their names in Tactician."""


@dataclass(frozen=True, kw_only=True, init=False)
class AgentSpec(TurnPolicy, Generic[T_co]):
    """All settings of an agent. The turn loop reads the part that is its `TurnPolicy`.

    Attributes:
        name: the name of the agent; its role when there is no name.
        output_type: the type of its answer; text, when `None`.
        id: the id for services; the name as `snake_case` by default.
        description: the purpose; by default the goal, the instructions or the name.
        model: the default model of the run's context, when `None`.
        instructions: a text, or its source; see `prompt` for the text with role, goal and background.
        tools: the tools of its own, without handoffs.
        tool_groups: tool groups, or their names.
        references: knowledge with tools of its own.
        contributors: further parts of its instructions.
        handoffs: the targets to which the agent may hand the conversation over.
        role: the first part of the instructions, as are `goal` and `background`.
        allow_delegation: true when it may delegate to the other agents of an ensemble.
    """

    name: str
    output_type: TypeForm[T_co] | None = None
    id: str | None = None
    description: str = ""
    model: ModelLike | None = None
    instructions: str | InstructionSource = ""
    tools: Toolbox = NO_TOOLS
    tool_groups: tuple[str | ToolGroup, ...] = ()
    references: tuple[LlmReference, ...] = ()
    contributors: tuple[PromptContributor, ...] = ()
    handoffs: tuple[Handoff[object], ...] = ()
    role: str | None = None
    goal: str | None = None
    background: str | None = None
    allow_delegation: bool = False

    def __init__(
        self, name: str | None, output_type: TypeForm[T_co] | None = None, **settings: Unpack[AgentSettings]
    ) -> None:
        role, goal = settings.get("role"), settings.get("goal")
        if not (label := name or role):
            raise DeclarationError("Agent", ["it needs a name or a role"])
        if settings.get("model") is None:
            _refuse_model_as_name(label)
        if blank := [part for part in _PARTS if (text := settings.get(part)) is not None and not str(text).strip()]:
            raise DeclarationError(label, [f"its {part} is blank: write it, or leave it out" for part in blank])
        # Missing fields keep the defaults of the class: a frozen dataclass takes 0.2 us to set each field.
        self.__dict__.update(name=label, output_type=output_type)
        self._set(settings)
        if self.source is not None and (role or goal or self.background):
            raise DeclarationError(label, ["instructions from a source cannot be combined with a role"])
        self.__dict__["description"] = settings.get("description") or self.default_description

    def with_settings(self, *, name: str | None = None, **settings: Unpack[AgentSettings]) -> Self:
        """Return a copy with other settings."""
        changed = copy(self)
        changed.__dict__.pop("prompt", None)
        if name is not None:
            changed.__dict__["name"] = name
        changed._set(settings)
        return changed

    def with_defaults(self, output_type: TypeForm[T] | None, **settings: Unpack[AgentSettings]) -> AgentSpec[T]:
        """Return a copy with an output type and other settings where this spec leaves them open."""
        values = self.__dict__
        open_settings = {name: value for name, value in settings.items() if values.get(name) is None}
        changed = cast("AgentSpec[T]", self.with_settings(**cast("AgentSettings", open_settings)))
        if values["output_type"] is None:
            changed.__dict__["output_type"] = output_type
        return changed

    @property
    def default_description(self) -> str:
        """The description by default: the goal, the instructions or the name."""
        own_text = self.instructions if isinstance(self.instructions, str) else self.instructions.text
        return self.goal or own_text or self.name

    @property
    def own_description(self) -> str:
        """The description, unless it is the default."""
        return "" if self.description == self.default_description else self.description

    @property
    def source(self) -> InstructionSource | None:
        """The source of the instructions, unless they are a text."""
        return None if isinstance(self.instructions, str) else self.instructions

    @cached_property
    def prompt(self) -> str:
        """The instructions as a text: role, background and goal first. Empty while a source has not been read."""
        lines = (
            self.role and f"You are {self.role}.",
            self.background,
            self.goal and f"Your personal goal is: {self.goal}",
            self.instructions if isinstance(self.instructions, str) else self.instructions.text,
        )
        return "\n".join(filter(None, lines))

    def _set(self, settings: AgentSettings) -> None:
        """Store settings, converted to the types of the fields.

        Raises:
            TypeError: when there is no such setting.
            DeclarationError: when a tool or a guardrail is not declared correctly.
        """
        if not settings.keys() <= _KNOWN:
            name = min(settings.keys() - _KNOWN)
            hint = f" Did you mean {_SYNONYMS[name]!r}?" if name in _SYNONYMS else did_you_mean(name, _KNOWN)
            raise TypeError(f"an agent has no setting {name!r}.{hint}")
        if settings and (wrong := find_wrong_kinds(cast("dict[str, object]", settings), AgentSettings)):
            raise DeclarationError(self.name, wrong)
        fields = self.__dict__
        fields.update(settings)
        self._set_knowledge(settings)
        if handoffs := settings.get("handoffs"):
            fields["handoffs"] = tuple(_as_handoff(handoff, self.name) for handoff in handoffs)
        if rules := settings.get("rules"):
            fields["rules"] = _check_rules(rules, self.name)
        if groups := settings.get("tool_groups"):
            fields["tool_groups"] = (groups,) if isinstance(groups, str) else tuple(groups)
        if (autonomy := settings.get("autonomy")) is not None and not isinstance(autonomy, Autonomous):
            problem = "it must be Autonomous(...), the policy of an agent that works on its own"
            raise DeclarationError(self.name, [f"autonomy is {type(autonomy).__name__}: {problem}"])
        if not settings.keys().isdisjoint(_GUARDRAILS):
            fields["guards"] = Guards.of(*(fields.pop(name, ()) for name in _GUARDRAILS))

    def _set_knowledge(self, settings: AgentSettings) -> None:
        """Store tools, references and contributors; a reference among the tools is a reference."""
        fields = self.__dict__
        if "tools" in settings:
            tools, references = split_references(settings["tools"] or ())
            fields["tools"] = Toolbox(tools) if tools else NO_TOOLS
            if references:
                fields["references"] = (*settings.get("references", ()), *references)
        if self.references:
            fields["references"] = tuple(map(check_reference, self.references))
        if "contributors" in settings:
            fields["contributors"] = tuple(map(as_contributor, settings["contributors"]))


def _refuse_model_as_name(label: str) -> None:
    """Refuse the name of a model in the place of an agent's name: in other frameworks the model comes first.

    Raises:
        DeclarationError: when the name is a model's, such as `"openai:gpt-5"`.
    """
    provider, separator, _ = label.partition(":") if ":" in label else label.partition("/")
    if not separator:
        return
    from tactician.llm.providers import PROVIDERS  # most programs that script their models never load the providers

    if provider in PROVIDERS:
        problem = f'{label!r} is a model, not a name. Write Agent("Helper", model={label!r})'
        raise DeclarationError("Agent", [problem])


def _check_rules(rules: Sequence[object], agent: str) -> tuple[Rule, ...]:
    from tactician.planning.rules import Rule

    checked = tuple(rule for rule in rules if isinstance(rule, Rule) and rule.penalty is None)
    if len(checked) < len(rules):
        problem = f"its rules are {list(rules)!r}: write rules of tactician.planning.rules, without a penalty"
        raise DeclarationError(agent, [problem])
    return checked


def _as_handoff(target: object, agent: str) -> Handoff[object]:
    if isinstance(target, Handoff):
        return target
    if isinstance(target, Runnable):
        return handoff(target)
    problem = f"handoffs has {target!r}, which is not an agent: pass the agent itself, or handoff(agent)"
    raise DeclarationError(agent, [problem])
