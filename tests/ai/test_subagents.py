"""Agents, and all that runs, as tools of one call."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tactician import Agent, Ai, UserInput, achieves_goal, action, planned_agent, runnable
from tactician.llm import ToolResult
from tactician.llm.usage import UsageTally
from tactician.runs import Input, RunContext, Runnable, RunResult
from tactician.testing import ScriptedModel, ToolCall


@dataclass
class Shout:
    text: str


@planned_agent(description="Says it loudly")
class Shouter:
    @achieves_goal("It is shouted")
    @action
    def shout(self, user_input: UserInput) -> Shout:
        return Shout(user_input.content.upper())


class Echo:
    """The least that a Runnable is."""

    name = "Echo"
    description = "Says it again"

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[object]:
        return RunResult(f"{input} {input}")


def results_of(model: ScriptedModel) -> list[str]:
    return [one.content for one in model.calls[-1].messages if isinstance(one, ToolResult)]


async def test_whatever_runs_is_a_tool(scripted_model: ScriptedModel) -> None:
    async def backwards(text: str) -> str:
        return text[::-1]

    scripted_model.script(
        [
            ToolCall("shouter", request="hi"),
            ToolCall("echo", request="ho"),
            ToolCall("mirror", request="abc"),
            ToolCall("poet", request="the sea"),
        ],
        "Waves.",
        "All done",
    )
    shouter: object = Shouter()
    assert isinstance(shouter, Runnable)
    mirror = runnable(backwards, name="Mirror", description="Turns a text around")
    ai = (
        scripted_model.ai().with_subagents(shouter, Echo(), mirror).with_subagents(Agent("Poet", instructions="Rhyme."))
    )

    assert await ai.generate_text("go") == "All done"
    assert [one.name for one in scripted_model.calls[0].tools] == ["shouter", "echo", "mirror", "poet"]
    assert scripted_model.calls[0].tools[1].description == "Says it again"
    assert results_of(scripted_model) == ['{"text":"HI"}', "ho ho", "cba", "Waves."]


async def test_what_they_use_is_counted_for_the_call() -> None:
    model, tally = ScriptedModel(ToolCall("poet", request="x"), "Waves.", "done"), UsageTally()

    await Ai(replace(RunContext.over(model), tally=tally)).with_subagents(Agent("Poet")).generate_text("go")

    assert tally.total.requests == 3


async def test_what_they_write_is_not_taken_for_an_answer() -> None:
    model = ScriptedModel(ToolCall("poet", request="x"), '{"value": [7, 8, 9]}', {"value": [1, 2]})
    ai = model.ai().with_subagents(Agent("Poet"))

    assert [item async for item in ai.stream_objects(int, "numbers")] == [1, 2]
