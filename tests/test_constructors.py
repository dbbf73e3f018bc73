"""Constructors of public classes: a misspelt argument has a suggestion, whatever class it is."""

from __future__ import annotations

import ast
from enum import Enum
from importlib import import_module
from inspect import Parameter, isabstract, signature
from typing import Any

import pytest
from pydantic import BaseModel

from tactician import Agent, Ensemble, RouterAgent, SupervisorAgent, Task
from tactician.events import Event
from tactician.frozen import frozen
from tests.support.modules import HAS_EVALS
from tests.test_layers import modules as modules_of_the_package
from tests.test_public_api import PUBLIC

# Packages whose objects users seldom make, and classes whose objects they get.
INNER = ("llm", "loop", "planning", "process", "runs", "flow", "tools")
GIVEN = {
    *("AgentRegistry", "Broadcast", "ChatSession", "ComponentAgent", "ConversationStore", "Conversations"),
    *("DelegationContext", "DelegationDecision", "DelegationRequest", "DelegationResponse", "EnsembleResult"),
    *(
        "EvalContext",
        "EvalReport",
        "EventBus",
        "EventEmitter",
        "EventFeed",
        "FeedEntry",
        "FirstOf",
        "FunctionRunnable",
        "GoalTool",
        "GuardrailRegistry",
    ),
    *(
        "HeldLease",
        "Host",
        "InputGuardrails",
        "Masking",
        "McpPrompt",
        "McpReference",
        "Messages",
        "ModelMeter",
        "NestedEnsemble",
    ),
    *("OpenSpan", "RankedChunk", "RecordedEvent", "RepeatUntil", "RepeatUntilAcceptable", "Requests"),
    *("RetrievedChunks", "RunClient", "RunReader", "RunView", "RunnableTool", "ScatterGather", "ScopedMemory"),
    *("SimpleAgent", "Synthesis", "TaskOutputs", "Trace", "TypedRunnable", "UsePoint"),
}
# Classes that no package exports, and that other packages make.
OF_THE_HOUSE = {
    *(
        "A2aData",
        "AgentChoice",
        "Chain",
        "ChatReply",
        "CheckedInput",
        "CheckedOutput",
        "CheckedToolOutput",
        "ClientRoot",
    ),
    *("ConversationSummary", "Difference", "EntryScope", "FunctionContributor", "InputGuardrail", "LateKind", "Lease"),
    *("McpHealth", "McpResult", "ModelUse", "ModelWithTemperature", "ObjectContributor", "ObjectView", "Objection"),
    *("Outline", "OutputGuardrail", "PackagePath", "PhaseAttempt", "PhaseOutput", "PhaseReviewRecord", "Ranked"),
    *(
        "RemoteSettings",
        "RepositoryAddress",
        "ResolvedBlueprint",
        "RunComparison",
        "RunMoment",
        "ScriptPolicy",
        "Skill",
    ),
    *("SkillSource", "SpanFacts", "StepView", "StoredDocument", "StoredStep", "TextCounter", "ToolInputGuardrail"),
    *("ToolOutputGuardrail", "TraceNode", "TraceNote", "TracePause"),
}
OFTEN_MADE = {"Blackboard", "RunContext", "RunPart", "RunResult"}
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def find_constructors() -> dict[str, Any]:
    """Return the public classes that users make objects of, with arguments that have names."""
    inner = {f"tactician.{name}" for name in INNER}
    modules = [
        import_module(module) for module in sorted(PUBLIC.keys() - inner) if HAS_EVALS or module != "tactician.evals"
    ]
    exported = [getattr(module, name) for module in modules for name in module.__all__]
    found = [*exported, *find_classes(OF_THE_HOUSE)]
    return {f"{each.__module__}.{each.__name__}": each for each in found if is_made_by_users(each)}


def find_classes(names: set[str]) -> list[type]:
    """Return classes by their names, of which each is unique in the package (tests/test_layers.py)."""
    homes = {
        node.name: module
        for module, file in modules_of_the_package().items()
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name in names
    }
    assert homes.keys() == names
    return [getattr(import_module(module), name) for name, module in homes.items()]


def is_made_by_users(exported: object) -> bool:
    if not isinstance(exported, type) or not exported.__module__.startswith("tactician"):
        return False
    if issubclass(exported, BaseException | Event | BaseModel | Enum | dict | tuple):
        return False  # mistakes in these are told by pydantic and by Python, or nobody makes them
    if getattr(exported, "_is_protocol", False) or isabstract(exported) or exported.__name__ in GIVEN | OFTEN_MADE:
        return False
    is_quick = "__declared_defaults__" in vars(exported) and "_refuse" not in repr(vars(exported).get("__setattr__"))
    return not is_quick and bool(list_options(exported))


def list_options(kind: type) -> list[str]:
    parameters = signature(kind).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return []  # `tests/agents` and `tests/mcp_client` try these
    return [each.name for each in parameters if each.kind in NAMED and len(each.name) > 3]


CONSTRUCTORS = find_constructors()


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_misspelt_argument_has_a_suggestion(name: str) -> None:
    kind = CONSTRUCTORS[name]
    for option in list_options(kind):
        misspelt = f"{option[:-2]}{option[-1]}{option[-2]}x"
        with pytest.raises(TypeError, match=rf"^{kind.__name__}\(\) has no option '{misspelt}'\. Did you mean '\w+'\?"):
            kind(**{misspelt: 1})


def test_an_argument_that_resembles_nothing_lists_what_there_is() -> None:
    @frozen
    class Point:
        across: int
        down: int = 0

    with pytest.raises(TypeError, match=r"^Point\(\) has no option 'zzz'\. Its options are across, down\.$"):
        Point(1, zzz=2)  # type: ignore[call-arg]  # on purpose


@pytest.mark.parametrize(
    ("kind", "arguments", "taken", "rest"),
    [
        (RouterAgent, ("Desk", []), "'name'", "routes=..."),
        (SupervisorAgent, ("Lead", []), "'name'", "workers=..."),
        (Agent, ("Helper", "Be brief."), "'name'", "NAME=VALUE"),
        (Ensemble, ("News", Task("a"), Task("b")), "'name' and 'tasks'", "NAME=VALUE"),
    ],
)
def test_arguments_by_position_that_need_names(
    kind: type[object], arguments: tuple[object, ...], taken: str, rest: str
) -> None:
    with pytest.raises(TypeError) as raised:
        kind(*arguments)

    expected = f"{kind.__name__}() takes only {taken} by position. Write the rest with names: {rest}"
    assert str(raised.value) == expected


def test_a_type_error_inside_of_a_constructor_stays_as_it_is() -> None:
    @frozen
    class Doubled:
        number: int

        def __post_init__(self) -> None:
            len(self.number)  # type: ignore[arg-type]  # on purpose

    with pytest.raises(TypeError, match="has no len"):
        Doubled(number=1)
