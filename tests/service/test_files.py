"""Agents in a folder of JSON files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import Agent, AgentService, Autonomous, LlmOptions
from tactician.errors import AgentFileError, AgentNotFoundError, Problem
from tactician.testing import ScriptedModel, ToolCall
from tests.service.acme import Analysis, Query, Search

ACME = "tests.service.acme"
PLAIN = {"id": "my-agent", "name": "My Assistant", "model": "gpt-5.4"}


@dataclass(frozen=True)
class Folder:
    path: Path

    def add(self, file: str = "agent.json", /, **fields: object) -> Folder:
        (self.path / file).write_text(json.dumps({**PLAIN, **fields}), encoding="utf-8")
        return self

    def service(self, model: ScriptedModel | None = None, names: Mapping[str, object] | None = None) -> AgentService:
        return AgentService(model or ScriptedModel(), folder=self.path, names=names or {}, packages=(ACME,))

    def agent(self, **fields: object) -> Agent[object]:
        found = self.add("agent.json", **fields).service().agents["my-agent"]
        assert isinstance(found, Agent)
        return found

    def problems(self) -> list[Problem]:
        with pytest.raises(AgentFileError) as caught:
            self.service()
        assert str(self.path) in str(caught.value)
        return list(caught.value.problems)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def function(**fields: object) -> dict[str, object]:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    return {"name": "search", "description": "Searches", "parameters": schema, **fields}


async def test_an_agent_of_a_file_answers(folder: Folder) -> None:
    folder.add(instructions="You are a helpful assistant.", temperature=0.7, webSearch=False, functions=[])
    model = ScriptedModel("Hello")
    service = folder.service(model)
    assert (await service.request_agent("my-agent", "Hi")).output == "Hello"
    assert model.calls[0].messages[0].role == "system"
    assert model.calls[0].options == LlmOptions(model="gpt-5.4", temperature=0.7)


def test_id_name_and_model_are_enough(folder: Folder) -> None:
    agent = folder.agent()
    assert (agent.id, agent.name, agent.model) == ("my-agent", "My Assistant", LlmOptions(model="gpt-5.4"))
    assert (agent.instructions, list(agent.tools), agent.spec.autonomy, agent.output_type) == ("", [], None, None)
    assert agent.spec.max_attempts is None


def test_every_field_of_the_model_is_an_option(folder: Folder) -> None:
    agent = folder.agent(
        temperature=1,
        webSearch=True,
        codeInterpreter=True,
        responseTimeout=90_500,
        maxTokens=100,
        reasoningEffort="high",
        instances=["openai-main", "azure-1"],
        instanceId="ignored",
        description="What it is for",
    )
    assert agent.model == LlmOptions(
        model="gpt-5.4",
        temperature=1.0,
        native_tools=("web_search", "code_interpreter"),
        timeout=90.5,
        max_tokens=100,
        reasoning_effort="high",
        instances=("openai-main", "azure-1"),
    )
    assert agent.description == "What it is for"


def test_an_old_instance_id_is_a_list_of_one(folder: Folder) -> None:
    assert folder.agent(instanceId="openai-main").model == LlmOptions(model="gpt-5.4", instances=("openai-main",))


def test_every_field_of_autonomy_is_there(folder: Folder) -> None:
    agent = folder.agent(
        autonomous=True,
        maxIterations=15,
        maxToolTokenOutput=200,
        endTurnOnPlainReply=True,
        enabledToolGroups=["fs", "shell"],
        compactToolResultsAfterIteration=30,
        compactKeepLastNIterations=5,
        maxConversationTokens=40_000,
        minIterationIntervalMs=2_000,
        retryConfig={"maxIterationRetries": 2, "deserializationRetries": 4},
    )
    assert agent.spec.autonomy == Autonomous(
        max_iterations=15,
        max_tool_output_tokens=200,
        end_turn_on_plain_reply=True,
        enabled_tool_groups=frozenset({"fs", "shell"}),
        compact_after=30,
        keep_last=5,
        max_conversation_tokens=40_000,
        min_iteration_interval=2.0,
        retries=2,
    )
    assert agent.spec.max_attempts == 5


def test_an_autonomous_agent_has_the_defaults_of_the_source(folder: Folder) -> None:
    assert folder.agent(autonomous=True).spec.autonomy == Autonomous(max_iterations=25, keep_last=1)
    assert folder.agent(maxIterations=3).spec.autonomy is None


@pytest.mark.parametrize("field", ["infiniteLoop", "disableTaskOver"])
def test_an_infinite_agent_has_two_spellings(folder: Folder, field: str) -> None:
    agent = folder.agent(autonomous=True, maxIterationsUnlimited=True, **{field: True})
    assert agent.spec.autonomy == Autonomous(max_iterations=None, infinite=True)


def test_null_is_the_same_as_nothing_and_unknown_fields_are_ignored(folder: Folder) -> None:
    agent = folder.agent(
        temperature=None,
        autonomous=None,
        functions=[function(group=None, executorClass=None)],
        retryConfig={"maxIterationRetries": None},
        responders={"x": 1},
        retrieval=True,
        **{"$schema": "https://example.org/agent.json"},
    )
    assert agent.model == LlmOptions(model="gpt-5.4")


def test_an_agent_has_retries_of_its_own(folder: Folder) -> None:
    retries = {"networkRetries": 7, "maxTokenRetries": 0, "contentFilterRetries": 1, "deserializationRetries": 4}
    agent = folder.agent(retryConfig=retries)
    assert agent.model == LlmOptions(model="gpt-5.4", network_retries=7, truncation_retries=0, content_filter_retries=1)
    assert agent.spec.max_attempts == 5


async def test_a_function_of_a_file_is_executed_by_the_caller(folder: Folder) -> None:
    folder.add(functions=[function(executorClass="Search")])
    model = ScriptedModel(ToolCall("search", query="frogs"), "Found.")
    service = folder.service(model)
    result = await service.request_agent("my-agent", "Go", execute=lambda call: f"caller ran {call.name}")
    assert result.output == "Found."
    assert "caller ran search" in model.calls[1].prompt
    assert model.calls[0].tools[0].parameters == function()["parameters"]


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ({"executorClass": "Search"}, "class found frogs"),
        ({"executorClass": f"{ACME}.Search"}, "class found frogs"),
        ({"executorClass": "execute_all"}, "function executed search"),
        ({"executorClass": "mine"}, "mine ran"),
        ({"methodClass": "Weather", "methodName": "forecast"}, "1 days of rain in frogs"),
        ({"methodClass": f"{ACME}.Weather", "methodName": "climate"}, "mild in frogs"),
    ],
)
async def test_a_function_can_name_who_executes_it(folder: Folder, fields: dict[str, object], given: str) -> None:
    own = {"parameters": None} if "methodClass" in fields else {}  # a method says what its arguments are
    folder.add(functions=[function(**own, **fields)])
    model = ScriptedModel(ToolCall("search", **{"location" if "methodClass" in fields else "query": "frogs"}), "Found.")
    await folder.service(model, {"mine": lambda call: "mine ran"}).request_agent("my-agent", "Go")
    assert given in model.calls[1].prompt


def test_a_method_describes_its_arguments(folder: Folder) -> None:
    agent = folder.agent(
        functions=[{"name": "f", "description": "d", "methodClass": "Weather", "methodName": "forecast"}]
    )
    properties = next(iter(agent.tools)).spec.parameters["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == {"location", "days"}


def test_a_parameter_class_beats_parameters(folder: Folder) -> None:
    agent = folder.agent(functions=[function(parameterClass="Query", parameters={"type": "object", "properties": {}})])
    properties = next(iter(agent.tools)).spec.parameters["properties"]
    assert properties == {"query": {"description": "Search query", "type": "string"}}


def test_a_parameter_class_may_contain_itself(folder: Folder) -> None:
    agent = folder.agent(functions=[function(parameterClass="Tree")])
    schema = next(iter(agent.tools)).spec.parameters
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert properties["branches"] == {"items": {"$ref": "#/$defs/Tree"}, "type": "array"}


async def test_a_result_class_is_the_output_type(folder: Folder) -> None:
    answer = Analysis(summary="s", key_points=["k"], confidence=0.5)
    folder.add(resultClass="Analysis")
    result = await folder.service(ScriptedModel(answer)).request_agent("my-agent", "Go")
    assert result.output == answer


def test_registered_names_come_before_those_of_packages(folder: Folder) -> None:
    folder.add(resultClass="Analysis")
    for names in ({"Analysis": Query}, {"tests.service.acme.Analysis": Query}):
        folder.add(resultClass=next(iter(names)))
        agent = folder.service(names=names).agents["my-agent"]
        assert isinstance(agent, Agent)
        assert agent.output_type is Query
    registered = AgentService(ScriptedModel(), folder=folder.path, names={"x": Search, "y": Analysis})
    assert set(registered.agents) == {"my-agent"}


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "subprocess.Popen",
        "Popen",
        "subprocess",
        f"{ACME}.Popen",
        f"{ACME}.subprocess.Popen",
        f"{ACME}.__builtins__",
        f"{ACME}.gone.Analysis",
        f"{ACME}._private.Analysis",
        f"{ACME}_evil.Analysis",
        "tests.service.test_files.Folder",
        "Analyses",
        ".Analysis",
    ],
)
def test_what_is_not_allowed_cannot_be_named(folder: Folder, name: str) -> None:
    folder.add(resultClass=name, functions=[function(executorClass=name, parameterClass=name)])
    problems = folder.problems()
    assert [problem.path for problem in problems] == [
        "functions[0].executorClass",
        "functions[0].parameterClass",
        "resultClass",
    ]
    assert all(f"there is nothing with the name {name!r}" in problem.message for problem in problems)


def test_no_module_is_imported_because_a_file_names_it(folder: Folder) -> None:
    import sys

    sys.modules.pop("this", None)
    folder.add(resultClass="this.s")
    folder.problems()
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"resultClass": "execute_all"}, "resultClass: 'execute_all' is not a class"),
        ({"resultClass": "Search"}, "resultClass: 'Search' has no JSON form"),
        ({"resultClass": "Analysi"}, "Did you mean 'Analysis'?"),
        (
            {"functions": [function(parameterClass="number")]},
            "'number' is not an object; pass the arguments as an object",
        ),
        ({"functions": [function(executorClass="Inert")]}, "'Inert' executes nothing"),
        ({"functions": [function(executorClass="NeedsMore")]}, "'NeedsMore' cannot be created without arguments"),
        ({"functions": [function(methodClass="Weather")]}, "functions[0]: methodClass and methodName go together"),
        ({"functions": [function(methodClass="Weather", methodName="_secret")]}, "no public method '_secret'"),
        ({"functions": [function(methodClass="Weather", methodName="gone")]}, "no public method 'gone'"),
        ({"functions": [function(methodClass="Weather", methodName="untyped")]}, "has no type"),
        ({"functions": [function(methodClass="Gone", methodName="run")]}, "methodClass: there is nothing"),
        ({"functions": [function(methodClass="NeedsMore", methodName="run")]}, "cannot be created without arguments"),
        ({"functions": [function(), function()]}, "functions[1].name: 'search' is used twice"),
        ({"functions": [function(name="my search")]}, "functions[0].name: String should match pattern"),
        ({"functions": [function(name="task_over")]}, "functions[0].name: 'task_over' ends the turn"),
        ({"functions": [function(parameters={"type": "string"})]}, "functions[0].parameters: the schema"),
        (
            {"functions": [function(endTurn=True)]},
            "functions[0].endTurn: there is no such field; did you mean 'endsTurn'?",
        ),
        ({"functions": "none"}, "functions: Input should be a valid array"),
        ({"functions": [7]}, "functions[0]: Input should be"),
        ({"instuctions": "x"}, "instuctions: there is no such field; did you mean 'instructions'?"),
        ({"max_iterations": 3}, "max_iterations: there is no such field; did you mean 'maxIterations'?"),
        ({"retryConfig": {"networkRetrys": 1}}, "retryConfig.networkRetrys: there is no such field"),
        ({"retryConfig": 1}, "retryConfig: Input should be"),
        ({"temperature": 2.5}, "temperature: Input should be less than or equal to 2"),
        ({"maxIterations": "15"}, "maxIterations: Input should be a valid integer"),
        ({"maxIterations": 0}, "maxIterations: Input should be greater than 0"),
        ({"reasoningEffort": "huge"}, "reasoningEffort: Input should be 'low', 'medium', 'high', 'enabled' or 'none'"),
        ({"id": ""}, "id: String should have at least 1 character"),
        ({"model": None}, "model: Field required"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_place(folder: Folder, fields: dict[str, object], problem: str) -> None:
    folder.add("agent.json", **fields)
    with pytest.raises(AgentFileError) as caught:
        folder.service(names={"number": int, **_named("Inert")})
    assert len(caught.value.problems) == 1
    assert str(caught.value.problems[0]).startswith("agent.json:1: ")
    assert problem in str(caught.value.problems[0])


def _named(name: str) -> dict[str, object]:
    from tests.service import acme

    return {name: getattr(acme, name)}


def test_all_mistakes_of_all_files_are_one_error(folder: Folder) -> None:
    folder.add("a.json", id="a", temperature=9, maxTokens=-1)
    folder.add("b.json", id="b", resultClass="Gone", functions=[function(executorClass="Gone")])
    (folder.path / "c.json").write_text("{", encoding="utf-8")
    (folder.path / "d.json").write_text("[]", encoding="utf-8")
    (folder.path / "e.json").write_bytes(b"\xff\xfe{")
    folder.add("f.json", id="same").add("g.json", id="same")
    (folder.path / "notes.txt").write_text("no agent", encoding="utf-8")
    assert [problem.file for problem in folder.problems()] == [
        "a.json", "a.json", "b.json", "b.json", "c.json", "d.json", "e.json", "g.json",
    ]  # fmt: skip


def test_nobody_waits_for_a_pipe(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe.json")
    assert [*map(str, folder.problems())] == ["pipe.json: it cannot be read: it is not a file"]


def test_a_file_that_is_too_large_is_not_read(folder: Folder) -> None:
    (folder.path / "big.json").write_bytes(b" " * 2_000_001)
    assert [*map(str, folder.problems())] == [
        "big.json: it cannot be read: the file has more than 2,000,000 characters"
    ]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="there is no such folder"):
        AgentService(ScriptedModel(), folder=tmp_path / "gone")


def test_a_package_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ImportError):
        AgentService(ScriptedModel(), packages=("acme_is_not_installed",))


def test_a_module_that_cannot_be_imported_is_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Folder
) -> None:
    package = tmp_path / "shop_of_this_test"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "broken.py").write_text("import not_there_at_all", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    folder.add(resultClass="shop_of_this_test.broken.Result")
    with pytest.raises(AgentFileError, match=r"the module 'shop_of_this_test\.broken' cannot be imported: .*not_there"):
        AgentService(ScriptedModel(), folder=folder.path, packages=("shop_of_this_test",))


def test_a_file_may_begin_with_a_byte_order_mark(folder: Folder) -> None:
    (folder.path / "a.json").write_text(json.dumps(PLAIN), encoding="utf-8-sig")
    assert set(folder.service().agents) == {"my-agent"}


def test_the_folder_can_be_read_again(folder: Folder) -> None:
    folder.add("a.json", id="a", instructions="old").add("b.json", id="b")
    service = folder.service()
    mine = Agent("mine")
    service.register(mine)
    folder.add("a.json", id="a", instructions="new").add("c.json", id="c")
    (folder.path / "b.json").unlink()
    assert service.reload() == ("a", "c")
    assert set(service.agents) == {"a", "c", "mine"}
    changed = service.agents["a"]
    assert isinstance(changed, Agent)
    assert changed.instructions == "new"


def test_on_a_mistake_nothing_changes(folder: Folder) -> None:
    folder.add("a.json", id="a")
    service = folder.service()
    service.register(Agent("mine"))
    before = dict(service.agents)
    folder.add("a.json", id="a", temperature=9).add("b.json", id="mine")
    with pytest.raises(AgentFileError) as caught:
        service.reload()
    assert "b.json:1: id: 'mine' is taken by an agent that was registered" in str(caught.value.problems[1])
    assert dict(service.agents) == before


def test_an_agent_of_a_file_can_be_replaced_and_forgotten(folder: Folder) -> None:
    folder.add("a.json", id="a").add("b.json", id="b")
    service = folder.service()
    service.register(Agent("a"), replace=True)
    service.unregister("b")
    (folder.path / "a.json").unlink()
    assert service.reload() == ("b",)
    assert set(service.agents) == {"a", "b"}


async def test_a_running_request_goes_on_with_the_agent_that_it_began_with(folder: Folder) -> None:
    folder.add(functions=[function(executorClass="mine")])

    def mine(call: object) -> str:
        (folder.path / "agent.json").unlink()
        service.reload()
        return "reloaded"

    model = ScriptedModel(ToolCall("search", query="x"), "done")
    service = folder.service(model, {"mine": mine})
    assert (await service.request_agent("my-agent", "Go")).output == "done"
    with pytest.raises(AgentNotFoundError):
        await service.request_agent("my-agent", "Go")
