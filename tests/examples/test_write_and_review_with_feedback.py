"""Writing with feedback: a person turns the story down twice, in one program, and in several that share a store."""

from pathlib import Path

import pytest

from examples.write_and_review_with_feedback import (
    Feedback,
    ReviewedStory,
    Story,
    WriteAndReviewWithFeedback,
)
from tactician import Platform, ProcessStatus
from tactician.errors import ResponseError
from tactician.process import AgentProcess
from tactician.runs import PendingRequest
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel
from tests.support.stored import expect_process

ROUND = ["Assess.get_feedback", "Assess.assess"]
TWICE_REVISED = [
    "craft_story",
    *[*ROUND, "Revise.revise_story"] * 2,
    *ROUND,
    "Accepted.review_story",
]
REVIEWED = ReviewedStory(story=Story(text="Draft 3"), review="A thrilling tale")


def asked(process: AgentProcess, draft: str) -> PendingRequest:
    """What the process waits for: feedback on that draft."""
    assert process.status is ProcessStatus.WAITING, process.failure
    (request,) = process.pending
    assert request.kind == "form"
    assert draft in request.prompt
    return request


def done(process: AgentProcess) -> list[str]:
    """The actions that have run, without those that had to wait."""
    return [run.action for run in process.history if run.outputs]


async def test_it_is_revised_until_it_is_accepted() -> None:
    model = ScriptedModel("Draft 1", "Draft 2", "Draft 3", "A thrilling tale")
    platform = Platform(models=model)
    process = await platform.start(WriteAndReviewWithFeedback(word_count=200), "a brave knight")
    for number, comments in enumerate(("Shorter", "Funnier"), start=1):
        request = asked(process, f"Draft {number}")
        await platform.respond(process.id, request.id, Feedback(accepted=False, comments=comments))
    await platform.respond(process.id, asked(process, "Draft 3").id, Feedback(accepted=True))

    assert process.status is ProcessStatus.COMPLETED, process.failure
    assert process.result == REVIEWED
    assert done(process) == TWICE_REVISED
    first, second, third, review = (call.prompt for call in model.calls)
    assert "200 words about: a brave knight" in first
    assert "Draft 1" in second
    assert "Shorter" in second
    assert "Draft 2" in third
    assert "Funnier" in third
    assert "Draft 1" not in third + review  # entering a state takes what was there before off the blackboard
    assert "Draft 3" in review
    assert [call.options.temperature for call in model.calls] == [0.9, 0.9, 0.9, 0.2]
    assert str(REVIEWED) == "Draft 3\n\n--- Review ---\nA thrilling tale"
    model.assert_exhausted()


async def test_the_form_asks_whether_it_is_accepted_and_what_to_change() -> None:
    platform = Platform(models=ScriptedModel("Draft 1"))
    process = await platform.start(WriteAndReviewWithFeedback(), "a brave knight")
    request = asked(process, "Draft 1")
    assert request.schema is not None
    fields = request.schema["properties"]
    assert isinstance(fields, dict)
    assert {name: field["x-form"]["widget"] for name, field in fields.items()} == {
        "accepted": "checkbox",
        "comments": "textarea",
    }
    assert request.schema["required"] == ["accepted"]
    with pytest.raises(ResponseError, match="accepted"):
        await platform.respond(process.id, request.id, {"comments": "Nobody has said whether it will do"})
    asked(process, "Draft 1")


async def test_each_answer_may_come_to_another_program(tmp_path: Path) -> None:
    """As when `tactician respond` goes on with what `tactician run --store` has begun."""

    def elsewhere(*texts: str) -> Platform:
        store = SqliteStore(tmp_path / "stories.db")
        return Platform(models=ScriptedModel(*texts), store=store).register(WriteAndReviewWithFeedback())

    platform = elsewhere("Draft 1")
    process = await platform.start("WriteAndReviewWithFeedback", "a brave knight")
    for draft, accepted, says in (
        ("Draft 1", False, "Draft 2"),
        ("Draft 2", False, "Draft 3"),
        ("Draft 3", True, "A thrilling tale"),
    ):
        await platform.store.aclose()
        platform = elsewhere(says)
        process = await platform.process(process.id)
        answer = {"accepted": accepted, "comments": "Shorter"}
        process = expect_process(await platform.respond(process.id, asked(process, draft).id, answer))
    await platform.store.aclose()

    assert process.result == REVIEWED
    assert done(process) == TWICE_REVISED


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model() -> None:
    platform = Platform()
    process = await platform.start(WriteAndReviewWithFeedback(word_count=30), "a robot that learns to paint")
    await platform.respond(process.id, process.pending[0].id, Feedback(accepted=False, comments="Shorter"))
    await platform.respond(process.id, process.pending[0].id, Feedback(accepted=True))
    assert isinstance(process.result, ReviewedStory), process.failure
    assert process.result.story.text
    assert process.result.review
