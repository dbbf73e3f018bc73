"""A tool that needs an approval, in every place of every constellation: the run waits, and goes on to the same end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tactician import (
    Agent,
    AgentNetwork,
    Budget,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
    RunContext,
    RunResult,
    RunStatus,
    SupervisorAgent,
    approve,
    reject,
)
from tactician.agents import BaseRunnable
from tactician.errors import RunNotFoundError
from tactician.events import Event
from tactician.llm import ToolResult
from tactician.runs import RunError, RunSuspended
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.agents.constellations.support import facts_of, payer, prompts_of, says, script_of, surroundings


class Cast:
    """Agents for one constellation; the payers need approvals, if they ask."""

    def __init__(self, asks: bool) -> None:
        self.asks = asks
        self.agents: list[Agent[object]] = []

    def payer(self, name: str = "Payer", rounds: int = 1, at_once: int = 1) -> Agent:
        agent = payer(name, asks=self.asks, at_once=at_once)
        for _ in range(1, rounds):
            script_of(agent).script(f"{name} says no more")
        return self._known(agent)

    def says(self, name: str, *steps: Step) -> Agent:
        return self._known(says(name, *steps))

    def model(self, *steps: Step) -> ScriptedModel:
        model = ScriptedModel(*steps)
        self.agents.append(Agent("model", model=model))
        return model

    def calls(self) -> list[int]:
        return [len(script_of(agent).calls) for agent in self.agents]

    def assert_exhausted(self) -> None:
        for agent in self.agents:
            script_of(agent).assert_exhausted()

    def _known(self, agent: Agent) -> Agent:
        self.agents.append(agent)
        return agent


def invoke(name: str) -> ToolCall:
    return ToolCall(f"invoke_{name}", request=f"{name}, work")


def as_route(cast: Cast) -> BaseRunnable[object]:
    return RouterAgent("Desk", model=cast.model("2"), routes={"a": cast.says("A"), "b": cast.payer()})


def as_fallback(cast: Cast) -> BaseRunnable[object]:
    return RouterAgent("Desk", model=cast.model("what?"), routes={"a": cast.says("A")}, fallback=cast.payer())


def as_worker(cast: Cast) -> BaseRunnable[object]:
    model = cast.model(invoke("helper"), invoke("payer"), "done")
    return SupervisorAgent("Team", model=model, workers={"a": cast.says("Helper", "help"), "b": cast.payer()})


def as_one_of_two_workers(cast: Cast) -> BaseRunnable[object]:
    model = cast.model([invoke("payer"), invoke("helper")], "done")
    return SupervisorAgent("Team", model=model, workers={"a": cast.says("Helper", "help"), "b": cast.payer()})


def as_the_same_worker_twice(cast: Cast) -> BaseRunnable[object]:
    asker = cast.payer(at_once=2)
    model = cast.model([invoke("payer"), invoke("payer")], "done")
    return SupervisorAgent("Team", model=model, workers={"a": asker})


def as_first_member(cast: Cast) -> BaseRunnable[object]:
    return ParallelAgents("Panel", [cast.payer(), cast.says("B", "b")])


def as_two_members(cast: Cast) -> BaseRunnable[object]:
    return ParallelAgents("Panel", [cast.says("B", "b"), cast.payer("First"), cast.payer("First")])


def as_only_hope(cast: Cast) -> BaseRunnable[object]:
    return ParallelAgents("Panel", [cast.says("B", LookupError("gone")), cast.payer()]).as_first_of()


def as_one_who_is_synthesized(cast: Cast) -> BaseRunnable[object]:
    panel = ParallelAgents("Panel", [cast.says("B", LookupError("gone")), cast.payer(), cast.says("C", "c")])
    return panel.as_synthesis(cast.says("Editor", "edited"))


def as_synthesizer(cast: Cast) -> BaseRunnable[object]:
    return ParallelAgents("Panel", [cast.says("B", "b"), cast.says("C", LookupError("x"))]).as_synthesis(cast.payer())


def as_first_peer(cast: Cast) -> BaseRunnable[object]:
    return AgentNetwork("Debate", [cast.payer(rounds=2), cast.says("B", "b", "b again")])


def as_later_peer(cast: Cast) -> BaseRunnable[object]:
    peers = [cast.says("A", LookupError("gone"), "a"), cast.payer(rounds=2), cast.says("C", "c", "c again")]
    return AgentNetwork("Debate", peers, synthesizer=cast.says("Judge", "judged"))


def as_concurrent_peer(cast: Cast) -> BaseRunnable[object]:
    peers = [cast.says("A", "a", LookupError("gone")), cast.payer("First", 2), cast.payer("Second", 2)]
    return AgentNetwork("Debate", peers, concurrent=True)


def as_judge(cast: Cast) -> BaseRunnable[object]:
    peers = [cast.says("A", "a"), cast.says("B", "b")]
    return AgentNetwork("Debate", peers, synthesizer=cast.payer(), max_rounds=1)


def as_one_of_everyone(cast: Cast) -> BaseRunnable[object]:
    return AgentNetwork("Debate", [cast.says("A", LookupError("gone")), cast.payer()]).as_broadcast()


def in_a_department(cast: Cast) -> BaseRunnable[object]:
    manager = cast.says("VP", invoke("payer"), "managed")
    executive = cast.says("CEO", invoke("vp_supervisor"), "executed")
    return HierarchicalAgents(executive=executive, departments={"Dev": Department(manager, [cast.payer()])})


def as_manager(cast: Cast) -> BaseRunnable[object]:
    executive = cast.says("CEO", invoke("payer_supervisor"), "executed")
    return HierarchicalAgents(executive=executive, departments={"Dev": Department(cast.payer(), [cast.says("W")])})


def as_executive(cast: Cast) -> BaseRunnable[object]:
    return HierarchicalAgents(
        executive=cast.payer(), departments={"Dev": Department(cast.says("VP"), [cast.says("W")])}
    )


def deep_inside(cast: Cast) -> BaseRunnable[object]:
    peers = [
        cast.says("A", "a"),
        ParallelAgents("Panel", [cast.says("B", LookupError("gone")), cast.payer()]).as_first_of(),
    ]
    debate = AgentNetwork("Debate", peers, synthesizer=cast.says("Judge", "judged"), max_rounds=1)
    model = cast.model([invoke("helper"), invoke("debate")], "led")
    team = SupervisorAgent("Team", model=model, workers={"a": cast.says("Helper", "help"), "b": debate})
    return RouterAgent("Desk", model=cast.model("1"), routes={"all": team})


PLACES: Sequence[Callable[[Cast], BaseRunnable[object]]] = (
    as_route,
    as_fallback,
    as_worker,
    as_one_of_two_workers,
    as_the_same_worker_twice,
    as_first_member,
    as_two_members,
    as_only_hope,
    as_one_who_is_synthesized,
    as_synthesizer,
    as_first_peer,
    as_later_peer,
    as_concurrent_peer,
    as_judge,
    as_one_of_everyone,
    in_a_department,
    as_manager,
    as_executive,
    deep_inside,
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
async def test_a_run_goes_on_to_the_same_end_without_asking_any_model_twice(
    place: Callable[[Cast], BaseRunnable[object]],
) -> None:
    unasked, cast, context = Cast(asks=False), Cast(asks=True), surroundings()
    expected = await place(unasked).run("go", context=surroundings())
    constellation = place(cast)
    waiting = await constellation.run("go", context=context)
    assert waiting.status is RunStatus.WAITING
    assert {request.call.name for request in waiting.pending if request.call is not None} == {"pay"}

    result = await constellation.resume(waiting.run_id, {p.id: approve() for p in waiting.pending}, context=context)

    assert facts_of(result) == facts_of(expected)
    assert cast.calls() == unasked.calls()
    assert result.usage == expected.usage
    cast.assert_exhausted()


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
async def test_several_requests_are_answered_one_by_one(place: Callable[[Cast], BaseRunnable[object]]) -> None:
    unasked, cast, context = Cast(asks=False), Cast(asks=True), surroundings()
    expected = await place(unasked).run("go", context=surroundings())
    constellation = place(cast)
    result = await constellation.run("go", context=context)
    pauses = 0
    while result.status is RunStatus.WAITING:
        pauses += 1
        result = await constellation.resume(result.run_id, {result.pending[0].id: approve()}, context=context)
    assert facts_of(result) == facts_of(expected)
    assert cast.calls() == unasked.calls()
    assert 0 < pauses <= 2


async def waiting_run(constellation: BaseRunnable[object], context: RunContext) -> RunResult[object]:
    result = await constellation.run("go", context=context)
    assert result.status is RunStatus.WAITING
    return result


class TestRaces:
    async def test_one_that_waits_does_not_keep_another_from_winning(self) -> None:
        panel = ParallelAgents("Panel", [payer(), says("B", "b")])
        result = await panel.run_first("go", context=surroundings())
        assert (result.status, result.output) == (RunStatus.COMPLETED, "b")

    async def test_the_first_that_is_approved_wins(self) -> None:
        context, agents = surroundings(), [payer("A"), payer("B")]
        race = ParallelAgents("Panel", agents).as_first_of()
        waiting = await waiting_run(race, context)
        assert [request.path[-1] for request in waiting.pending] == ["A", "B"]
        result = await race.resume(waiting.run_id, {waiting.pending[1].id: approve()}, context=context)
        assert result.output == "B is done"
        assert [len(script_of(agent).calls) for agent in agents] == [1, 2]

    async def test_the_winner_stays_the_winner_when_the_run_around_it_waits(self) -> None:
        lost, context = says("Lost", "too late"), surroundings()
        race = ParallelAgents("Race", [says("A", "a"), lost]).as_first_of()
        network = AgentNetwork("Debate", [race, payer()], max_rounds=1)
        waiting = await waiting_run(network, context)
        calls = len(script_of(lost).calls)
        result = await network.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert [one.output for one in result.related] == ["a", "Payer is done"]
        assert len(script_of(lost).calls) == calls

    async def test_when_the_last_hope_is_rejected_all_have_failed(self) -> None:
        context, asker = surroundings(), payer(then=[LookupError("refused")])
        race = ParallelAgents("Panel", [says("B", LookupError("gone")), asker]).as_first_of()
        waiting = await waiting_run(race, context)
        with pytest.raises(RunError, match=r"\[B\]: .*gone.*\[Payer\]: .*refused"):
            await race.resume(waiting.run_id, {waiting.pending[0].id: reject("no")}, context=context)

    async def test_a_race_goes_on_as_a_race_only(self) -> None:
        context = surroundings()
        panel = ParallelAgents("Panel", [payer()])
        waiting = await panel.run_first("go", context=context)
        responses = {waiting.pending[0].id: approve()}
        with pytest.raises(RunNotFoundError, match=r"it is a run of 'Panel \(first\)'"):
            await panel.resume(waiting.run_id, responses, context=context)
        assert (await panel.as_first_of().resume(waiting.run_id, responses, context=context)).output == "Payer is done"


async def test_the_methods_wait_too() -> None:
    context = surroundings()
    panel, debate = ParallelAgents("Panel", [payer()]), AgentNetwork("Debate", [payer(), payer("Giver")])
    firm = HierarchicalAgents(executive=says("CEO"), departments={"Dev": Department(payer(), [says("W")])})
    editor = says("Editor", "edited")
    synthesis = await panel.run_and_synthesize("go", synthesizer=editor, context=context)
    broadcast = await debate.broadcast("go", context=context)
    sent = await firm.send_to_department("Dev", "go", context=context)

    async def gone_on(one: BaseRunnable[object], waiting: RunResult[object]) -> object:
        responses = {request.id: approve() for request in waiting.pending}
        return (await one.resume(waiting.run_id, responses, context=context)).output

    assert await gone_on(panel.as_synthesis(editor), synthesis) == "edited"
    assert await gone_on(debate.as_broadcast(), broadcast) == "[Payer]: Payer is done\n\n[Giver]: Giver is done"
    assert await gone_on(firm.find_manager("Dev"), sent) == "Payer is done"


async def test_what_waits_is_told_with_the_path_that_led_there() -> None:
    events: list[Event] = []
    waiting = await waiting_run(deep_inside(Cast(asks=True)), surroundings(events.append))
    assert waiting.pending[0].path == ("Desk", "Team", "Debate", "Panel (first)", "Payer")
    paused = [event for event in events if isinstance(event, RunSuspended)]
    assert [(event.path, event.pending) for event in paused] == [(("Desk",), waiting.pending)]


async def test_a_run_that_fails_after_its_pause_can_be_gone_on_with() -> None:
    context, other, judge = surroundings(), says("B", "b"), says("Judge", LookupError("gone"), "judged")
    network = AgentNetwork("Debate", [payer(), other], synthesizer=judge, max_rounds=1)
    waiting = await waiting_run(network, context)
    responses = {waiting.pending[0].id: approve()}
    with pytest.raises(LookupError, match="gone"):
        await network.resume(waiting.run_id, responses, context=context)
    assert (await network.resume(waiting.run_id, responses, context=context)).output == "judged"
    assert len(script_of(other).calls) == 1


async def test_a_worker_that_waited_counts_as_one_tool_call() -> None:
    context, model = surroundings(), ScriptedModel(invoke("payer"), invoke("helper"), "done")
    workers = {"a": says("Helper", "help"), "b": payer()}
    team = SupervisorAgent("Team", model=model, workers=workers, max_tool_calls=2)
    waiting = await waiting_run(team, context)
    result = await team.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
    assert [m.content for m in result.messages if isinstance(m, ToolResult)] == ["Payer is done", "help"]


async def test_a_rejection_is_told_to_the_model_that_asked() -> None:
    context, asker = surroundings(), payer()
    router = RouterAgent("Desk", model=ScriptedModel("1"), routes={"all": asker})
    waiting = await waiting_run(router, context)
    await router.resume(waiting.run_id, {waiting.pending[0].id: reject("too dear")}, context=context)
    assert "too dear" in prompts_of(asker)[1]


async def test_the_budget_goes_on_where_it_was() -> None:
    context, asker = surroundings(), payer()
    router = RouterAgent("Desk", model=ScriptedModel("1"), routes={"all": asker})
    waiting = await router.run("go", context=context, budget=Budget(turns=2))
    with pytest.raises(RunError, match="budget of 2 turns is used up"):
        await router.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
