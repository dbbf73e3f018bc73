"""`import tactician` is light: nothing heavy is loaded before it is used."""

import subprocess
import sys
from pathlib import Path

HEAVY = (
    "aiohttp",
    "asyncio",
    "genai_prices",
    "jinja2",
    "mcp",
    "mcp_types",
    "opentelemetry",
    "pydantic",
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
    report = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
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


def test_a_planned_agent_with_a_model_in_the_process_runs_without_an_http_client() -> None:
    loaded = loaded_by(PLANNED)
    refused = {*HEAVY, "sqlite3"} - {"asyncio", "pydantic"}
    if "coverage" in loaded:  # it keeps its data there
        refused.discard("sqlite3")
    assert not loaded.intersection(refused)


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
