"""`import tactician` is light: nothing heavy is loaded before it is used."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import tactician
from tactician.events import Event

HEAVY = (
    "aiohttp",
    "asyncio",
    "genai_prices",
    "jinja2",
    "mcp",
    "mcp_types",
    "opentelemetry",
    "pydantic",
    "prompt_toolkit",
    "pydantic_monty",
    "sqlalchemy",
    "starlette",
    "temporalio",
    "pytest",
    "rich",
    "typer",
    "uvicorn",
    "xllamacpp",
    "yaml",
)


def loaded_by(code: str) -> set[str]:
    return {name.partition(".")[0] for name in modules_loaded_by(code)}


def modules_loaded_by(code: str) -> set[str]:
    report = "import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import tactician").intersection(HEAVY)


def test_servers_are_declared_without_the_sdk() -> None:
    loaded = loaded_by("from tactician.mcp import McpServer; McpServer.http('https://host/mcp')")
    assert not loaded.intersection({"mcp", "mcp_types", "httpx2", "starlette", "uvicorn"})


def test_using_the_planner_loads_nothing_that_a_model_needs() -> None:
    loaded = loaded_by("from tactician.planning import AStarPlanner")
    assert not loaded.intersection(HEAVY)


def test_an_agent_is_declared_without_http_prices_or_the_embedded_model() -> None:
    loaded = loaded_by("from tactician import Agent, planned_agent, Platform; Agent('Helper')")
    assert not loaded.intersection({"aiohttp", "genai_prices", "xllamacpp", "rich", "typer", "jinja2", "yaml"})


PLANNED = """
from dataclasses import dataclass
from tactician import Ai, Platform, UserInput, achieves_goal, action, planned_agent
from tactician.testing import ScriptedModel

@dataclass
class Joke:
    text: str

@planned_agent(description="tells jokes")
class Comedian:
    @achieves_goal("a joke")
    @action
    async def tell(self, topic: UserInput, ai: Ai) -> Joke:
        return Joke(await ai.generate_text(topic.content))

platform = Platform(ScriptedModel("ha")).register(Comedian())
assert platform.start_sync("Comedian", "frogs").result == Joke("ha")
"""


MOST_MODULES = 250
NOT_NEEDED = {
    "importlib.metadata",
    "pydantic.main",
    "pydantic.type_adapter",
    "pydantic.types",
    "tomllib",
    "zipfile",
    "tactician.agents.agent",
    "tactician.agents.supervision",
    "tactician.blueprint",
    "tactician.config.settings",
    "tactician.conversation.store",
    "tactician.diagrams",
    "tactician.documents.document",
    "tactician.ensemble",
    "tactician.planning.contrast",
    "tactician.planning.explanation",
    "tactician.planning.solving",
    "tactician.platform.conversations.process_conversations",
    "tactician.platform.forking",
    "tactician.platform.memories",
    "tactician.platform.goal_tools",
    "tactician.platform.views",
    "tactician.platform.conversations",
    "tactician.process.agent.diagram",
    "tactician.prompts.langfuse",
    "tactician.prompts.templates",
    "tactician.trace.building",
}
SERVED = ("catalog", "embeddings", "endpoint_resolver", "images", "instance", "remote", "routing", "wire")


def test_a_planned_agent_with_a_model_in_the_process_runs_without_what_only_served_models_need() -> None:
    modules = modules_loaded_by(PLANNED)
    refused = {*HEAVY, "sqlite3"} - {"asyncio", "pydantic"}
    if "coverage" in modules:  # it keeps its data there
        refused.discard("sqlite3")
    assert not modules & refused
    assert not modules & {f"tactician.llm.{name}" for name in SERVED}
    assert not modules & NOT_NEEDED
    assert len([name for name in modules if name.startswith("tactician.")]) < MOST_MODULES, "see export_late"


def test_runs_are_listed_without_what_runs_them(tmp_path: Path) -> None:
    store = str(tmp_path / "runs.db")
    opened = f"""
import asyncio
from tactician.stores import open_store
async def work():
    async with open_store({store!r}) as made:
        await made.list_ids("runs")
asyncio.run(work())"""
    loaded_by(opened)
    code = f"import sys; from tactician.cli import main; sys.argv = ['tactician', 'ps', '--store', {store!r}]\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    report = "print(*(name for name in sys.modules if name.startswith('tactician.')))"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    packages = {".".join(name.split(".")[:2]) for name in done.stdout.split()}
    assert "tactician.runs" in packages
    assert not packages & {"tactician.agents", "tactician.platform", "tactician.process", "tactician.loop"}
    assert not loaded_by(code).intersection({"aiohttp", "jinja2", "yaml", "genai_prices", "xllamacpp"})


def test_events_are_found_by_their_names_before_their_modules_are_imported() -> None:
    for module in walk_packages(tactician.__path__, "tactician."):
        if module.name.endswith("events"):
            import_module(module.name)
    kinds = {kind.type: kind.__module__ for kind in list_subclasses(Event) if kind.__module__.startswith("tactician.")}
    code = "import sys; from tactician.events.event import find_event_type; "
    code += "print(*(name for name in sys.argv[1:] if find_event_type(name) is None))"
    done = subprocess.run([sys.executable, "-c", code, *kinds], capture_output=True, text=True, check=True)
    assert len(kinds) > 50
    assert done.stdout.split() == []


def list_subclasses(kind: type[Event]) -> Iterator[type[Event]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from list_subclasses(inner)
