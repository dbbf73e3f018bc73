"""The examples of ensembles as data, on scripts."""

from pathlib import Path

import pytest

from examples.stock_check import script
from tactician import Blueprint, Ensemble, RunContext
from tactician.testing import ScriptedModel
from tests.cli.support import tactician

FOLDER = Path(__file__).parents[2] / "examples" / "blueprints"


def load(name: str) -> Ensemble:
    """Build an example."""
    made = Blueprint.load(FOLDER / name, allow=["examples"])
    assert isinstance(made, Ensemble)
    return made


async def test_an_article_about_the_topic_is_written_from_facts_and_quotes() -> None:
    model = ScriptedModel()
    model.when(prompt_contains="Write an article about frogs").reply("Frogs have no ears. They sing all the same.")
    model.when(prompt_contains="Research facts about frogs").reply("They have no ears.")
    model.when(prompt_contains="Collect what people say about frogs").reply("They sing!")
    result = await load("newsroom.yaml").run({"topic": "frogs"}, context=RunContext.over(model))
    assert result.output == "Frogs have no ears. They sing all the same."
    assert "They have no ears." in model.calls[2].prompt
    assert "They sing!" in model.calls[2].prompt


@pytest.mark.embedded
def test_the_command_of_the_newsroom_runs_on_the_embedded_model(tmp_path: Path) -> None:
    done = tactician("blueprint", "run", str(FOLDER / "newsroom.yaml"), "topic=AI", cwd=tmp_path)
    assert (done.code, done.out.strip() != "") == (0, True)
    assert [line.split()[1] for line in done.err.splitlines() if line.startswith("✓")][-1] == "article"


async def test_letters_are_read_and_the_reply_is_revised_until_it_is_short() -> None:
    model = ScriptedModel()
    model.when(prompt_contains="The reply has 14 words; it may have 12.").reply("We stop the mill at night.")
    model.when(prompt_contains="Write one sentence in reply, as the owner").reply(" ".join(["word"] * 14))
    model.when(prompt_contains="Sum up this letter").reply("a letter")
    model.when(prompt_contains="Sum up these").reply("all letters")
    result = await load("reading_room.yaml").run("the owner of a mill", context=RunContext.over(model))
    assert result.output == "We stop the mill at night."
    assert len(result["letters"].parts) == 6
    assert len(model.calls) == 8


async def test_a_rule_leaves_a_note_that_the_next_run_reads_beside_the_last_output() -> None:
    trends, model = load("trends.yaml"), ScriptedModel("Loom", "## Summary\nLoom")
    for _ in range(2):
        await trends.run("cloud-native Java", context=RunContext.over(model))
    assert "## Summary" not in model.calls[0].prompt
    assert "- Always include a ## Summary section as the first heading" in model.calls[1].prompt
    assert "Loom" in model.calls[1].prompt


async def test_the_order_is_written_from_what_the_tools_gave() -> None:
    result = await load("stock_check.yaml").run("tea", context=RunContext.over(script()))
    assert result.output == "We order 6 green tea and 4 white tea for 70.00 euros."
    assert [output.tool_calls for output in result.task_outputs] == [1, 1, 2]


@pytest.mark.parametrize("name", ["newsroom.yaml", "reading_room.yaml", "trends.yaml", "stock_check.yaml"])
def test_an_example_is_the_same_after_its_way_to_python_and_back(name: str) -> None:
    blueprint = load(name).to_blueprint(strict=True)
    again = Blueprint.from_yaml(blueprint.to_yaml()).build(allow=["examples"])
    assert again.to_blueprint(strict=True) == blueprint
