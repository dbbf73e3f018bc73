"""The JSON Schema of blueprints says what the reader of blueprints takes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given

from tactician import Blueprint
from tactician.blueprint import blueprint_type, json_schema
from tactician.blueprint.blueprint import KINDS, Node
from tactician.errors import BlueprintError, DeclarationError, Problem
from tests.blueprint.constellations import AnyRunnable, constellations
from tests.blueprint.test_examples import EXAMPLES, ROUTER, YAML, agent
from tests.blueprint.test_round_trip import LIMITS, Json, mutated
from tests.cli.support import tactician
from tests.support.effort import examples

PUBLISHED = Path(__file__).parent.parent.parent / "docs" / "blueprint.schema.json"
SCHEMA: Mapping[str, Any] = json.loads(PUBLISHED.read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_published_file_is_what_the_command_prints() -> None:
    done = tactician("blueprint", "schema")
    assert (done.code, done.err) == (0, "")
    assert done.out == PUBLISHED.read_text("utf-8"), "run: tactician blueprint schema > docs/blueprint.schema.json"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["$id"]


@pytest.mark.parametrize("data", EXAMPLES.values(), ids=list(EXAMPLES))
def test_every_example_is_valid(data: dict[str, object]) -> None:
    VALIDATOR.validate(data)


def test_yaml_is_valid_too() -> None:
    VALIDATOR.validate(yaml.safe_load(YAML))


@pytest.mark.parametrize(
    "data",
    [
        {"type": "agent", "name": "Mini", "model": "m", "instructions": "i", "maxTurns": 1},
        agent("Null", temperature=None, handoffs=None, contextManagement=None, responder=None),
        agent("Null", responder={"provider": "OPENAI", "baseUrl": None}),
        agent("File", instructions={"source": "file", "path": "a.md"}),
        agent(
            "Provider", instructions={"source": "provider", "providerId": "p", "promptId": "q", "filters": {"a": "b"}}
        ),
        agent("Traced", traceMetadata={"traceId": "1", "something": "else"}),
        {"$ref": "other.yaml"},
        {"$schema": "blueprint.schema.json", "$ref": "other.yaml"},
        {"type": "planned", "className": "acme.Teller", "arguments": {"count": 3}},
        {"type": "function", "functionName": "acme.upwards"},
    ],
)
def test_other_ways_to_say_it_are_valid(data: object) -> None:
    VALIDATOR.validate(data)
    Blueprint.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (agent("Mini", modl="m"), []),
        (agent("Mini", maxTurns="5"), ["maxTurns"]),
        (agent("Mini", maxTurns=0), ["maxTurns"]),
        (agent("Mini", temperature=3), ["temperature"]),
        (agent("Mini", model=None), ["model"]),
        (agent("Mini", instructions={"source": "web"}), ["instructions"]),
        (agent("Mini", responder={"provider": "OPENAI", "baseUrl": "https://acme.example"}), ["responder"]),
        (agent("Mini", responder={"apiKeyEnvVar": "KEY"}), ["responder"]),
        (agent("Mini", responder={"provider": "OPENAI", "apiKey": "sk-1"}), ["responder"]),
        (agent("Mini", inputGuardrails=[{}]), ["inputGuardrails", 0]),
        (agent("Mini", contextManagement={"strategyType": "sliding"}), ["contextManagement"]),
        (agent("Mini", type="agnt"), []),
        ({**ROUTER, "routes": []}, ["routes"]),
        ({**ROUTER, "routes": [{"description": "d", "target": {"type": "agent"}}]}, ["routes", 0, "target"]),
        ({"name": "no type"}, []),
        ([], []),
        ("agent", []),
    ],
)
def test_mistakes_are_not_valid(data: object, place: list[str | int]) -> None:
    with pytest.raises(BlueprintError):
        Blueprint.from_json(json.dumps(data))
    assert place in [list(error.absolute_path) for error in leaves(VALIDATOR.iter_errors(data))]


def leaves(errors: Iterator[jsonschema.ValidationError]) -> Iterator[jsonschema.ValidationError]:
    """The errors, and those of the alternatives in them."""
    for error in errors:
        yield error
        yield from leaves(iter(error.context or ()))


def test_each_type_needs_what_the_source_says() -> None:
    definitions: Mapping[str, Mapping[str, object]] = SCHEMA["$defs"]
    needed = {str(one["title"]): one["required"] for one in definitions.values() if "required" in one}

    assert needed["agent"] == ["type", "name", "model", "instructions", "maxTurns"]
    assert needed["router"] == ["type", "name", "model", "routes"]
    assert needed["supervisor"] == ["type", "name", "model", "instructions", "maxTurns", "workers"]
    assert needed["network"] == ["type", "name", "peers", "maxRounds"]
    assert needed["parallel"] == ["type", "name", "members"]
    assert needed["hierarchical"] == ["type", "executive", "departments", "maxTurns"]
    assert needed["Handoff"] == ["name", "description", "target"]
    assert needed["$ref"] == ["$ref"]


def test_every_definition_is_described_and_used() -> None:
    definitions: Mapping[str, Mapping[str, object]] = SCHEMA["$defs"]
    text = json.dumps(SCHEMA)

    assert [name for name, one in definitions.items() if one and not (one["title"] and one["description"])] == []
    assert [name for name in definitions if f'"#/$defs/{name}"' not in text] == []


@examples(15, *HealthCheck)
@given(constellations())
def test_the_blueprint_of_any_constellation_is_valid(runnable: AnyRunnable) -> None:
    VALIDATOR.validate(runnable.to_blueprint(strict=True).to_data())


@examples(400, *HealthCheck)
@given(mutated())
def test_it_says_the_same_as_the_reader(data: Json) -> None:
    """What is read is valid; what is valid is read, but for the texts that the schema does not look into."""
    wrong = find_problems(json.dumps(data))
    if not wrong:
        VALIDATOR.validate(without_nulls(data))
    elif VALIDATOR.is_valid(data):
        assert all(problem.path.endswith("utputType") for problem in wrong)


def find_problems(text: str) -> Sequence[Problem]:
    try:
        Blueprint.from_json(text, limits=LIMITS)
    except BlueprintError as error:
        return error.problems
    return ()


def without_nulls(data: Json) -> Json:
    """The data without the fields that say nothing: the reader does not care what they are called."""
    if isinstance(data, dict):
        return {name: without_nulls(value) for name, value in data.items() if value is not None}
    return [without_nulls(one) for one in data] if isinstance(data, list) else data


def test_a_registered_type_is_in_it() -> None:
    class Crew(Blueprint):
        """Several tasks."""

        type: Literal["test_crew"] = "test_crew"
        tasks: tuple[Node, ...]

    blueprint_type("test_crew")(Crew)
    try:
        validator = jsonschema.Draft202012Validator(json_schema())
    finally:
        del KINDS["test_crew"]
    member = agent("Mini")

    validator.validate({"type": "test_crew", "tasks": [member]})
    validator.validate({**ROUTER, "fallback": {"type": "test_crew", "tasks": []}})
    assert not validator.is_valid({"type": "test_crew", "tasks": [{**member, "model": 1}]})
    assert not validator.is_valid({"type": "test_crew"})
    assert not VALIDATOR.is_valid({"type": "test_crew", "tasks": [member]})


def test_a_type_belongs_to_a_single_class() -> None:
    class Router(Blueprint):
        """Another router."""

    with pytest.raises(DeclarationError, match=r"its type 'router' belongs to tactician\..*RouterBlueprint"):
        blueprint_type("router")(Router)

    assert VALIDATOR.is_valid(ROUTER)
    assert Blueprint.from_data(ROUTER).to_data()["type"] == "router"
