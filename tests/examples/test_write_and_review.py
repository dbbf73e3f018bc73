"""The write-and-review example: its actions called directly, a scripted run, and a run on the embedded model."""

import pytest

from examples.write_and_review import ReviewedStory, Story, WriteAndReview
from tactician import Platform, UserInput
from tactician.testing import ScriptedModel


async def test_the_writer_is_creative_and_told_the_subject() -> None:
    model = ScriptedModel("Once upon a time ...")
    story = await WriteAndReview(word_count=200).craft_story(UserInput("a brave knight"), model.ai())
    assert story == Story(text="Once upon a time ...")
    assert "a brave knight" in model.calls[0].prompt
    assert "200 words" in model.calls[0].prompt
    assert model.calls[0].options.temperature == 0.9


async def test_the_story_is_written_and_then_reviewed_by_a_strict_editor() -> None:
    model = ScriptedModel("Once upon a time ...", "A thrilling tale")
    platform = Platform(models=model).register(WriteAndReview())
    reviewed = await platform.invoke(ReviewedStory, "a brave knight")
    assert reviewed == ReviewedStory(story=Story(text="Once upon a time ..."), review="A thrilling tale")
    assert "Once upon a time ..." in model.calls[1].prompt
    assert model.calls[1].options.temperature == 0.2
    assert str(reviewed).endswith("--- Review ---\nA thrilling tale")


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model() -> None:
    platform = Platform().register(WriteAndReview(word_count=30))
    reviewed = await platform.invoke(ReviewedStory, "a robot that learns to paint")
    assert reviewed.story.text
    assert reviewed.review
