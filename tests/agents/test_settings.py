"""Each setting of an agent is declared once, and is in the constructor, its docstring, blueprints and their schema."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from tactician import Agent
from tactician.agents.spec import AgentSettings, AgentSpec
from tactician.amounts import Positive
from tactician.blueprint import Blueprint
from tactician.blueprint.agents import PLAIN, AgentBlueprint, AgentFields
from tactician.blueprint.models import OptionsPart, RetryPart, TracePart
from tactician.blueprint.schema import json_schema
from tactician.blueprint.schema_base import Part, convert_type
from tactician.blueprint.turn_settings import AutonomyPart
from tactician.config.model_settings import CircuitBreakerSettings, RetryPolicySettings, RetryRuleSettings
from tactician.data_fields import list_data_fields
from tactician.documents.forms import form_of
from tactician.errors import DeclarationError
from tactician.llm import CircuitBreakerPolicy, LlmOptions, ModelRetryPolicy, RetrySettings, TraceMetadata
from tactician.loop import Autonomous
from tactician.resilience.backoff import RetryRule

SETTINGS = tuple(AgentSettings.__annotations__)
ELSEWHERE = {"tools": "tool_class_names", "window": "context_management"}
"""Settings that have another name in blueprints."""
VALUES: dict[object, object] = {bool: True, float: 2.5, int: 7, str: "a text"}


def find_value(name: str) -> object:
    """Return a value of a setting that JSON has as it is, which is not its default."""
    declared = {field.name: repr(field.kind) for field in list_data_fields(AgentSettings)}[name]
    value = next(value for kind, value in VALUES.items() if getattr(kind, "__name__", "") in declared)
    return not getattr(AgentSpec, name) if isinstance(value, bool) else value


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_in_the_spec_and_in_the_docstring_of_the_agent(name: str) -> None:
    guards = {f"{place}_guardrails" for place in ("input", "output", "tool_input", "tool_output")}
    assert hasattr(AgentSpec, name) or name in guards
    assert re.search(rf"^        {name}: ", str(Agent.__doc__), re.MULTILINE)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_in_blueprints_and_in_the_schema_that_their_documentation_is_made_of(name: str) -> None:
    field = ELSEWHERE.get(name, name)
    assert field in AgentBlueprint.model_fields
    definitions: Any = json_schema()["$defs"]
    agent = next(each for each in definitions.values() if each.get("title") == "agent")
    assert to_camel(field) in agent["properties"]


@pytest.mark.parametrize("name", PLAIN)
def test_a_setting_that_json_has_as_it_is_comes_back_from_a_blueprint(name: str) -> None:
    settings: Any = {name: (value := find_value(name))}
    data = Agent("A", instructions="Help.", **settings).to_blueprint().to_data()
    assert data[to_camel(name)] == value
    built = Blueprint.from_json(json.dumps(data)).build()
    assert isinstance(built, Agent)
    assert getattr(built.spec, name) == value


@pytest.mark.parametrize("name", [field.name for field in list_data_fields(AgentSettings) if "Gt" in repr(field.kind)])
def test_a_limit_holds_in_blueprints_and_for_whole_numbers_in_code(name: str) -> None:
    settings: Any = {name: 0}
    data = {"type": "agent", "name": "A", "model": "m", "instructions": "", "maxTurns": 1, to_camel(name): 0}
    with pytest.raises(ValidationError):
        AgentBlueprint.model_validate(data)
    if "int" in repr({field.name: field.kind for field in list_data_fields(AgentSettings)}[name]):
        with pytest.raises(DeclarationError, match=f"{name} must be > 0, got: 0"):
            Agent("A", **settings)


def test_a_new_setting_is_in_the_blueprint_with_its_limit_without_further_code() -> None:
    class MoreSettings(AgentSettings, total=False):
        max_sighs: Positive | None

    @form_of(MoreSettings, only=(*PLAIN, "max_sighs"), convert=convert_type, is_optional=True)
    class MoreFields(Part):
        """Fields of an agent that sighs."""

    assert MoreFields.model_fields.keys() == {*PLAIN, "max_sighs"}
    sighing: Any = MoreFields.model_validate({"maxSighs": 3})
    assert sighing.max_sighs == 3
    with pytest.raises(ValidationError):
        MoreFields.model_validate({"maxSighs": 0})


@pytest.mark.parametrize(
    ("part", "kind", "spread"),
    [
        (OptionsPart, LlmOptions, {"model", "role", "temperature", "trace"}),
        (RetryPart, RetrySettings, set()),
        (TracePart, TraceMetadata, set()),
        (AutonomyPart, Autonomous, set()),
        (AgentFields, AgentSettings, {"tools", "window"}),
    ],
)
def test_no_field_of_a_class_is_missing_in_its_part(part: type[Part], kind: type, spread: set[str]) -> None:
    assert {field.name for field in list_data_fields(kind)} - spread <= part.model_fields.keys()


@pytest.mark.parametrize(
    ("table", "kind", "elsewhere"),
    [
        (RetryRuleSettings, RetryRule, set()),
        (RetryPolicySettings, ModelRetryPolicy, {"deadline", "first_timeout"}),
        (CircuitBreakerSettings, CircuitBreakerPolicy, set()),
    ],
)
def test_a_table_of_retries_has_the_fields_of_its_class(
    table: type[BaseModel], kind: type, elsewhere: set[str]
) -> None:
    assert set(table.model_fields) == {field.name for field in list_data_fields(kind)} - elsewhere
