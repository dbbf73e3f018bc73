"""The reading room example: a scripted run, and a run on the embedded model."""

import pytest

from examples.reading_room import MOST_WORDS, agent
from tactician import RunContext, RunStatus
from tactician.testing import ScriptedModel


async def test_letters_are_read_and_the_reply_is_revised_until_it_is_short() -> None:
    model = ScriptedModel()
    model.when(prompt_contains="The reply has 14 words; it may have 12.").reply("We stop the mill at night.")
    model.when(prompt_contains="Write one sentence in reply, as the owner").reply(" ".join(["word"] * 14))
    model.when(prompt_contains="Sum up this letter").reply("a letter")
    model.when(prompt_contains="Sum up these").reply("all letters")
    result = await agent.run("the owner of a mill", context=RunContext.over(model))
    assert result.output == "We stop the mill at night."
    assert len(result["letters"].parts) == 6
    assert len(model.calls) == 8


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model() -> None:
    result = await agent.run("the owner of a mill")
    assert result.status is RunStatus.COMPLETED
    assert 1 <= len(result.raw.split()) <= MOST_WORDS
