"""Any Runnable fits into any place, and what models are asked there is valid for every provider."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from tactician import (
    AgentNetwork,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
    Runnable,
    RunStatus,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    runnable,
)
from tactician.events import Event
from tactician.llm import ModelRequest
from tactician.llm.request_adapter import adapt_request
from tactician.loop import ToolReturned, TurnStarted
from tactician.testing import ScriptedModel, ToolCall
from tactician.text import snake_case
from tests.agents.constellations.support import says, surroundings
from tests.support.rules import Refused
from tests.support.strict_servers import SITES

REQUEST = "Is it good?"


@planned_agent(description="Shouts")
class Shouter:
    @achieves_goal("shouted")
    @action
    def shout(self, words: UserInput) -> str:
        return "done"


async def answer(text: object) -> str:
    return "done"


def planned() -> Runnable:
    instance: object = Shouter()
    assert isinstance(instance, Runnable)
    return instance


def invoke(worker: Runnable) -> ToolCall:
    return ToolCall(f"invoke_{snake_case(worker.name)}", request=REQUEST)


def supervisor(worker: Runnable) -> Runnable:
    return SupervisorAgent("Team", model=ScriptedModel(invoke(worker), "done"), workers={"Works": worker})


def hierarchy(worker: Runnable) -> Runnable:
    executive = says("CEO", ToolCall("invoke_vp_supervisor", request=REQUEST), "done")
    return HierarchicalAgents(
        executive=executive, departments={"Dev": Department(says("VP", invoke(worker), "done"), [worker])}
    )


KINDS: dict[str, Callable[[], Runnable]] = {
    "agent": lambda: says("A", *["done"] * 2),
    "function": lambda: runnable(answer),
    "planned agent": planned,
    "typed": lambda: says("A", *["1"] * 2).with_output_type(int),
    "router": lambda: PLACES["route"](runnable(answer)),
    "supervisor": lambda: PLACES["worker"](runnable(answer)),
    "group": lambda: PLACES["member"](runnable(answer)),
    "race": lambda: PLACES["racer"](runnable(answer)),
    "synthesis": lambda: PLACES["synthesizer"](runnable(answer)),
    "network": lambda: PLACES["peer"](runnable(answer)),
    "broadcast": lambda: PLACES["one of everyone"](runnable(answer)),
    "hierarchy": lambda: PLACES["worker in a department"](runnable(answer)),
}
PLACES: dict[str, Callable[[Runnable], Runnable]] = {
    "route": lambda one: RouterAgent("Desk", model=ScriptedModel("1", "1"), routes={"all": one}),
    "fallback": lambda one: RouterAgent("Desk", model=ScriptedModel("0"), routes={"a": says("B")}, fallback=one),
    "worker": supervisor,
    "member": lambda one: ParallelAgents("Panel", [one, says("B", "b")]),
    "racer": lambda one: ParallelAgents("Panel", [one]).as_first_of(),
    "synthesizer": lambda one: ParallelAgents("Panel", [says("B", "b")]).as_synthesis(one),
    "peer": lambda one: AgentNetwork("Debate", [says("B", "b"), one], max_rounds=1),
    "judge": lambda one: AgentNetwork("Debate", [says("B", "b"), says("C", "c")], synthesizer=one, max_rounds=1),
    "one of everyone": lambda one: AgentNetwork("Debate", [one, says("C", "c")]).as_broadcast(),
    "worker in a department": hierarchy,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
async def test_any_runnable_fits_into_any_place(
    place: Callable[[Runnable], Runnable], kind: Callable[[], Runnable]
) -> None:
    inner = kind()
    events: list[Event] = []
    result = await place(inner).run(REQUEST, context=surroundings(events.append))
    assert {"done", "1"} & set(re.findall(r"\w+", str(result.output)))
    assert [event for event in events if isinstance(event, ToolReturned) and event.result.is_error] == []
    assert {one.status for one in result.related} <= {RunStatus.COMPLETED}


async def requests_of_a_deep_run() -> list[ModelRequest]:
    """All that models are asked in a constellation of constellations."""
    peers = [says("A", "a", "a again"), ParallelAgents("Panel", [says("B", "b", "b again"), says("C", "c", "c again")])]
    debate = AgentNetwork("Debate", peers, synthesizer=says("Judge", "judged"))
    router = RouterAgent("Desk", model=ScriptedModel("1"), routes={"all": supervisor(debate)}, instructions="Choose.")
    events: list[Event] = []
    await hierarchy(router).run(REQUEST, context=surroundings(events.append))
    return [event.request for event in events if isinstance(event, TurnStarted)]


@pytest.mark.parametrize("name", SITES)
async def test_every_provider_takes_what_models_are_asked(name: str) -> None:
    site = SITES[name]
    made = site.provider.create_endpoint("k", "https://x", model=site.model)
    requests = await requests_of_a_deep_run()
    assert len(requests) == 14
    for request in requests:
        body = made.wire.encode(adapt_request(request, made.features)[0], site.model, made.dialect, stream=False)
        try:
            site.rules(site.model, json.loads(json.dumps(body)))
        except Refused as refusal:
            pytest.fail(f"{request.prompt}: {refusal}")
