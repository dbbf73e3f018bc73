"""Cases from what was recorded, and dialogues with simulated users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_evals import Case, Dataset

from tactician import (
    Agent,
    AgentService,
    Chatbot,
    Platform,
    SqliteStore,
    UserInput,
    UserMessage,
    achieves_goal,
    action,
    planned_agent,
    runnable,
)
from tactician.errors import ConfigurationError
from tactician.evals import (
    SimulatedDialogue,
    SimulatedUser,
    cases_from_conversations,
    cases_from_runs,
    evaluate,
)
from tactician.llm import AssistantMessage
from tactician.testing import ScriptedModel


@dataclass
class Order:
    number: int


@planned_agent(description="Answers")
class Answerer:
    @achieves_goal("An answer")
    @action
    def answer(self, asked: UserInput) -> str:
        return f"answer to {asked.content}"


@runnable
async def ship(order: Order) -> str:
    """Ships orders."""
    return f"shipped {order.number}"


def facts(case: Case[Any, Any, Any]) -> dict[str, str]:
    assert case.metadata is not None
    return dict(case.metadata)


async def test_recorded_runs_become_cases_of_which_each_gives_the_same_again(tmp_path: Path) -> None:
    agent = Agent("Echo", model=ScriptedModel("one", "one"))
    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        platform.register(agent, Answerer(), ship)
        await platform.run("Echo", "My key is sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, I am Ada")
        await platform.run("Answerer", UserInput("why"))
        await platform.run("ship", Order(17))
        cases = await cases_from_runs(platform, mask=lambda text: text.replace("Ada", "NAME"))
        assert [facts(case)["agent"] for case in cases] == ["Echo", "Answerer", "ship"]
        assert "sk-aaaa" not in str(cases)
        assert "I am NAME" in cases[0].inputs
        assert [case.inputs for case in cases[1:]] == ["why", Order(17)]
        assert [case.expected_output for case in cases] == ["one", "answer to why", "shipped 17"]
        (case,) = await cases_from_runs(platform, names=["ship"])
        report = await evaluate(Dataset(name="again", cases=[case]), ship, platform=platform)
        assert report.cases[0].output == case.expected_output


async def test_a_failed_run_gets_its_expected_output_from_a_fork(tmp_path: Path) -> None:
    fails = True

    @runnable
    async def work(text: str) -> str:
        if fails:
            raise ValueError("broken")
        return "mended"

    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        platform.register(work)
        with pytest.raises(ValueError, match="broken"):
            await platform.run("work", "go")
        (case,) = await cases_from_runs(platform, status="failed")
        assert (case.inputs, case.expected_output) == ("go", None)
        assert "broken" in facts(case)["failure"]
        fails = False
        await platform.fork(facts(case)["run_id"], at=0)
        (case,) = await cases_from_runs(platform)
        assert (case.inputs, case.expected_output) == ("go", "mended")
        assert facts(case)["corrected_by"] != facts(case)["run_id"]
        assert [each.inputs for each in await cases_from_runs(platform, run_ids=[facts(case)["run_id"]])] == ["go"]


async def test_conversations_become_a_case_for_each_answer(tmp_path: Path) -> None:
    model = ScriptedModel("Hello Ada", "You are Ada")
    async with Platform(models=model, store=SqliteStore(tmp_path / "runs.db")) as platform:
        service = AgentService(platform)
        service.register(Agent("Helper", id="helper"))
        talk = service.create_conversation()
        await service.request_agent("helper", "I am Ada", conversation_id=talk)
        await service.request_agent("helper", "Who am I?", conversation_id=talk)
        first, second = await cases_from_conversations(platform, mask=lambda text: text.replace("Ada", "NAME"))
    assert (first.inputs, first.expected_output) == ("I am NAME", "Hello NAME")
    assert second.expected_output == "You are NAME"
    assert [type(message) for message in second.inputs] == [UserMessage, AssistantMessage, UserMessage]
    report = await evaluate(Dataset(name="d", cases=[second]), Agent("Helper", model=ScriptedModel("You are NAME")))
    assert report.cases[0].output == "You are NAME"


async def test_a_scripted_user_talks_to_an_agent_and_to_a_chatbot(tmp_path: Path) -> None:
    user = SimulatedUser(script=("I am Ada", "Who am I?"))
    model = ScriptedModel("Hello", "You are Ada")
    dialogue = SimulatedDialogue(Agent("Helper", model=model))
    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        report = await evaluate(Dataset(name="d", cases=[Case(name="a", inputs=user)]), dialogue, platform=platform)
    transcript = report.cases[0].output
    assert [line.text for line in transcript.lines] == ["I am Ada", "Hello", "Who am I?", "You are Ada"]
    assert (transcript.turns, transcript.is_done) == (2, True)
    assert "I am Ada" in model.calls[1].prompt

    platform = Platform(models=ScriptedModel("Hello", "You are Ada")).register(Agent("Helper"))
    result = await SimulatedDialogue(Chatbot(platform, agent="Helper")).run(user, context=platform.context())
    assert result.output.lines[-1].text == "You are Ada"


async def test_a_model_plays_a_user_until_the_goal_is_reached_or_the_turns_are_used_up() -> None:
    player = ScriptedModel({"text": "Cheap flights?", "is_done": False}, {"text": "", "is_done": True})
    agent = Agent("Travel", model=ScriptedModel("Yes"))
    result = await SimulatedDialogue(agent, model=player).run({"goal": "find a flight", "persona": "terse"})
    assert (result.output.turns, result.output.is_done) == (1, True)
    assert "Persona: terse" in player.calls[0].prompt

    model = ScriptedModel()
    model.when().reply({"text": "more", "is_done": False})
    agent = Agent("Travel", model=ScriptedModel("1", "2"))
    limited = SimulatedDialogue(agent, model=model)
    result = await limited.run(SimulatedUser(goal="go on", max_turns=2))
    assert (result.output.turns, result.output.is_done) == (2, False)
    with pytest.raises(ConfigurationError, match="no goal and no script"):
        await limited.run({"persona": "nobody"})
