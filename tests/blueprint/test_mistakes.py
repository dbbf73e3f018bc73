"""What is wrong with a blueprint is said all at once, with its places; nothing that it says is trusted."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest

from tactician import Agent, Blueprint
from tactician.blueprint import Limits
from tactician.blueprint.origin import DEFAULT_LIMITS
from tactician.errors import BlueprintError, Problem
from tests.blueprint.constellations import ALLOW, HOSTS, KEYS
from tests.blueprint.test_examples import ROUTER, agent


def find_problems(
    blueprint: Blueprint, environment: Mapping[str, str] = KEYS, limits: Limits = DEFAULT_LIMITS
) -> Sequence[Problem]:
    return blueprint.problems(allow=ALLOW, environment=environment, hosts=HOSTS, limits=limits)


def told(
    blueprint: Blueprint, environment: Mapping[str, str] = KEYS, limits: Limits = DEFAULT_LIMITS
) -> dict[str, str]:
    return {one.path: one.message for one in find_problems(blueprint, environment, limits)}


def refused(text: str, kind: Literal["json", "yaml"] = "json") -> Sequence[Problem]:
    with pytest.raises(BlueprintError) as caught:
        Blueprint.from_yaml(text) if kind == "yaml" else Blueprint.from_json(text)
    return caught.value.problems


class TestStructure:
    def test_every_mistake_is_in_one_error(self) -> None:
        data = agent(
            "Mini",
            maxTurns="5",
            temperature=3,
            instruction="x",
            maxturn=3,
            tools=[],
            responder={"provider": "OPENAI", "baseUrl": "https://acme.example"},
            handoffs=[{"name": "to you", "description": "d", "target": {"type": "agnt"}}],
            inputGuardrails=[{}],
            contextManagement={"strategyType": "slidng", "maxTokens": 5},
        )
        del data["model"]

        found = {one.path: one.message for one in refused(json.dumps(data))}

        assert found == {
            "model": "Field required",
            "maxTurns": "Input should be a valid integer",
            "temperature": "Input should be less than or equal to 2, got: 3",
            "responder": "not provider and baseUrl",
            "handoffs[0].name": "String should match pattern '^[A-Za-z0-9_-]{1,64}$'",
            "handoffs[0].target": "a blueprint cannot have the type 'agnt'; did you mean 'agent'?",
            "inputGuardrails[0]": "say registryId or className",
            "contextManagement": "contextManagement cannot have the strategyType 'slidng'; did you mean 'sliding'?",
            "instruction": "there is no such field; did you mean 'instructions'?",
            "maxturn": "there is no such field; did you mean 'maxTurns'?",
            "tools": "there is no such field",
        }

    def test_lines_of_yaml(self) -> None:
        text = "type: agent\nname: x\nmodel: m\ninstructions: i\nhandoffs:\n  - name: foo\n    description: x\n"
        text += (
            "    target:\n      type: agent\n      nam: foo\n      model: m\n      instructions: i\n      maxTurns: 0\n"
        )

        assert [(one.line, one.path) for one in refused(text, "yaml")] == [
            (1, "maxTurns"),
            (8, "handoffs[0].target.name"),
            (13, "handoffs[0].target.maxTurns"),
            (10, "handoffs[0].target.nam"),
        ]

    def test_lines_of_json(self) -> None:
        text = json.dumps(agent("Mini", maxTurns=0), indent=2)

        (problem,) = refused(text)

        assert text.splitlines()[problem.line - 1 if problem.line else 0].strip() == '"maxTurns": 0,'

    def test_the_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text("type: agent\nname: x\n")

        with pytest.raises(
            BlueprintError, match=r"The blueprint .*a\.yaml is wrong:\n  - line 1: model: Field required"
        ):
            Blueprint.from_file(tmp_path / "a.yaml")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("{", "it is not JSON"),
            ("[1]", ""),
            ("null", ""),
            ('{"a": 1, "a": 2}', "'a' appears twice"),
            ('{"a": NaN}', "NaN is not a number"),
            ("[" * 100_000, "nested more than"),
            ('{"type": 5}', "cannot have the type"),
            ("{}", "needs the field 'type'"),
            ('{"type": "agent", "name": "' + "x" * 3_000_000, "characters"),
            ("[" + "1," * 300_000 + "1]", "more than 200,000 values"),
            ('{"a": ' + "9" * 5_000 + "}", "it is not JSON"),
            ('{"type": "agent", "name": "\\ud800"}', "name"),
        ],
    )
    def test_texts_that_are_no_blueprint(self, text: str, why: str) -> None:
        assert why in " ".join(map(str, refused(text)))

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("a: [", "it is not YAML"),
            ("[" * 100_000, "nested more than 128 deep"),
            ("- " * 100_000, "nested more than 128 deep"),
            ("a: 1\na: 2", "'a' appears twice"),
            ("a: !!python/object/apply:os.system [ls]", "means nothing here"),
            ("!evil\na: 1", "means nothing here"),
            ("a: !!python/name:os.system x", "means nothing here"),
            ("a: !foo 1", "means nothing here"),
            ("a: &x [*x]", "repeats what is not there"),
            ("a: *x", "repeats what is not there"),
            ("? [a]\n: b", "a name is a plain text"),
            ("<<: {a: 1}", "a name is a plain text"),
            ("a: 1\n---\nb: 2", "second document"),
            ("a: 1e999", "too large a number"),
            ("a: \x00", "it is not YAML"),
            ("", "blueprint"),
        ],
    )
    def test_yaml_that_is_no_blueprint(self, text: str, why: str) -> None:
        assert why in " ".join(map(str, refused(text, "yaml")))

    def test_what_repeats_itself_does_not_grow(self) -> None:
        bomb = "a0: &a0 [x,x,x,x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))

        assert "more than 200,000 values" in str(refused(bomb, "yaml")[0])

    @pytest.mark.parametrize("name", ["a.txt", "a", "missing.json", ".", "a\0.json"])
    def test_files_that_are_no_blueprint(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(BlueprintError):
            Blueprint.from_file(tmp_path / name)

    def test_nobody_waits_for_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.json")

        with pytest.raises(BlueprintError, match="it is not a file"):
            Blueprint.from_file(tmp_path / "pipe.json")

    def test_a_file_that_is_not_utf8(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_bytes(b"\xff\xfe\x00")

        with pytest.raises(BlueprintError, match="not UTF-8"):
            Blueprint.from_file(tmp_path / "a.json")


class TestBuilding:
    def test_every_mistake_is_in_one_error(self) -> None:
        data = agent(
            "Mini ${HOMELESS}",
            toolClassNames=["tests.blueprint.acme.look_op", "os.system", "tests.blueprint.acme.NeedsAddress"],
            inputGuardrails=[{"registryId": "acme_shrt"}],
            outputGuardrails=[{"className": "tests.blueprint.acme.Order"}],
            outputType="tests.blueprint.acme.Ordre",
            responder={"provider": "OPEN_ROTER"},
            instructions={"source": "provider", "providerId": "nobody", "promptId": "p"},
            handoffs=[
                {
                    "name": "x",
                    "description": "d",
                    "target": agent("T", instructions={"source": "file", "path": "no.txt"}),
                }
            ],
            contextManagement={"strategyType": "sliding", "maxTokens": 5, "tokenCounterClassName": "acme.Counter"},
        )

        found = told(Blueprint.from_data(data))

        assert found.keys() == {
            "name",
            "toolClassNames[0]",
            "toolClassNames[1]",
            "toolClassNames[2]",
            "inputGuardrails[0]",
            "outputGuardrails[0]",
            "outputType",
            "responder.provider",
            "instructions",
            "handoffs[0].target.instructions",
            "contextManagement.tokenCounterClassName",
        }
        assert "Did you mean 'tests.blueprint.acme.look_up'?" in found["toolClassNames[0]"]
        assert "address" in found["toolClassNames[2]"]
        assert "Did you mean 'acme_short'?" in found["inputGuardrails[0]"]
        assert "OPEN_ROUTER" in found["responder.provider"]
        assert "the environment variable HOMELESS is not set" in found["name"]

    def test_a_key_that_is_not_there(self) -> None:
        found = told(Blueprint.from_data(ROUTER), environment={})

        assert found.keys() == {
            "responder.apiKeyEnvVar",
            "routes[0].target.responder.apiKeyEnvVar",
            "routes[1].target.responder.apiKeyEnvVar",
            "fallback.responder.apiKeyEnvVar",
        }
        assert all("OPENROUTER_API_KEY" in message for message in found.values())

    def test_no_error_holds_a_key(self) -> None:
        data = agent("${OPENROUTER_API_KEY}", responder={"provider": "OPEN_ROUTER", "apiKeyEnvVar": "key-one"})

        with pytest.raises(BlueprintError) as caught:
            Blueprint.from_data(data).build(environment=KEYS)

        assert "may be a secret" in str(caught.value)
        assert "key-two" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("tests.blueprint.acme.Stars", "has no JSON schema"),
            ("list[tests.blueprint.acme.Stars]", "has no JSON schema"),
            ("tests.blueprint.acme.look_up", "is not a class"),
            ("dict[...]", "has no JSON schema"),
            ("...", "has no JSON schema"),
            ("int[str]", "subscriptable"),
        ],
    )
    def test_types_that_no_answer_has(self, name: str, why: str) -> None:
        assert why in told(Blueprint.from_data(agent("Mini", outputType=name)))["outputType"]

    def test_tools_of_one_name(self) -> None:
        names = ["tests.blueprint.acme.look_up", "tests.blueprint.acme.look_up"]

        assert told(Blueprint.from_data(agent("Mini", toolClassNames=names))) == {"": "'look_up' is used twice"}

    def test_two_of_one_description(self) -> None:
        routes = [{"description": "same", "target": agent("A")}, {"description": "same", "target": agent("B")}]

        assert told(Blueprint.from_data({**ROUTER, "routes": routes})) == {
            "routes[1].description": "'same' describes two routes"
        }

    def test_only_an_agent_leads(self) -> None:
        department = {"manager": agent("M"), "workers": [agent("W")]}
        data = {"type": "hierarchical", "maxTurns": 3, "executive": ROUTER, "departments": {"D": department}}

        assert told(Blueprint.from_data(data)) == {"executive": "it must be an agent"}

    def test_how_much_is_built_is_limited(self) -> None:
        assert "more than 2 agents" in told(Blueprint.from_data(ROUTER), limits=Limits(nodes=2))["routes[1].target"]

    def test_beyond_the_limit_nothing_else_is_wrong(self) -> None:
        department = {"manager": agent("M"), "workers": [agent("W")]}
        firm = {"type": "hierarchical", "maxTurns": 3, "executive": agent("E"), "departments": {"D": department}}
        panel = {"type": "parallel", "name": "P", "members": [firm, firm, firm]}

        (problem,) = find_problems(Blueprint.from_data(panel), limits=Limits(nodes=3))

        assert "more than 3 agents" in problem.message

    def test_whatever_the_code_of_others_raises_is_a_mistake(self) -> None:
        data = agent(
            "Mini",
            toolClassNames=["tests.blueprint.acme.Boom", "tests.blueprint.acme.Quits"],
            outputGuardrails=[{"className": "tests.blueprint.acme.Boom"}],
        )

        found = told(Blueprint.from_data(data))

        assert found.keys() == {"toolClassNames[0]", "toolClassNames[1]", "outputGuardrails[0]"}
        assert "boom" in found["toolClassNames[0]"]
        planned = Blueprint.from_data({"type": "planned", "className": "tests.blueprint.acme.Explodes"})
        assert told(planned) == {"": "KeyError: 'no such star'"}

    def test_they_are_in_the_order_of_their_lines(self) -> None:
        data = agent("Mini", outputType="no.Type", toolClassNames=["no.tool"], inputGuardrails=[{"registryId": "no"}])
        blueprint = Blueprint.from_json(json.dumps(data, indent=1))

        lines = [one.line for one in find_problems(blueprint)]

        assert len(lines) == 3
        assert lines == sorted(lines, key=lambda line: line or 0)

    def test_a_list_with_mistakes_in_it_is_not_too_short(self) -> None:
        data = {"type": "network", "name": "N", "maxRounds": 1, "peers": [agent("A"), {**agent("B"), "modle": "x"}]}

        assert [one.path for one in refused(json.dumps(data))] == ["peers[1].modle"]

    @pytest.mark.parametrize("name", ["\U0001f600", "\x7f", "k" * 2_000, "\u2028"])
    def test_lines_of_json_with_strange_texts(self, name: str) -> None:
        text = json.dumps({"type": "agent", name: 1, "maxTurns": 0}, indent=1)

        assert {one.path: one.line for one in refused(text)}["maxTurns"] == 4


class TestTrust:
    @pytest.mark.parametrize(
        "name",
        [
            "os.system",
            "subprocess.Popen",
            "builtins.eval",
            "tests.blueprint.acme.BaseModel",
            "tests.blueprint.acme.dataclass",
            "tests.blueprint.acme.SECRET",
            "tests.blueprint.acme.__builtins__",
            "tests.blueprint.acme.__loader__.load_module",
            "tests.blueprint.acme.Shelf.__init__",
            "tests.blueprint.acme.guardrails.registry.clear",
            "tests.blueprint.constellations.agents",
            "tests.blueprint.acme",
            " . ",
            ".",
            "..acme",
            "tests.blueprint.acme.Order.model_validate_json",
        ],
    )
    def test_nothing_is_named_that_is_not_allowed(self, name: str) -> None:
        assert find_problems(Blueprint.from_data(agent("Mini", toolClassNames=[name])))

    def test_nothing_is_imported_that_is_not_allowed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "evil_module.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef tool() -> str: ...\n"
        )
        monkeypatch.syspath_prepend(tmp_path)

        assert find_problems(Blueprint.from_data(agent("Mini", toolClassNames=["evil_module.tool"])))
        assert not (tmp_path / "ran").exists()

    def test_the_environment_allows_packages(self) -> None:
        data = agent("Mini", toolClassNames=["tests.blueprint.acme.look_up"])
        allowing = {**KEYS, "TACTICIAN_ALLOW": "nothing.else, tests.blueprint.acme"}

        assert Blueprint.from_data(data).problems(environment=KEYS)
        assert not Blueprint.from_data(data).problems(environment=allowing)

    def test_names_may_be_registered(self) -> None:
        def find(text: str) -> str:
            """Find it."""
            return text

        made = Blueprint.from_data(agent("Mini", toolClassNames=["find it"])).build(
            names={"find it": find}, environment=KEYS
        )

        assert isinstance(made, Agent)
        assert [tool.name for tool in made.tools] == ["find"]

    @pytest.mark.parametrize("path", ["../secret.txt", "/etc/hostname", "sub/../../secret.txt", "link.txt", "a\0b"])
    def test_no_file_is_read_outside_of_its_folder(self, path: str, tmp_path: Path) -> None:
        folder = tmp_path / "agents"
        (folder / "sub").mkdir(parents=True)
        (tmp_path / "secret.txt").write_text("hidden")
        (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
        file = folder / "a.json"
        file.write_text(json.dumps(agent("Mini", instructions={"source": "file", "path": path})))

        assert find_problems(Blueprint.from_file(file), environment={**KEYS})
        assert "hidden" not in str(find_problems(Blueprint.from_file(file)))

    def test_a_wider_root_may_be_given(self, tmp_path: Path) -> None:
        (tmp_path / "agents").mkdir()
        (tmp_path / "common.txt").write_text("Be kind.")
        file = tmp_path / "agents" / "a.json"
        file.write_text(json.dumps(agent("Mini", instructions={"source": "file", "path": "../common.txt"})))

        made = Blueprint.from_file(file).build(root=tmp_path, environment=KEYS)

        assert isinstance(made, Agent)
        assert made.instructions == "Be kind."


class TestVariables:
    def test_texts_may_name_variables(self) -> None:
        data = agent("${NAME}", instructions="You are ${NAME}, of ${TOWN:-nowhere}. Write $${x} as it is.")

        made = Blueprint.from_data(data).build(environment={**KEYS, "NAME": "Ann"})

        assert isinstance(made, Agent)
        assert (made.name, made.instructions) == ("Ann", "You are Ann, of nowhere. Write ${x} as it is.")
        assert made.to_blueprint().to_data()["instructions"] == "You are Ann, of nowhere. Write $${x} as it is."

    @pytest.mark.parametrize(
        "name", ["OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "MY_SECRET_THING", "SENTRY_DSN", "key"]
    )
    def test_no_secret_is_told(self, name: str) -> None:
        data = agent("Mini", instructions=f"Say ${{{name}}}")

        assert "may be a secret" in told(Blueprint.from_data(data), environment={**KEYS, name: "hush"})["instructions"]

    @pytest.mark.parametrize("text", ["${", "a ${} b", "${1}", "${a b}"])
    def test_half_a_variable(self, text: str) -> None:
        assert "write $${" in told(Blueprint.from_data(agent("Mini", instructions=text)))["instructions"]

    def test_the_place_of_a_key_holds_its_name(self) -> None:
        data = agent("Mini", responder={"provider": "OPENAI", "apiKeyEnvVar": "${OPENAI_API_KEY}"})

        first, *_ = find_problems(Blueprint.from_data(data))

        assert first.path == "responder.apiKeyEnvVar"
        assert "write OPENAI_API_KEY, without ${}" in first.message


class TestReferences:
    def write(self, folder: Path, **files: Mapping[str, object]) -> Path:
        for name, data in files.items():
            (folder / f"{name}.json").write_text(json.dumps(data))
        return folder / f"{next(iter(files))}.json"

    def test_a_blueprint_in_another_file(self, tmp_path: Path) -> None:
        routes = [{"description": "all", "target": {"$ref": "sub/team.yaml"}}]
        file = self.write(tmp_path, main={**ROUTER, "routes": routes})
        (tmp_path / "sub").mkdir()
        panel = {"type": "parallel", "name": "P", "members": [{"$ref": "one.json"}, {"$ref": "one.json"}]}
        (tmp_path / "sub" / "team.yaml").write_text(Blueprint.from_data(panel).to_yaml())
        self.write(tmp_path / "sub", one=agent("One", instructions={"source": "file", "path": "one.txt"}))
        (tmp_path / "sub" / "one.txt").write_text("I am one.")

        blueprint = Blueprint.from_file(file)
        whole = blueprint.build(environment=KEYS).to_blueprint().to_data()

        assert blueprint.to_data()["routes"] == routes
        assert isinstance(whole["routes"], list)
        assert "'path': 'sub/one.txt'" in str(whole)
        (tmp_path / "whole.json").write_text(json.dumps(whole))
        assert not find_problems(Blueprint.from_file(tmp_path / "whole.json"))
        assert "'name': 'P', 'members': [{'type': 'agent', 'name': 'One'" in str(whole["routes"][0])

    def test_a_circle(self, tmp_path: Path) -> None:
        file = self.write(
            tmp_path,
            a={"type": "parallel", "name": "A", "members": [{"$ref": "b.json"}]},
            b={"type": "parallel", "name": "B", "members": [{"$ref": "a.json"}]},
        )

        (problem,) = find_problems(Blueprint.from_file(file))

        assert (problem.path, problem.message) == (
            "members[0].$ref",
            "the files go in a circle: a.json -> b.json -> a.json",
        )
        assert problem.file is not None
        assert problem.file.endswith("b.json")
        assert problem.line == 1

    def test_mistakes_in_the_other_file(self, tmp_path: Path) -> None:
        file = self.write(
            tmp_path,
            a={
                "type": "parallel",
                "name": "A",
                "members": [{"$ref": f"{one}.json"} for one in ("b", "c", "no", "../x")],
            },
            b={"type": "agent", "name": "B"},
            c=agent("C", toolClassNames=["no.tool"]),
        )

        found = [str(one) for one in find_problems(Blueprint.from_file(file))]

        assert len(found) == 6
        assert "b.json: line 1: model: Field required" in found[0]
        assert any("c.json:1: toolClassNames[0]: there is nothing with the name 'no.tool'" in one for one in found)
        assert any("no.json" in one and "cannot be read" in one for one in found)
        assert any("is outside of" in one for one in found)

    def test_many_references_are_not_too_many(self, tmp_path: Path) -> None:
        files = {
            f"f{n}": {"type": "parallel", "name": f"F{n}", "members": [{"$ref": f"f{n + 1}.json"}] * 8}
            for n in range(12)
        }
        file = self.write(tmp_path, **files, f12=agent("Last"))

        assert "more than 5,000 agents" in str(find_problems(Blueprint.from_file(file))[0])
