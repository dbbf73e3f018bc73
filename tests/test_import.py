"""`import tactician` is light: nothing heavy is loaded before it is used."""

import subprocess
import sys

HEAVY = (
    "aiohttp",
    "asyncio",
    "genai_prices",
    "jinja2",
    "opentelemetry",
    "pydantic",
    "sqlalchemy",
    "temporalio",
    "pytest",
    "rich",
    "typer",
    "xllamacpp",
    "yaml",
)


def loaded_by(code: str) -> set[str]:
    report = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_by("import tactician").intersection(HEAVY)


def test_using_the_planner_loads_nothing_that_a_model_needs() -> None:
    loaded = loaded_by("from tactician.planning import AStarPlanner")
    assert not loaded.intersection(HEAVY)


def test_an_agent_is_declared_without_http_prices_or_the_embedded_model() -> None:
    loaded = loaded_by("from tactician import Agent, planned_agent, Platform; Agent('Helper')")
    assert not loaded.intersection({"aiohttp", "genai_prices", "xllamacpp", "rich", "typer", "jinja2", "yaml"})
