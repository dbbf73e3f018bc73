"""`Autonomy`: a model finds the agent, or the goal, that a request is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import Agent, Ai, Platform, RunStatus, UserInput, achieves_goal, action, planned_agent, tool
from tactician.agents import RouteChosen
from tactician.errors import AgentNotFoundError, NoAgentFitsError, Ranked
from tactician.events import Event
from tactician.platform import Autonomy
from tactician.process import ProcessOptions, ProcessStatus, ProcessStuckError, ask_human
from tactician.runs import Budget, OutputError, RunResult, approve
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.support.stored import JsonStore, respond


@dataclass(frozen=True)
class Facts:
    text: str


@dataclass(frozen=True)
class Report:
    text: str


@dataclass(frozen=True)
class Poem:
    text: str


@dataclass(frozen=True)
class Map:
    text: str


@dataclass(frozen=True)
class Place:
    name: str


@planned_agent(description="researches a subject and reports")
class Researcher:
    @action
    def research(self, user_input: UserInput) -> Facts:
        return Facts(f"facts about {user_input.content}")

    @achieves_goal("a report of facts")
    @action
    def report(self, facts: Facts) -> Report:
        return Report(f"report of {facts.text}")


@planned_agent(description="writes poems from facts")
class Poet:
    @achieves_goal("a poem about facts")
    @action
    def rhyme(self, facts: Facts) -> Poem:
        return Poem(f"poem of {facts.text}")


@planned_agent(description="draws maps of places")
class Cartographer:
    @achieves_goal("a map of a place")
    @action
    def draw(self, place: Place) -> Map:
        return Map(place.name)


@planned_agent(description="asks people")
class Asker:
    @achieves_goal("what a person said")
    @action
    async def ask(self, user_input: UserInput) -> Poem:
        return Poem(await ask_human(str, user_input.content))


def ranking(scores: Mapping[str, float] | Sequence[tuple[str, float]]) -> dict[str, object]:
    pairs = scores.items() if isinstance(scores, Mapping) else scores
    return {"value": [{"name": name, "confidence": score, "reason": f"{name}!"} for name, score in pairs]}


def platform_of(*steps: Step, agents: Sequence[object] | None = None) -> tuple[Platform, ScriptedModel]:
    model = ScriptedModel(*steps)
    platform = Platform(models=model, store=MemoryStore())
    return platform.register(*(agents if agents is not None else [Researcher(), Poet(), Cartographer()])), model


class TestClosed:
    async def test_the_model_selects_the_agent_by_the_input_and_what_agents_there_are(self) -> None:
        platform, model = platform_of(ranking({"Poet": 0.3, "Researcher": 0.9, "Cartographer": 0.1}))
        result = await Autonomy(platform).run("research the election", mode="closed")
        assert result.output == Report("report of facts about research the election")
        assert result.delegation_path == ("Researcher",)
        (call,) = model.calls
        assert "research the election" in call.prompt
        for agent in platform.agents.values():
            assert f"- {agent.name}: {agent.description}" in call.prompt

    async def test_the_answer_is_constrained_to_the_names_that_there_are(self) -> None:
        platform, model = platform_of(ranking({"Researcher": 0.9}))
        await Autonomy(platform).run("x")
        assert model.calls[0].output is not None
        schema = str(model.calls[0].output.schema)
        assert "['Researcher', 'Poet', 'Cartographer']" in schema
        assert "'maximum': 1" in schema

    async def test_any_runnable_can_be_chosen(self) -> None:
        helper = Agent("Helper", model=ScriptedModel("Hello!"), instructions="You help.")
        platform, _ = platform_of(ranking({"Helper": 0.7}), agents=[helper, Researcher()])
        result = await Autonomy(platform).run("hi")
        assert (result.output, result.delegation_path) == ("Hello!", ("Helper",))
        assert result.usage.requests == 2

    async def test_below_the_cutoff_nothing_is_done_and_the_ranking_is_told(self) -> None:
        platform, _ = platform_of(ranking({"Poet": 0.2, "Researcher": 0.59}))
        with pytest.raises(
            NoAgentFitsError, match=r"No agent fits .* 0\.6 or more: Researcher 0\.59 \(Researcher!\);"
        ) as no:
            await Autonomy(platform).run("bake a cake")
        assert no.value.ranking == (
            Ranked("Researcher", 0.59, "Researcher!"),
            Ranked("Poet", 0.2, "Poet!"),
            Ranked("Cartographer", 0.0, "not ranked"),
        )
        assert isinstance(no.value, AgentNotFoundError)
        assert await platform.processes() == []

    @pytest.mark.parametrize("confidence", [0.6, 1])
    async def test_the_cutoff_itself_is_enough(self, confidence: float) -> None:
        platform, _ = platform_of(ranking({"Researcher": confidence}))
        assert (await Autonomy(platform).run("x")).status is RunStatus.COMPLETED

    async def test_the_cutoff_can_be_set(self) -> None:
        platform, _ = platform_of(ranking({"Researcher": 0.5}), ranking({"Researcher": 0.9}))
        assert (await Autonomy(platform, agent_cutoff=0.5).run("x")).status is RunStatus.COMPLETED
        with pytest.raises(NoAgentFitsError):
            await Autonomy(platform, agent_cutoff=0.95).run("x")

    async def test_of_equals_the_one_that_was_registered_first_is_chosen(self) -> None:
        platform, _ = platform_of(ranking({"Poet": 0.8, "Researcher": 0.8}))
        assert (await Autonomy(platform).run("x")).delegation_path == ("Researcher",)

    async def test_a_name_that_there_is_not_is_asked_for_again_with_the_reason(self) -> None:
        platform, model = platform_of(ranking({"Reseacher": 0.9}), ranking({"Researcher": 0.9}))
        assert (await Autonomy(platform).run("x")).delegation_path == ("Researcher",)
        assert "Input should be 'Researcher', 'Poet' or 'Cartographer'" in model.calls[1].prompt

    async def test_a_name_that_comes_twice_is_asked_for_again_with_the_reason(self) -> None:
        platform, model = platform_of(ranking([("Poet", 0.9), ("Poet", 0.1)]), ranking({"Researcher": 0.9}))
        assert (await Autonomy(platform).run("x")).delegation_path == ("Researcher",)
        assert "Poet is listed more than once" in model.calls[1].prompt

    @pytest.mark.parametrize("retries", [0, 1])
    async def test_it_gives_up_after_its_retries(self, retries: int) -> None:
        platform, model = platform_of(*["what?"] * (retries + 1))
        with pytest.raises(OutputError, match="Ranker: no valid Ranking in"):
            await Autonomy(platform, retries=retries).run("x")
        model.assert_exhausted()

    async def test_the_project_may_say_who_ranks_and_how_sure_it_has_to_be(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "tactician.toml"
        file.write_text('[platform.ranking]\nmodel = "ranker"\nagent_cutoff = 0.3\n', encoding="utf-8")
        monkeypatch.setenv("TACTICIAN_CONFIG", str(file))
        platform, model = platform_of(ranking({"Researcher": 0.4}), ranking({"Researcher": 0.4}))
        assert (await Autonomy(platform).run("x")).delegation_path == ("Researcher",)
        assert model.calls[0].options.model == "ranker"
        with pytest.raises(NoAgentFitsError, match=r"a confidence of 0\.5 or more"):
            await Autonomy(platform, agent_cutoff=0.5).run("x")

    async def test_a_platform_without_agents_says_what_to_do(self) -> None:
        platform, model = platform_of(agents=[])
        with pytest.raises(NoAgentFitsError, match=r"No agent is registered .*platform\.register"):
            await Autonomy(platform).run("x")
        assert model.calls == []

    async def test_another_model_may_rank(self) -> None:
        platform, model = platform_of()
        ranker = ScriptedModel(ranking({"Researcher": 0.9}))
        assert (await Autonomy(platform, model=ranker).run("x")).usage.requests == 1
        assert model.calls == []

    async def test_listeners_hear_who_was_chosen(self) -> None:
        events: list[Event] = []
        platform = Platform(models=ScriptedModel(ranking({"Poet": 0.1, "Researcher": 0.9})), on_event=events.append)
        await Autonomy(platform.register(Researcher(), Poet())).run("x")
        (chosen,) = (event for event in events if isinstance(event, RouteChosen))
        assert (chosen.target, chosen.description) == ("Researcher", "researches a subject and reports")

    async def test_a_process_gets_the_options(self) -> None:
        platform, _ = platform_of(ranking({"Researcher": 0.9}))
        await Autonomy(platform).run("x", options=ProcessOptions(budget=Budget(actions=7)))
        (process,) = await platform.processes()
        assert process.options.budget.actions == 7

    async def test_what_the_process_uses_is_counted_too(self) -> None:
        @planned_agent(description="sings")
        class Singer:
            @achieves_goal("a song")
            @action
            async def sing(self, user_input: UserInput, ai: Ai) -> Poem:
                return Poem(await ai.generate_text(user_input.content))

        platform, model = platform_of(ranking({"Singer": 0.9}), "la la", agents=[Singer()])
        result = await Autonomy(platform).run("a song")
        assert (result.output, result.usage.requests) == (Poem("la la"), len(model.calls))

    async def test_a_process_that_is_stuck_says_so(self) -> None:
        platform, _ = platform_of(ranking({"Cartographer": 0.9}))
        with pytest.raises(ProcessStuckError, match="Place"):
            await Autonomy(platform).run("a map of Rome")

    async def test_a_process_that_waits_goes_on_by_the_platform(self) -> None:
        platform, _ = platform_of(ranking({"Asker": 0.9}), agents=[Asker()])
        result = await Autonomy(platform).run("a word?")
        assert result.status is RunStatus.WAITING
        assert result.process_id is not None
        process = await respond(platform, await platform.process(result.process_id), "yes")
        assert process.result == Poem("yes")

    async def test_an_agent_that_waits_goes_on_by_the_platform(self) -> None:
        @tool(needs_approval=True)
        def pay() -> str:
            return "paid"

        payer = Agent("Payer", model=ScriptedModel(ToolCall("pay"), "It is paid."), tools=[pay])
        platform, _ = platform_of(ranking({"Payer": 0.9}), agents=[payer])
        result = await Autonomy(platform).run("pay!")
        assert result.status is RunStatus.WAITING
        done = await platform.respond(result.run_id, result.pending[0].id, approve())
        assert isinstance(done, RunResult)
        assert done.output == "It is paid."

    async def test_a_ranking_can_be_had_without_doing_anything(self) -> None:
        platform, _ = platform_of(ranking({"Poet": 0.4, "Researcher": 0.9}))
        first, *_ = await Autonomy(platform).rank("x")
        assert str(first) == "Researcher 0.90 (Researcher!)"
        assert await platform.processes() == []


class TestOpen:
    async def test_the_model_selects_the_goal_and_an_agent_is_assembled_that_can_reach_it(self) -> None:
        platform, model = platform_of(ranking({"Poet.rhyme": 0.9, "Researcher.report": 0.2}))
        result = await Autonomy(platform).run("a poem about the sea", mode="open")
        assert result.output == Poem("poem of facts about a poem about the sea")
        assert result.delegation_path == ("Poet.rhyme",)
        assert "- Poet.rhyme: a poem about facts" in model.calls[0].prompt
        (process,) = await platform.processes()
        assert [run.action for run in process.history] == ["Researcher.research", "Poet.rhyme"]

    async def test_only_actions_that_may_help_are_in_it(self) -> None:
        platform, _ = platform_of(ranking({"Poet.rhyme": 0.9}))
        await Autonomy(platform).run("x", mode="open")
        (process,) = await platform.processes()
        assert [action.name for action in process.agent.actions] == ["Researcher.research", "Poet.rhyme"]

    async def test_below_the_cutoff_for_goals_nothing_is_done(self) -> None:
        platform, _ = platform_of(ranking({"Poet.rhyme": 0.7}))
        with pytest.raises(NoAgentFitsError, match=r"No goal fits the request with a confidence of 0\.8"):
            await Autonomy(platform, goal_cutoff=0.8, agent_cutoff=0).run("x", mode="open")

    async def test_a_goal_that_no_actions_reach_is_not_pretended_to_be_reached(self) -> None:
        platform, _ = platform_of(ranking({"Cartographer.draw": 0.9}))
        with pytest.raises(ProcessStuckError, match="Place"):
            await Autonomy(platform).run("a map", mode="open")

    async def test_agents_without_goals_are_no_candidates(self) -> None:
        platform, model = platform_of(agents=[Agent("Helper", model=ScriptedModel())])
        with pytest.raises(NoAgentFitsError, match="No planned agent with a goal"):
            await Autonomy(platform).run("x", mode="open")
        assert model.calls == []

    async def test_what_waits_goes_on_wherever_the_same_agents_are(self) -> None:
        store = JsonStore()
        first = Platform(models=ScriptedModel(ranking({"Asker.ask": 0.9})), store=store).register(Asker(), Poet())
        result = await Autonomy(first).run("a word?", mode="open")
        assert result.process_id is not None
        second = Platform(models=ScriptedModel(), store=store).register(Asker(), Poet())
        process = await respond(second, await second.process(result.process_id), "yes")
        assert (process.status, process.result) == (ProcessStatus.COMPLETED, Poem("yes"))

    async def test_it_does_not_go_on_where_the_goal_is_not_known(self) -> None:
        store = MemoryStore()
        first = Platform(models=ScriptedModel(ranking({"Asker.ask": 0.9})), store=store).register(Asker())
        result = await Autonomy(first).run("a word?", mode="open")
        assert result.process_id is not None
        for agents in ([Poet()], []):
            second = Platform(models=ScriptedModel(), store=store).register(*agents)
            with pytest.raises(AgentNotFoundError, match=r"No agent is registered as 'towards Asker\.ask'"):
                await second.process(result.process_id)

    async def test_an_assembled_agent_is_not_registered(self) -> None:
        platform, _ = platform_of(ranking({"Poet.rhyme": 0.9}))
        await Autonomy(platform).run("x", mode="open")
        assert list(platform.agents) == ["Researcher", "Poet", "Cartographer"]
