"""Settings of a project, and the environment variables that override them."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest
from pydantic import BaseModel

from tactician import Agent, Ai, Autonomy, Platform, RunContext, UserInput, achieves_goal, action, planned_agent
from tactician.config import Settings
from tactician.config.loading import find_settings, load_settings
from tactician.config.variables import find_variable
from tactician.errors import ConfigurationError, ModelServerError
from tactician.llm import EmbeddingModel, Features, LlmOptions, ModelCatalog
from tactician.llm.embeddings.model import NO_EMBEDDING_OPTIONS, EmbeddingOptions, Embeddings
from tactician.llm.messages import SystemMessage
from tactician.llm.usage import NO_USAGE
from tactician.planning import PlanningBudget
from tactician.prompts import KnowledgeCutoff
from tactician.runs import OutputError
from tactician.testing import FakeClock, ScriptedModel

ROOT = Path(__file__).parent.parent
VALUES = {
    "TACTICIAN_STORE": ("runs.db", "runs.db"),
    "TACTICIAN_PLANNING_OBJECTIVE": ("dollars", "dollars"),
    "TACTICIAN_PLANNING_EXPLORE": ("7", 7),
    "TACTICIAN_PLANNING_TIME": ("2.5", 2.5),
    "TACTICIAN_PLANNING_EXPANSIONS": ("10", 10),
    "TACTICIAN_PLANNING_MEMORY": ("20", 20.0),
    "TACTICIAN_CAPTURE": ("full", "full"),
    "TACTICIAN_PERSONALITY": ("starwars", "starwars"),
    "TACTICIAN_PLATFORM_DATA_BINDING_ATTEMPTS": ("4", 4),
    "TACTICIAN_PLATFORM_DATA_BINDING_BASE": ("0.5", 0.5),
    "TACTICIAN_PLATFORM_DATA_BINDING_FACTOR": ("2", 2.0),
    "TACTICIAN_PLATFORM_DATA_BINDING_LONGEST": ("9", 9.0),
    "TACTICIAN_PLATFORM_RANKING_ATTEMPTS": ("4", 4),
    "TACTICIAN_PLATFORM_RANKING_BASE": ("0.5", 0.5),
    "TACTICIAN_PLATFORM_RANKING_FACTOR": ("2", 2.0),
    "TACTICIAN_PLATFORM_RANKING_LONGEST": ("9", 9.0),
    "TACTICIAN_PLATFORM_RANKING_MODEL": ("small", "small"),
    "TACTICIAN_PLATFORM_RANKING_AGENT_CUTOFF": ("0.1", 0.1),
    "TACTICIAN_PLATFORM_RANKING_GOAL_CUTOFF": ("0.2", 0.2),
    "TACTICIAN_PLATFORM_MEMORY_PROCESSES": ("7", 7),
    "TACTICIAN_PLATFORM_MEMORY_MESSAGES": ("8", 8),
    "TACTICIAN_TELEMETRY_ENABLED": ("true", True),
    "TACTICIAN_TELEMETRY_CONTENT": ("true", True),
    "TACTICIAN_TELEMETRY_SERVICE_NAME": ("shop", "shop"),
    "TACTICIAN_A2A_PRIVATE_PUSH": ("true", True),
    "TACTICIAN_A2A_GRPC_PORT": ("50051", 50051),
    "TACTICIAN_A2A_GRPC_URL": ("agents.example.com:443", "agents.example.com:443"),
    "TACTICIAN_A2A_GRPC_CERTIFICATE": ("server.pem", "server.pem"),
    "TACTICIAN_A2A_GRPC_KEY": ("key.pem", "key.pem"),
    "TACTICIAN_SERVE_EVENTS_PER_RUN": ("500", 500),
    "TACTICIAN_SERVE_RUNS_WITH_EVENTS": ("50", 50),
    "TACTICIAN_SERVE_LETS_CALLERS_APPROVE": ("true", True),
    "TACTICIAN_TEMPLATES_FOLDERS": ("t, package:acme/t", ("t", "package:acme/t")),
}


def list_leaves(kind: type[BaseModel] = Settings, around: str = "") -> Iterator[str]:
    """Yield the paths of all settings outside of tables that users name."""
    for name, field in kind.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from list_leaves(annotation, f"{around}{name}.")
        elif around:
            yield f"{around}{name}"


OWN = [path for path in list_leaves() if not path.startswith("models.")]


@pytest.mark.parametrize("path", OWN)
def test_each_setting_is_overridden_by_its_variable(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = find_variable(path)
    assert variable is not None
    text, expected = VALUES[variable]
    monkeypatch.setenv(variable, text)
    value: object = load_settings()
    for name in path.split("."):
        value = getattr(value, name)
    assert value == expected


def test_all_variables_are_different_and_listed_on_the_page_of_the_environment() -> None:
    variables = [variable for path in list_leaves() if (variable := find_variable(path))]
    tables = {variable for variable in variables if variable.startswith("TACTICIAN_ROUTER_")}
    others = [variable for variable in variables if variable not in tables]
    assert len(set(others)) == len(others)
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([A-Z0-9_.]+)`", page))
    prefixes = tuple(one.removesuffix("...") for one in listed if one.endswith("..."))
    assert [one for one in variables if one not in listed and not one.startswith(prefixes)] == []


def test_the_file_is_overridden_and_all_else_of_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tactician.toml"
    file.write_text("[platform.ranking]\nattempts = 7\nagent_cutoff = 0.3\n", encoding="utf-8")
    monkeypatch.setenv("TACTICIAN_PLATFORM_RANKING_ATTEMPTS", "2")
    monkeypatch.setenv("TACTICIAN_PLATFORM_RANKING_GOAL_CUTOFF", " ")
    ranking = load_settings(file).platform.ranking
    assert (ranking.attempts, ranking.agent_cutoff, ranking.goal_cutoff) == (2, 0.3, 0.6)


def test_all_mistakes_in_variables_are_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACTICIAN_PLATFORM_RANKING_ATEMPTS", "2")
    monkeypatch.setenv("TACTICIAN_PLATFORM_MEMORY_PROCESSES", "-1")
    monkeypatch.setenv("TACTICIAN_PLANNING_TIME", "soon")
    with pytest.raises(ConfigurationError) as raised:
        load_settings()
    message = str(raised.value)
    assert "no such setting. Did you mean 'TACTICIAN_PLATFORM_RANKING_ATTEMPTS'?" in message
    assert "TACTICIAN_PLATFORM_MEMORY_PROCESSES: Input should be greater than or equal to 0" in message
    assert "TACTICIAN_PLANNING_TIME: Input should be a valid number" in message


class Person(BaseModel):
    """A person."""

    name: str


class TestDataBinding:
    """Attempts at valid objects, and the waits between them."""

    async def test_the_project_says_how_often_and_how_fast(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in {"ATTEMPTS": "4", "BASE": "0.5", "FACTOR": "3", "LONGEST": "2"}.items():
            monkeypatch.setenv(f"TACTICIAN_PLATFORM_DATA_BINDING_{name}", value)
        clock, model = FakeClock(), ScriptedModel(*["no"] * 4)
        with pytest.raises(OutputError, match="in 4 attempts"):
            await Agent("A", output_type=Person).run("hi", context=RunContext.over(model, clock=clock))
        assert clock.slept == [0.5, 1.5, 2.0]

    async def test_an_agent_says_how_often_by_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TACTICIAN_PLATFORM_DATA_BINDING_ATTEMPTS", "4")
        agent = Agent("A", output_type=Person, max_attempts=1)
        with pytest.raises(OutputError, match="in 1 attempt"):
            await agent.run("hi", context=RunContext.over(ScriptedModel("no")))

    async def test_an_ai_has_the_same_attempts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TACTICIAN_PLATFORM_DATA_BINDING_ATTEMPTS", "2")
        with pytest.raises(OutputError, match="in 2 attempts"):
            await Ai.over(ScriptedModel("no", "no")).create(Person, "Who?")


class TestRanking:
    """Attempts at rankings, and the waits between them."""

    async def test_the_project_says_how_often_and_how_fast(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in {"ATTEMPTS": "3", "BASE": "0.1", "FACTOR": "5"}.items():
            monkeypatch.setenv(f"TACTICIAN_PLATFORM_RANKING_{name}", value)
        clock, model = FakeClock(), ScriptedModel(*["no"] * 3)
        platform = Platform(models=model).register(Agent("A"))
        platform.services.clock = clock
        with pytest.raises(OutputError, match="in 3 attempts"):
            await Autonomy(platform).rank("hi")
        assert clock.slept == [0.1, 0.5]


@planned_agent(description="counts")
class Counter:
    """An agent whose processes end at once."""

    @achieves_goal("counts")
    @action
    def count(self, asked: UserInput) -> int:
        return 1


async def test_a_platform_remembers_as_many_processes_as_the_project_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACTICIAN_PLATFORM_MEMORY_PROCESSES", "2")
    platform = Platform(models=ScriptedModel())
    ids = [(await platform.start(Counter(), "go")).id for _ in range(3)]
    gc.collect()  # nobody holds the first
    assert [process.id for process in await platform.processes()] == ids[1:]


class TestOwnModels:
    """Models of the program, by name."""

    async def test_a_chat_model_is_found_by_its_name_its_role_and_as_the_default(self) -> None:
        settings = Settings.model_validate({"models": {"default": "mine", "roles": {"best": "mine"}}})
        catalog = ModelCatalog(settings, {})
        catalog.register(ScriptedModel("one", "two", "three", name="mine"))
        for model in ("mine", "role:best", None):
            agent = Agent("A", model=model)
            assert (await agent.run("hi", context=RunContext.over(catalog))).output in ("one", "two", "three")
        assert ("mine", "it is registered") in [(one.name, one.origin) for one in catalog.list_entries()]

    async def test_it_falls_back_and_is_a_fallback(self) -> None:
        models = {"fallbacks": {"mine": ["other"]}, "router": {"max_retries": 0}}
        catalog = ModelCatalog(Settings.model_validate({"models": models}), {})
        catalog.register(ScriptedModel(ModelServerError("broken"), name="mine"))
        catalog.register(ScriptedModel("from the other"), "other")
        result = await Agent("A", model="mine").run("hi", context=RunContext.over(catalog))
        assert result.output == "from the other"
        assert [one.name for one in catalog.list_entries()][:2] == ["mine", "other"]

    async def test_an_embedding_model_is_found_by_its_name(self) -> None:
        catalog = ModelCatalog(Settings(), {})
        catalog.register(Embedder(), "vectors")
        response = await catalog.embedding_model("vectors").embed(["a", "b"])
        assert response.vectors == ((1.0,), (1.0,))
        assert "vectors" in catalog.embedding_model().name

    def test_a_name_that_is_taken_and_what_is_no_model_are_refused(self) -> None:
        catalog = ModelCatalog(Settings(), {})
        catalog.register(ScriptedModel(), "mine")
        with pytest.raises(ConfigurationError, match="There is a model 'mine' already"):
            catalog.register(ScriptedModel(), "mine")
        with pytest.raises(ConfigurationError, match="object is not a model: it needs the members of"):
            catalog.register(object())  # type: ignore[arg-type]  # that is the mistake


class Embedder(EmbeddingModel):
    """An embedding model of the program."""

    @property
    def name(self) -> str:
        return "embedder"

    async def embed(self, texts: Sequence[str], options: EmbeddingOptions = NO_EMBEDDING_OPTIONS) -> Embeddings:
        return Embeddings(tuple((1.0,) for _ in texts), self.name, NO_USAGE)


class TestKnowledgeCutoff:
    """The day up to which a model knows the world."""

    async def test_a_model_is_told_its_own(self) -> None:
        model = ScriptedModel("hi", "hi", features=Features(knowledge_cutoff=date(2025, 4, 1)))
        await Agent("A", instructions="Help.").run("hi", context=RunContext.over(model))
        await Ai.over(model).generate_text("hi")
        (system,) = (one.text for one in model.calls[0].messages if isinstance(one, SystemMessage))
        assert system == f"Help.\n\n{KnowledgeCutoff(date(2025, 4, 1)).contribution()}"
        assert "2025-04-01" in model.calls[1].messages[0].text

    def test_a_profile_has_it(self) -> None:
        profile = {"match": "tiny*", "knowledge_cutoff": "2025-04-01"}
        catalog = ModelCatalog(Settings.model_validate({"models": {"profiles": [profile]}}), {})
        assert catalog.resolve(LlmOptions(model="ollama:tiny-1")).features.knowledge_cutoff == date(2025, 4, 1)
        assert catalog.resolve(LlmOptions(model="ollama:other")).features.knowledge_cutoff is None

    async def test_without_one_nothing_is_said(self) -> None:
        model = ScriptedModel("hi")
        await Agent("A").run("hi", context=RunContext.over(model))
        assert [one.role for one in model.calls[0].messages] == ["user"]


class TestGoogleKey:
    """The other variable that is common for keys of Gemini."""

    def test_it_is_the_key_where_the_first_is_not_set(self) -> None:
        catalog = ModelCatalog(Settings(), {"GOOGLE_API_KEY": "g"})
        assert catalog.default == ("gemini:gemini-2.5-flash", "GOOGLE_API_KEY is set")
        both = ModelCatalog(Settings(), {"GOOGLE_API_KEY": "g", "GEMINI_API_KEY": "h"})
        assert both.default[1] == "GEMINI_API_KEY is set"

    def test_an_instance_finds_it(self) -> None:
        catalog = ModelCatalog(Settings(), {"GOOGLE_API_KEY": "g"})
        assert catalog.resolve(LlmOptions(model="gemini-2.5-pro")).features.tools
        with pytest.raises(ConfigurationError, match="set GEMINI_API_KEY"):
            ModelCatalog(Settings(), {}).resolve(LlmOptions(model="gemini:gemini-2.5-pro"))


def test_settings_are_found_only_where_something_sets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TACTICIAN_")]:
        monkeypatch.delenv(name)
    assert find_settings() is None
    monkeypatch.setenv("TACTICIAN_PLANNING_TIME", "2.5")
    assert find_settings() == load_settings()
    monkeypatch.delenv("TACTICIAN_PLANNING_TIME")
    (tmp_path / "tactician.toml").write_text("[planning]\ntime = 3.5")
    assert (settings := find_settings()) is not None
    assert settings.planning.time == 3.5


def test_the_limits_of_planning_are_the_same_without_settings() -> None:
    table, budget = Settings().planning, PlanningBudget()
    assert (table.time, table.expansions, table.memory) == (budget.time, budget.expansions, budget.memory)
