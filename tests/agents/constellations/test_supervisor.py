"""`SupervisorAgent`."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from tactician import Agent, Budget, RouterAgent, SupervisorAgent, handoff, runnable
from tactician.errors import DeclarationError
from tactician.events import Event
from tactician.llm import ToolResult, UserMessage
from tactician.loop import TurnStarted
from tactician.runs import BudgetError, RunCompleted, TurnLimitError
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.agents.constellations.support import prompts_of, says, script_of, surroundings, system_of, told

WRITE = ToolCall("invoke_code_writer", request="write a sort")
REVIEW = ToolCall("invoke_reviewer", request="review a sort")


class Team:
    """A supervisor with two workers."""

    def __init__(self, *steps: Step, writes: Step = "a sort", reviews: Step = "fine") -> None:
        self.writer, self.reviewer = says("Code Writer", writes), says("Reviewer", reviews)
        self.model = ScriptedModel(*steps)
        workers = {"Writes code": self.writer, "Reviews code": self.reviewer}
        self.lead = SupervisorAgent("Team", model=self.model, instructions="Lead.", workers=workers)


def results_in(model: ScriptedModel, call: int) -> list[ToolResult]:
    return [message for message in model.calls[call].messages if isinstance(message, ToolResult)]


async def test_workers_are_tools_with_one_argument() -> None:
    team = Team("done")
    await team.lead.run("go", context=surroundings())
    specs = {spec.name: spec for spec in team.model.calls[0].tools}
    assert {name: spec.description for name, spec in specs.items()} == {
        "invoke_code_writer": "Writes code",
        "invoke_reviewer": "Reviews code",
    }
    parameters = specs["invoke_reviewer"].parameters
    assert parameters["required"] == ["request"]
    assert parameters["additionalProperties"] is False


async def test_the_instructions_name_the_workers() -> None:
    team = Team("done")
    await team.lead.run("go", context=surroundings())
    assert system_of(team.lead).startswith("Lead.\n\n")
    assert "- invoke_code_writer: Writes code\n- invoke_reviewer: Reviews code" in system_of(team.lead)
    assert team.lead.instructions == "Lead."
    assert team.lead.description == "Lead."


async def test_a_supervisor_needs_no_instructions_of_its_own() -> None:
    lead = SupervisorAgent("Team", model=ScriptedModel("done"), workers={"Writes": says("Writer")})
    await lead.run("go", context=surroundings())
    assert system_of(lead).startswith("These work for you")
    assert lead.description == "Team"


async def test_the_supervisor_answers_with_what_its_workers_gave() -> None:
    team = Team(WRITE, REVIEW, "all is well")
    result = await team.lead.run("I need a sort", context=surroundings())
    assert result.output == "all is well"
    assert [one.content for one in results_in(team.model, 2)] == ["a sort", "fine"]
    assert result.messages[0] == UserMessage("I need a sort")


async def test_a_worker_sees_the_request_only() -> None:
    team = Team(WRITE, "done")
    await team.lead.run("I need a sort", context=surroundings())
    assert prompts_of(team.writer) == ["write a sort"]


async def test_a_workers_error_is_a_result_for_the_supervisor() -> None:
    team = Team(WRITE, "it cannot be done", writes=LookupError("no keyboard"))
    result = await team.lead.run("I need a sort", context=surroundings())
    (told,) = results_in(team.model, 1)
    assert told.is_error
    assert "no keyboard" in told.content
    assert result.output == "it cannot be done"


async def test_workers_called_in_one_turn_work_at_once() -> None:
    both_have_begun = asyncio.Barrier(2)

    async def work(request: str) -> str:
        async with asyncio.timeout(30):
            await both_have_begun.wait()
        return f"{request} done"

    model = ScriptedModel([ToolCall("invoke_a", request="x"), ToolCall("invoke_b", request="y")], "done")
    workers = {"A": runnable(work, name="a"), "B": runnable(work, name="b")}
    await SupervisorAgent("Team", model=model, workers=workers).run("go", context=surroundings())
    assert [result.content for result in results_in(model, 1)] == ["x done", "y done"]


async def test_the_same_worker_twice_in_one_turn() -> None:
    both_have_begun = asyncio.Barrier(2)

    async def work(request: str) -> str:
        async with asyncio.timeout(30):
            await both_have_begun.wait()
        return f"{request} done"

    model = ScriptedModel([ToolCall("invoke_work", request="x"), ToolCall("invoke_work", request="y")], "done")
    workers = {"Works": runnable(work)}
    await SupervisorAgent("Team", model=model, workers=workers).run("go", context=surroundings())
    assert [result.content for result in results_in(model, 1)] == ["x done", "y done"]


def test_two_workers_of_the_same_name_are_an_error() -> None:
    with pytest.raises(DeclarationError, match="'invoke_code_writer' is used twice"):
        SupervisorAgent("Team", workers={"Writes": says("Code Writer"), "Writes too": says("CodeWriter")})


def test_a_supervisor_needs_a_worker() -> None:
    with pytest.raises(DeclarationError, match=r"SupervisorAgent 'Team'.*\n.*at least one worker"):
        SupervisorAgent("Team", workers={})


def test_long_names_are_cut_to_what_providers_accept() -> None:
    lead = SupervisorAgent("Team", workers={"Works": says("x" * 80)}, handoffs=[says("y" * 80)])
    assert [tool.name for tool in lead.tools] == ["invoke_" + "x" * 57, "transfer_to_" + "y" * 52]


async def test_its_turns_are_limited() -> None:
    calls = [ToolCall("invoke_writer", request=f"{n}") for n in range(9)]
    writer = says("Writer", *"abcdefghi")
    lead = SupervisorAgent("Team", model=ScriptedModel(*calls), workers={"Writes": writer}, max_turns=2)
    with pytest.raises(TurnLimitError, match="Team: no answer within 2 turns"):
        await lead.run("go", context=surroundings())
    assert len(script_of(writer).calls) == 2


class Verdict(BaseModel):
    good: bool


async def test_it_has_an_output_type_tools_and_handoffs_like_any_agent() -> None:
    def double(x: int) -> int:
        return 2 * x

    lead = SupervisorAgent(
        "Team",
        model=ScriptedModel(ToolCall("double", x=4), Verdict(good=True)),
        workers={"Writes": says("Writer")},
        tools=[double],
        handoffs=[handoff(says("Boss"))],
        output_type=Verdict,
        description="Builds things",
    )
    result = await lead.run("go", context=surroundings())
    assert result.output == Verdict(good=True)
    assert [tool.name for tool in lead.tools] == ["double", "invoke_writer", "transfer_to_boss"]
    assert lead.description == "Builds things"
    assert repr(lead) == "SupervisorAgent('Team')"


async def test_other_tools_leave_it_its_workers() -> None:
    def double(x: int) -> int:
        return 2 * x

    lead = SupervisorAgent("Team", workers={"Writes": says("Writer")}, tools=[double])
    lead.replace_tools([])
    assert [tool.name for tool in lead.tools] == ["invoke_writer"]


async def test_any_runnable_can_work() -> None:
    router = RouterAgent("Router", model=ScriptedModel("1"), routes={"all": says("Deep", "from below")})
    inner = SupervisorAgent(
        "Inner", model=ScriptedModel(ToolCall("invoke_router", request="r"), "inner"), workers={"Routes": router}
    )
    model = ScriptedModel(ToolCall("invoke_inner", request="i"), "outer")
    events: list[Event] = []
    result = await SupervisorAgent("Outer", model=model, workers={"Leads": inner}).run(
        "go", context=surroundings(events.append)
    )
    assert result.output == "outer"
    assert result.usage.requests == 6
    assert told(events, TurnStarted)[-3:] == [
        ("Outer", "Inner", "Router", "Deep"),
        ("Outer", "Inner"),
        ("Outer",),
    ]


async def test_a_stream_ends_with_the_result() -> None:
    team = Team(WRITE, "done")
    events = [event async for event in team.lead.stream("go", context=surroundings())]
    assert told(events, TurnStarted) == [("Team",), ("Team", "Code Writer"), ("Team",)]
    assert isinstance(last := events[-1], RunCompleted)
    assert last.result.output == "done"


async def test_workers_share_the_budget() -> None:
    team = Team(WRITE, REVIEW, "done")
    with pytest.raises(BudgetError):
        await team.lead.run("go", context=surroundings(), budget=Budget(turns=3))
    assert len(team.model.calls) == 2
    assert len(script_of(team.reviewer).calls) == 0


async def test_one_supervisor_runs_many_times_at_once() -> None:
    async def echo(request: str) -> str:
        await asyncio.sleep(0)
        return request

    model = ScriptedModel().when(prompt_contains="echo: ").reply("done")
    model.when(prompt_contains="go ").reply(ToolCall("invoke_echo", request="echo: x"))
    lead: Agent = SupervisorAgent("Team", model=model, workers={"Echoes": runnable(echo)})
    results = await asyncio.gather(*(lead.run(f"go {n}", context=surroundings()) for n in range(50)))
    assert {result.output for result in results} == {"done"}
    assert [result.messages[0] for result in results] == [UserMessage(f"go {n}") for n in range(50)]
