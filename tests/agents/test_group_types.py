"""Types of groups of agents: what type checkers infer from the members, and that runs give these types."""

from __future__ import annotations

from typing import Literal, assert_type

from pydantic import BaseModel

from tactician import (
    Agent,
    AgentNetwork,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
    RunResult,
    SupervisorAgent,
)
from tactician.agents.base import TypedRunnable
from tactician.agents.constellations.network import Broadcast
from tactician.agents.constellations.parallel import FirstOf, Synthesis
from tactician.agents.flows import repeat_until, scatter_gather
from tactician.ai import Ai
from tactician.ensemble import Ensemble, Task
from tactician.testing import ScriptedModel


class City(BaseModel):
    name: str


class Poem(BaseModel):
    text: str


PARIS, ROSES = '{"name": "Paris"}', '{"text": "Roses are red"}'


def create_agent(*answers: str) -> Agent[City]:
    return Agent("Guide", model=ScriptedModel(*answers), output_type=City)


def create_poet(*answers: str) -> Agent[Poem]:
    return Agent("Poet", model=ScriptedModel(*answers), output_type=Poem)


def test_an_agent_has_its_output_type_unions_and_literals_too() -> None:
    assert_type(Agent("A"), Agent[str])
    assert_type(Agent("A", output_type=City), Agent[City])
    assert_type(Agent("A", output_type=int | None), Agent[int | None])
    assert_type(Agent("A", output_type=Literal["yes", "no"]), Agent[Literal["yes", "no"]])
    assert_type(SupervisorAgent("S", workers={"cities": create_agent()}, output_type=Poem), SupervisorAgent[Poem])
    assert_type(SupervisorAgent("S", workers={"cities": create_agent()}), SupervisorAgent[str])


async def test_a_router_has_the_type_of_its_routes_and_its_fallback() -> None:
    router = RouterAgent(
        "Router", model=ScriptedModel('{"value": 1}'), routes={"cities": create_agent(PARIS)}, fallback=create_agent()
    )
    assert_type(router, RouterAgent[City])
    result = await router.run("Where to?")
    assert_type(result, RunResult[City])
    assert result.output.name == "Paris"


async def test_a_router_to_an_ensemble_has_its_type() -> None:
    ensemble = Ensemble("Cities", [Task("Find", output_type=City, handler=lambda task: City(name="Rome"))])
    router = RouterAgent("Router", model=ScriptedModel('{"value": 1}'), routes={"cities": ensemble})
    assert_type(router, RouterAgent[City])
    assert (await router.run("Where to?")).output.name == "Rome"


def test_a_group_of_agents_of_any_type_gives_any_of_their_types() -> None:
    plain: RouterAgent = RouterAgent("Router", routes={"cities": create_agent(), "poems": create_poet()})
    assert plain.composition


def test_run_sync_of_a_group_is_typed() -> None:
    result = ParallelAgents("Two", [create_agent(PARIS), create_agent(PARIS)]).run_sync("Where to?")
    assert_type(result.output, City)
    assert result.output.name == "Paris"


async def test_parallel_agents_have_the_type_of_their_members() -> None:
    group = ParallelAgents("Two", [create_agent(PARIS, PARIS), create_agent(PARIS, PARIS)])
    assert_type(group, ParallelAgents[City])
    assert_type(group.as_first_of(), FirstOf[City])
    assert (await group.run_first("Where to?")).output.name == "Paris"
    poet = create_poet(ROSES)
    assert_type(group.as_synthesis(poet), Synthesis[Poem])
    assert (await group.run_and_synthesize("Praise it", synthesizer=poet)).output.text == "Roses are red"


async def test_a_network_has_the_type_of_its_synthesizer_or_else_of_its_peers() -> None:
    peers = [create_agent(PARIS, PARIS), Agent("Other", model=ScriptedModel(PARIS, PARIS), output_type=City)]
    network = AgentNetwork("Talk", peers, max_rounds=1)
    assert_type(network, AgentNetwork[City])
    assert_type(network.as_broadcast(), Broadcast)
    assert (await network.run("Where to?")).output.name == "Paris"
    combined = AgentNetwork("Talk", peers, synthesizer=create_poet(ROSES), max_rounds=1)
    assert_type(combined, AgentNetwork[Poem])
    assert (await combined.run("Where to?")).output.text == "Roses are red"


async def test_a_hierarchy_has_the_type_of_its_executive() -> None:
    hierarchy = HierarchicalAgents(
        executive=create_agent(PARIS), departments={"poems": Department(Agent("Boss"), [create_poet()])}
    )
    assert_type(hierarchy, HierarchicalAgents[City])
    assert (await hierarchy.run("Where to?")).output.name == "Paris"


async def test_flows_have_the_type_that_they_return_unions_too() -> None:
    def count(numbers: list[int]) -> int:
        return len(numbers)

    def is_none(attempt: object) -> bool:
        return attempt is None

    flow = repeat_until(int | None, lambda: None, is_none, name="none")
    assert_type((await flow.run("x")).output, int | None)
    gathered = scatter_gather(str | int, [lambda: 1], count, name="count")
    output = (await gathered.run("x")).output
    assert_type(output, str | int)
    assert output == 1


async def test_an_answer_may_be_of_a_union() -> None:
    ai = Ai.over(ScriptedModel('{"value": null}', '{"value": 5}', '{"value": "no"}'))
    nothing = await ai.create(int | None, "How many?")
    assert_type(nothing, int | None)
    assert nothing is None
    assert await ai.create(int | None, "How many?") == 5
    assert_type(await ai.create(Literal["yes", "no"], "Is it?"), Literal["yes", "no"])


def test_a_wrapped_runnable_may_have_a_union_as_its_type() -> None:
    assert_type(create_agent().with_output_type(City | None), TypedRunnable[City | None])
