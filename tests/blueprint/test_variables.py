"""`${NAME}` anywhere: what is put in must be what may stand there."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tactician import Blueprint
from tactician.agents import AgentDefinition
from tactician.blueprint.agents import AgentBlueprint
from tactician.errors import BlueprintError
from tests.blueprint.constellations import HOSTS, KEYS
from tests.blueprint.test_examples import agent
from tests.blueprint.test_mistakes import find_problems, refused, told
from tests.blueprint.test_schema import VALIDATOR

EVERYWHERE: Mapping[str, object] = {
    "maxTurns": "${TURNS:-4}",
    "temperature": "${TEMPERATURE}",
    "outputType": "list[${KIND}]",
    "parallelTools": "${PARALLEL}",
    "toolTimeout": "${SECONDS}",
    "responder": {
        "baseUrl": "https://${HOST}/v1",
        "apiKeyEnvVar": "ACME_KEY",
        "apiFormat": "${FORMAT}",
        "retryPolicy": {
            "maxRetries": "${RETRIES}",
            "multiplier": "${SECONDS}",
            "retryableStatusCodes": [500, "${CODE}"],
        },
    },
    "options": {"topP": "${TEMPERATURE}", "maxTokens": "${TOKENS}"},
    "autonomy": {"maxIterations": "${RETRIES}", "infinite": "${PARALLEL}", "minIterationInterval": "${SECONDS}"},
    "contextManagement": {"strategyType": "sliding", "maxTokens": "${TOKENS}"},
    "handoffs": [{"name": "to_${WHOM}", "description": "d", "target": agent("Other", maxTurns="${TURNS:-4}")}],
}
SAID = {
    **KEYS,
    "TEMPERATURE": "0.5",
    "KIND": "int",
    "PARALLEL": "false",
    "SECONDS": "2",
    "HOST": "acme.example",
    "FORMAT": "openai-chat",
    "RETRIES": "0",
    "CODE": "503",
    "TOKENS": "0700",  # by YAML 1.2 this is seven hundred
    "WHOM": "her",
}
FILLED: Mapping[str, object] = {
    "maxTurns": 4,
    "temperature": 0.5,
    "outputType": "list[int]",
    "parallelTools": False,
    "toolTimeout": 2,
    "responder": {
        "baseUrl": "https://acme.example/v1",
        "apiKeyEnvVar": "ACME_KEY",
        "apiFormat": "openai-chat",
        "retryPolicy": {
            "maxRetries": 0,
            "initialDelayMs": 1000,
            "maxDelayMs": 30_000,
            "multiplier": 2.0,
            "retryableStatusCodes": [500, 503],
        },
    },
    "options": {"topP": 0.5, "maxTokens": 700},
    "autonomy": {"maxIterations": 0, "infinite": False, "minIterationInterval": 2},
    "contextManagement": {"strategyType": "sliding", "maxTokens": 700},
    "handoffs": [{"name": "to_her", "description": "d", "target": agent("Other", maxTurns=4)}],
}


class TestEverywhere:
    def test_what_they_stand_for_is_read_as_in_yaml(self) -> None:
        data = (
            Blueprint.from_data(agent("Mini", **EVERYWHERE))
            .build(environment=SAID, hosts=HOSTS)
            .to_blueprint()
            .to_data()
        )

        assert data == Blueprint.from_data(agent("Mini", **FILLED)).to_data()

    def test_what_was_written_is_written_again(self) -> None:
        blueprint = Blueprint.from_data(agent("Mini", **EVERYWHERE))

        said = blueprint.to_data()
        whole = {name: value for name, value in EVERYWHERE.items() if not isinstance(value, dict | list)}
        assert {name: said[name] for name in whole} == whole
        assert "'maxTokens': '${TOKENS}'" in str(said["contextManagement"])
        assert Blueprint.from_json(blueprint.to_json()) == blueprint
        assert Blueprint.from_yaml(blueprint.to_yaml()) == blueprint
        assert "temperature: ${TEMPERATURE}\n" in blueprint.to_yaml()

    def test_in_constellations(self) -> None:
        members = [agent("A"), agent("B")]
        network = {"type": "network", "name": "N", "maxRounds": "${N}", "mode": "${MODE}", "concurrent": "${C}"}

        made = Blueprint.from_data({**network, "peers": members}).build(
            environment={**KEYS, "N": "3", "MODE": "broadcast", "C": "True"}
        )

        data = made.to_blueprint().to_data()
        assert (data["maxRounds"], data["mode"], data["concurrent"]) == (3, "broadcast", True)

    def test_in_other_files(self, tmp_path: Path) -> None:
        (tmp_path / "one.json").write_text(json.dumps(agent("One", maxTurns="${N}")))
        (tmp_path / "a.yaml").write_text("type: parallel\nname: P\nmembers:\n- $ref: one.json\n")
        blueprint = Blueprint.from_file(tmp_path / "a.yaml")

        assert told(blueprint, environment={**KEYS, "N": "7"}) == {}
        (problem,) = find_problems(blueprint, environment={**KEYS, "N": "many"})
        assert (problem.path, problem.message) == ("maxTurns", "Input should be a valid integer")
        assert str(problem.file).endswith("one.json")

    def test_nothing_is_as_if_it_were_not_said(self) -> None:
        blueprint = Blueprint.from_data(agent("Mini", temperature="${NONE:-}", maxTurns="${N:-}"))

        assert told(blueprint) == {"maxTurns": "Field required"}
        made = blueprint.build(environment={**KEYS, "N": "2"})
        assert "temperature" not in made.to_blueprint().to_data()

    def test_what_may_not_stand_there_is_told_with_its_place(self) -> None:
        text = Blueprint.from_data(agent("Mini", **EVERYWHERE)).to_yaml()
        wrong = {
            "TURNS": "0",
            "TEMPERATURE": "3",
            "KIND": "]",
            "PARALLEL": "yes",
            "SECONDS": "1e999",
            "FORMAT": "spoken",
            "RETRIES": "1.5",
            "CODE": "600",
            "TOKENS": "9" * 5_000,
            "WHOM": "her and him",
        }

        found = find_problems(Blueprint.from_yaml(text), environment={**SAID, **wrong})

        assert {one.path: one.message for one in found} == {
            "maxTurns": "Input should be greater than 0, got: 0",
            "temperature": "Input should be less than or equal to 2, got: 3",
            "outputType": "the name of a type is expected where ']' is",
            "parallelTools": "Input should be a valid boolean",
            "toolTimeout": "1e999 is too large a number",
            "responder.apiFormat": "Input should be 'openai-responses', 'openai-chat' or 'anthropic-messages'",
            "responder.retryPolicy.maxRetries": "Input should be a valid integer",
            "responder.retryPolicy.multiplier": "1e999 is too large a number",
            "responder.retryPolicy.retryableStatusCodes[1]": "Input should be less than or equal to 599, got: 600",
            "options.maxTokens": f"{'9' * 40} is too large a number",
            "autonomy.maxIterations": "Input should be a valid integer",
            "autonomy.infinite": "Input should be a valid boolean",
            "autonomy.minIterationInterval": "1e999 is too large a number",
            "contextManagement.maxTokens": f"{'9' * 40} is too large a number",
            "handoffs[0].name": "String should match pattern '^[A-Za-z0-9_-]{1,64}$'",
            "handoffs[0].target.maxTurns": "Input should be greater than 0, got: 0",
        }
        lines = ["", *text.splitlines()]
        assert [lines[one.line or 0].partition(":")[0] for one in found[:2]] == ["maxTurns", "temperature"]

    @pytest.mark.parametrize(
        ("value", "why"),
        [
            ("${NOT_SET}", "the environment variable NOT_SET is not set"),
            ("${ACME_KEY}", "${ACME_KEY} may be a secret; only apiKeyEnvVar may name one"),
            ("${AGAIN}", "Input should be a valid integer"),
        ],
    )
    def test_what_stands_for_nothing_is_told_once(self, value: str, why: str) -> None:
        blueprint = Blueprint.from_data(agent("Mini", maxTurns=value))

        assert told(blueprint, environment={**KEYS, "AGAIN": "${AGAIN}"}) == {"maxTurns": why}

    @pytest.mark.parametrize("value", ["$${N}", "${N} ", "${}", "${N}${N}", "5", "${N:-{}}"])
    def test_other_texts_are_no_numbers(self, value: str) -> None:
        (problem,) = refused(json.dumps(agent("Mini", maxTurns=value)))

        assert (problem.path, problem.message) == ("maxTurns", "Input should be a valid integer")
        assert not VALIDATOR.is_valid(agent("Mini", maxTurns=value))

    @pytest.mark.parametrize("name", ["$${N}", "$${N}x", "${", "${1}", "a b"])
    def test_other_texts_are_no_names(self, name: str) -> None:
        data = agent("Mini", handoffs=[{"name": name, "description": "d", "target": agent("Other")}])

        (problem,) = refused(json.dumps(data))

        assert problem.path == "handoffs[0].name"
        assert not VALIDATOR.is_valid(data)

    def test_the_schema_takes_them(self) -> None:
        VALIDATOR.validate(agent("Mini", **EVERYWHERE))

    def test_a_definition_names_no_variables(self) -> None:
        handoff = {"name": "to_her", "description": "d", "target": agent("Other", maxTurns="${N}")}
        context = {"strategyType": "sliding", "maxTokens": "${N}"}
        data = agent("Mini", temperature="${T}", contextManagement=context, handoffs=[handoff])
        blueprint = Blueprint.from_data(data)
        assert isinstance(blueprint, AgentBlueprint)

        with pytest.raises(BlueprintError) as caught:
            AgentDefinition.from_blueprint(blueprint)

        why = "a definition cannot contain variables: write their values"
        assert {one.path: one.message for one in caught.value.problems} == {
            "temperature": why,
            "contextManagement.maxTokens": why,
            "handoffs[0].target.maxTurns": why,
        }


def test_a_long_number_of_a_yaml_text() -> None:
    text = Blueprint.from_data(agent("Mini", maxTurns=5)).to_yaml()

    data = Blueprint.from_yaml(text.replace("maxTurns: 5", f"maxTurns: {'9' * 400}")).to_data()

    assert data["maxTurns"] == int("9" * 400)


class TestBounds:
    def test_what_variables_stand_for_is_bounded_together(self) -> None:
        data = agent("Mini", instructions="${LONG}" * 30, description="${LONG}")

        found = told(Blueprint.from_data(data), environment={**KEYS, "LONG": "x" * 100_000})

        assert found["instructions"] == "with it, the variables have more than 2,000,000 characters"

    @pytest.mark.parametrize(
        "text", ["${A:-" * 100_000, "${A:-b}" * 200_000, "$${" * 500_000], ids=["open", "many", "plain"]
    )
    def test_a_large_text_takes_no_time(self, text: str) -> None:
        began = time.process_time()
        find_problems(Blueprint.from_data(agent("Mini", instructions=text)))
        assert time.process_time() - began < 20  # what is quadratic takes an hour

    def test_a_hundred_mistakes_are_told(self) -> None:
        data = agent("Mini", instructions=" ".join(f"${{NOT_{number}}}" for number in range(150)))

        with pytest.raises(BlueprintError, match="and 50 more") as caught:
            Blueprint.from_data(data).build(environment=KEYS)

        assert (len(caught.value.problems), caught.value.left_out) == (100, 50)
