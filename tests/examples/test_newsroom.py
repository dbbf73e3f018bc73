"""The newsroom example: a scripted run, and a run on the embedded model."""

import pytest

from examples.newsroom import agent
from tactician import RunContext, RunStatus
from tactician.testing import ScriptedModel


async def test_the_article_is_written_from_facts_and_quotes() -> None:
    model = ScriptedModel()
    model.when(prompt_contains="Write an article").reply("Frogs have no ears. They sing all the same.")
    model.when(prompt_contains="Research facts about frogs").reply("They have no ears.")
    model.when(prompt_contains="Collect what people say about frogs").reply("They sing!")
    result = await agent.run("frogs", context=RunContext.over(model))
    assert result.output == "Frogs have no ears. They sing all the same.\n\n(9 words)"
    assert {output.role: output.raw for output in result.task_outputs[:2]} == {
        "Researcher": "They have no ears.",
        "Reporter": "They sing!",
    }
    assert "They have no ears." in model.calls[2].prompt
    assert "They sing!" in model.calls[2].prompt


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model() -> None:
    result = await agent.run("frogs")
    assert result.status is RunStatus.COMPLETED
    assert result.raw.endswith("words)")
    assert result.usage.requests == 3
