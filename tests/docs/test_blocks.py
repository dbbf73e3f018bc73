"""Every block of Python in the documentation runs as it stands, twice in a row; every configuration is valid."""

import json
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tactician import AgentService, Blueprint
from tactician.config.loading import load_settings
from tactician.llm import ModelCatalog, ModelRouter
from tactician.llm.instances import parse_instances
from tactician.testing import ScriptedModel
from tests.docs.pages import Block, list_blocks, promised_outputs
from tests.support.forking import ForkingProgram, bare_environment
from tests.support.modules import HAS_EVALS

FOREIGN = "# with "
"""First words of a program for another framework: `benchmarks/coming_from.py` runs it, where that is installed."""


TUTORIAL = "docs/start/tutorial.md"
"""Page whose programs depend on each other: `test_tutorial.py` runs them."""


def own_programs() -> list[Block]:
    """Return the programs that stand for themselves; a program that several pages show is there once."""
    blocks = [block for block in list_blocks("python") if block.page != TUTORIAL]
    return list({block.text: block for block in blocks if not block.text.startswith(FOREIGN)}.values())


@cache
def program() -> ForkingProgram:
    return ForkingProgram("tests.docs.program:serve")


@pytest.mark.embedded
@pytest.mark.parametrize("block", own_programs(), ids=str)
def test_a_program_of_the_documentation_runs_twice(block: Block, tmp_path: Path) -> None:
    if "pydantic_evals" in block.text and not HAS_EVALS:
        pytest.skip("the extra `evals` is not installed")
    file = tmp_path / "program.py"
    file.write_text(block.text, encoding="utf-8")

    done = program().run((str(file), str(file)), bare_environment(), tmp_path)

    assert done.code == 0, done.err
    assert not done.err
    assert [text for text in promised_outputs(block) if text not in " ".join(done.out.split())] == []


def test_the_readme_has_programs_to_run() -> None:
    assert len(list_blocks("python", "README.md")) >= 3


def instance_lists() -> list[Block]:
    return [block for block in list_blocks("json") if isinstance(json.loads(block.text), list)]


@pytest.mark.parametrize("block", instance_lists(), ids=str)
def test_a_list_of_instances_is_valid(block: Block) -> None:
    environment = dict.fromkeys(re.findall(r"\$\{(\w+)\}", block.text), "dummy")

    served = {instance.id: instance for instance in parse_instances(block.text, environment)}

    listed = {entry["id"]: entry for entry in json.loads(block.text) if entry.get("enabled", True)}
    assert served.keys() == listed.keys()
    assert ModelRouter.from_json(block.text, environment=environment).models


@pytest.mark.parametrize("block", list_blocks("toml"), ids=str)
def test_a_configuration_is_valid(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "tactician.toml"
    file.write_text(block.text, encoding="utf-8")

    settings = load_settings(file)

    assert settings.model_fields_set == tomllib.loads(block.text).keys()
    ModelCatalog(settings, environment={})  # which also reads the profiles


def agent_files() -> list[Block]:
    return [block for block in list_blocks("json") if isinstance(json.loads(block.text), dict)]


@pytest.mark.parametrize("block", agent_files(), ids=str)
def test_an_agent_file_is_valid(block: Block, tmp_path: Path) -> None:
    (tmp_path / "agent.json").write_text(block.text, encoding="utf-8")

    assert set(AgentService(ScriptedModel(), folder=tmp_path).agents) == {json.loads(block.text)["id"]}


def blueprints() -> list[Block]:
    return [block for block in list_blocks("yaml") if block.text.startswith("type:")]


@pytest.mark.parametrize("block", blueprints(), ids=str)
def test_a_blueprint_has_no_mistake_of_form(block: Block) -> None:
    assert Blueprint.from_yaml(block.text).to_data()["type"]


def test_the_documentation_has_configurations() -> None:
    assert len(instance_lists()) >= 2
    assert agent_files()
    assert blueprints()
    assert list_blocks("toml")
