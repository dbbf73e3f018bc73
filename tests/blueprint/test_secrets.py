"""No blueprint tells a secret: variables, files and arguments that may hold one stand for nothing."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from tactician import Agent, Blueprint, PlannedAgent, UserInput, achieves_goal, action, planned_agent
from tactician.errors import BlueprintError
from tests.blueprint.constellations import KEYS
from tests.blueprint.test_examples import ROUTER, agent
from tests.blueprint.test_mistakes import find_problems, told

_LONG_KEY = "hushhush-42"
_NO_KEY = SecretStr("")


def said_of(value: str, **others: str) -> Mapping[str, str]:
    data = agent("Mini", instructions="Say ${SAID}.")
    return told(Blueprint.from_data(data), environment={**KEYS, **others, "SAID": value})


class TestSecrets:
    @pytest.mark.parametrize(
        "name",
        [
            *("LLM_INSTANCES", "ENABLED_PROVIDERS", "TACTICIAN_STORE", "LANGFUSE_HOST"),
            *("GITHUB_PAT", "BEARER", "COOKIE", "AUTH_COOKIES", "SESSION", "TLS_CERT"),
        ],
    )
    def test_by_the_name(self, name: str) -> None:
        data = agent("Mini", instructions=f"Say ${{{name}:-nothing}}")

        found = told(Blueprint.from_data(data), environment={**KEYS, name: "hush"})

        assert found["instructions"] == f"${{{name}}} may be a secret; only apiKeyEnvVar may name one"

    @pytest.mark.parametrize(
        "value",
        [
            "pg://frog:pond@db.acme.example/frogs",
            "see https://:pond@acme.example",
            '{"a": {"url": "https://acme.example", "key": "pond-and-lake"}}',
            '[{"apiKey": "pond-and-lake"}]',
            '{"token": "pond-and-lake"}',
            "sk-proj-abcdefgh12345678",
            "the key is ghp_abcdefgh12345678",
            "github_pat_abcdefgh12345678",
            "xoxb-1234-abcdefgh",
            "AKIAABCDEFGHIJKLMNOP",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJmcm9nIn0.abc",
            "-----BEGIN RSA PRIVATE KEY-----",
            "Server=db;User=frog;Password=pond",
            "https://acme.example/?api_key=pond",
            f"Bearer {_LONG_KEY}",
        ],
    )
    def test_by_what_it_says(self, value: str) -> None:
        found = said_of(value, ACME_KEY=_LONG_KEY)

        assert found == {"instructions": "the value of ${SAID} may be a secret; only apiKeyEnvVar may name one"}

    @pytest.mark.parametrize(
        "value",
        [
            "",
            "Ann",
            "https://acme.example:8080/frogs/@green?page=2",
            "a task-force for desk-research",
            '{"region": "eu", "key": ""}',
            "[" * 100_000,
            "[" * 900 + "]" * 900,
            "/home/ann/frogs/agents",
            "hush",
        ],
    )
    def test_what_is_none(self, value: str) -> None:
        assert said_of(value, PWD="/home/ann/frogs", SHORT_KEY="hush") == {}

    @pytest.mark.parametrize("name", [".env", "sub/.env", ".git/config", "../.ssh/id", "..hidden", "sub\\.env"])
    def test_hidden_files_are_not_read(self, name: str, tmp_path: Path) -> None:
        data = agent("Mini", instructions={"source": "file", "path": name})
        (tmp_path / "sub").mkdir()
        for file in (tmp_path / ".env", tmp_path / "sub" / ".env"):
            file.write_text("hush")
        for one in (data, {**ROUTER, "fallback": {"$ref": name}}):
            file = tmp_path / "a.json"
            file.write_text(json.dumps(one))

            (problem,) = find_problems(Blueprint.from_file(file))

            assert "begin with a dot" in problem.message
            assert problem.path in ("instructions.path", "fallback.$ref")

    def test_folders_beside_and_above_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "a.txt").write_text("Help.")
        file = tmp_path / "sub" / "a.json"
        file.write_text(json.dumps(agent("Mini", instructions={"source": "file", "path": "./../a.txt"})))

        assert isinstance(Blueprint.from_file(file).build(environment=KEYS, root=tmp_path), Agent)


class Account(BaseModel):
    user: str
    login: SecretStr


class Fortune(BaseModel):
    text: str


@planned_agent(description="Asks somebody who wants to be paid")
class Caller:
    def __init__(
        self,
        api_key: SecretStr = _NO_KEY,
        token: str = "t",
        phrase: SecretStr | None = None,
        account: Account | None = None,
        address: str = "",
        is_pass: bool = False,
        rounds: int = 1,
    ) -> None:
        self.api_key, self.token, self.phrase = api_key, token, phrase
        self.account, self.address, self.is_pass, self.rounds = account, address, is_pass, rounds

    @achieves_goal("a fortune")
    @action
    def tell(self, question: UserInput) -> Fortune:
        return Fortune(text=question.content)


class TestPlanned:
    @pytest.mark.parametrize(
        ("caller", "name"),
        [
            (Caller(SecretStr("pond")), "api_key"),
            (Caller(token="pond"), "token"),
            (Caller(phrase=SecretStr("pond")), "phrase"),
            (Caller(account=Account(user="Ann", login=SecretStr("pond"))), "account"),
            (Caller(address="https://ann:pond@acme.example"), "address"),
        ],
    )
    def test_no_snapshot_holds_a_secret(self, caller: object, name: str) -> None:
        with pytest.raises(BlueprintError) as caught:
            PlannedAgent(caller).to_blueprint()

        (problem,) = caught.value.problems
        assert problem.path == f"arguments.{name}"
        assert "may be a secret; keep it out of the blueprint, with a default" in problem.message
        assert "pond" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("api_key", "pond"),
            ("token", "pond"),
            ("phrase", "pond"),
            ("account", {"user": "Ann", "password": "pond"}),
            ("address", "https://ann:pond@acme.example"),
        ],
    )
    def test_no_file_holds_one(self, name: str, value: object) -> None:
        data = {"type": "planned", "className": "Caller", "arguments": {name: value, "rounds": 2}}

        (problem,) = Blueprint.from_data(data).problems(names={"Caller": Caller})

        assert problem.path == f"arguments.{name}"
        assert "may be a secret" in problem.message
        assert "pond" not in str(problem)

    def test_what_is_none_is_said(self) -> None:
        caller = Caller(is_pass=True, rounds=3, address="https://acme.example")

        data = PlannedAgent(caller).to_blueprint().to_data()

        assert data["arguments"] == {"is_pass": True, "rounds": 3, "address": "https://acme.example"}
        again = Blueprint.from_data(data).build(allow=["tests"])
        assert again.to_blueprint().to_data() == data


@pytest.mark.parametrize("text", ["://" + ":" * 100_000, "eyJ" * 100_000, "-----BEGIN " * 50_000, "key" * 100_000])
def test_a_long_value_takes_no_time(text: str) -> None:
    began = time.process_time()
    said_of(text)
    assert time.process_time() - began < 20  # what is quadratic takes an hour
