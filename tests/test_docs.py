"""Every Python block of the documentation runs as it stands, on the embedded model; every configuration is valid."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tactician import AgentService
from tactician.config import load_settings
from tactician.llm import ModelCatalog, ModelRouter, parse_instances
from tactician.testing import ScriptedModel

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks() -> list[tuple[str, str]]:
    found = ((page.relative_to(ROOT), text) for page in PAGES for text in BLOCK.findall(page.read_text("utf-8")))
    return [(f"{page} #{number}", text) for number, (page, text) in enumerate(found, start=1)]


def without_model_settings() -> dict[str, str]:
    settings = re.compile(r".*_(API_KEY|BASE_URL)$|^LLM_INSTANCES$|^TACTICIAN_")
    return {name: value for name, value in os.environ.items() if not settings.match(name)}


@pytest.mark.embedded
@pytest.mark.parametrize("source", [pytest.param(text, id=label) for label, text in blocks()])
def test_a_block_of_the_documentation_runs(source: str, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env=without_model_settings(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def test_the_readme_has_blocks_to_run() -> None:
    assert sum(label.startswith("README.md") for label, _ in blocks()) >= 5


MODELS = ROOT / "docs" / "models.md"
CONVERSATIONS = ROOT / "docs" / "conversations.md"


def blocks_of(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def instance_lists() -> list[str]:
    return [text for text in blocks_of(MODELS, "json") if isinstance(json.loads(text), list)]


@pytest.mark.parametrize("text", instance_lists())
def test_a_list_of_instances_in_the_documentation_is_valid(text: str) -> None:
    environment = dict.fromkeys(re.findall(r"\$\{(\w+)\}", text), "dummy")

    served = {instance.id: instance for instance in parse_instances(text, environment)}

    listed = {entry["id"]: entry for entry in json.loads(text) if entry.get("enabled", True)}
    assert served.keys() == listed.keys()
    assert ModelRouter.from_json(text, environment=environment).models


@pytest.mark.parametrize("text", blocks_of(MODELS, "toml"))
def test_a_configuration_in_the_documentation_is_valid(text: str, tmp_path: Path) -> None:
    file = tmp_path / "tactician.toml"
    file.write_text(text, encoding="utf-8")

    settings = load_settings(file)

    assert settings.models != type(settings.models)()
    ModelCatalog(settings, environment={})  # which also reads the facts


@pytest.mark.parametrize("text", blocks_of(CONVERSATIONS, "json"))
def test_an_agent_file_in_the_documentation_is_valid(text: str, tmp_path: Path) -> None:
    (tmp_path / "agent.json").write_text(text, encoding="utf-8")

    assert set(AgentService(ScriptedModel(), folder=tmp_path).agents) == {json.loads(text)["id"]}


def test_the_guide_of_conversations_has_an_agent_file() -> None:
    assert blocks_of(CONVERSATIONS, "json")


def test_the_guide_of_models_has_lists_and_configurations() -> None:
    assert len(instance_lists()) >= 2
    assert blocks_of(MODELS, "toml")
