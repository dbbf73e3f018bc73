"""The example with an editor: the run waits for the decision, in another program if need be."""

from examples.reviewed_article import agent
from tactician import ReviewDecision, RunContext, RunStatus
from tactician.ensemble import ExitReason
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore


async def test_an_editor_sends_the_article_back_and_then_edits_it() -> None:
    model = ScriptedModel("1. ears 2. songs 3. ponds", "Frogs sing.", "Frogs sing at night.")
    context = RunContext.over(model, store=JsonStore())
    waiting = await agent.run("frogs", context=context)
    assert waiting.status is RunStatus.WAITING
    assert waiting.pending[0].prompt == "Shall this article be printed?\n\nFrogs sing."
    retry = {waiting.pending[0].id: ReviewDecision.retry("When do they sing?")}
    waiting = await agent.resume(waiting.run_id, retry, context=context)
    assert "When do they sing?" in model.calls[2].prompt
    edit = {waiting.pending[0].id: ReviewDecision.edit("Frogs sing all night.")}
    result = await agent.resume(waiting.run_id, edit, context=context)
    assert (result.raw, result.exit_reason) == ("PRINTED\n\nFrogs sing all night.", ExitReason.COMPLETED)


async def test_an_editor_stops_it() -> None:
    context = RunContext.over(ScriptedModel("points", "Frogs sing."), store=JsonStore())
    waiting = await agent.run("frogs", context=context)
    stop = {waiting.pending[0].id: ReviewDecision.exit_early()}
    result = await agent.resume(waiting.run_id, stop, context=context)
    assert (result.raw, result.exit_reason) == ("Frogs sing.", ExitReason.EXIT_EARLY)
