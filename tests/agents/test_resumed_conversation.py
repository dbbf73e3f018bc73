"""A conversation of which a run waits."""

from __future__ import annotations

from tactician import Agent, RunContext, RunStatus, approve, tool
from tactician.conversation import Conversation
from tactician.llm import UserMessage
from tactician.testing import ScriptedModel, ToolCall


@tool(needs_approval=True)
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"{path} is gone"


async def test_a_conversation_that_was_left_to_wait_is_complete_when_its_run_has_gone_on() -> None:
    model = ScriptedModel(ToolCall("delete_file", path="a"), "Done.", "Yes.")
    agent, context = Agent("a", tools=[delete_file]), RunContext.over(model)
    conversation = Conversation()
    waiting = await agent.run("Delete a", context=context, conversation=conversation)
    assert waiting.status is RunStatus.WAITING
    kept = Conversation.from_json(conversation.to_json())
    kept.insert(UserMessage("Hurry."))
    responses = {waiting.pending[0].id: approve()}
    result = await agent.resume(waiting.run_id, responses, context=context, conversation=kept)
    assert result.output == "Done."
    assert kept.open_calls == ()
    await agent.run("Is it gone?", context=context, conversation=kept)
    assert model.calls[2].prompt == "Delete a\n\na is gone\nHurry.\nDone.\nIs it gone?"


async def test_without_the_conversation_the_run_goes_on_with_its_own() -> None:
    model = ScriptedModel(ToolCall("delete_file", path="a"), "Done.")
    agent, context = Agent("a", tools=[delete_file]), RunContext.over(model)
    conversation = Conversation([UserMessage("Before")])
    waiting = await agent.run("Delete a", context=context, conversation=conversation)
    result = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
    assert result.output == "Done."
    assert model.calls[1].prompt == "Before\nDelete a\n\na is gone"
