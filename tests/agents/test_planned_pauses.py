"""Planned agents that ask people, wherever they are: by themselves, as workers, as tools, as members."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import (
    Agent,
    ParallelAgents,
    RunContext,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.agents import PlannedAgent
from tactician.process import OperationContext, ask_human
from tactician.runs import RunStatus
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall


@dataclass
class Draft:
    text: str


@dataclass
class Letter:
    text: str


@planned_agent(description="writes letters that somebody signs")
class Clerk:
    def __init__(self) -> None:
        self.keys: list[str] = []

    @action
    def draft(self, topic: UserInput, context: OperationContext) -> Draft:
        self.keys.append(context.idempotency_key)
        return Draft(f"about {topic.content}")

    @achieves_goal("signed")
    @action
    async def sign(self, draft: Draft, context: OperationContext) -> Letter:
        self.keys.append(context.idempotency_key)
        return Letter(f"{draft.text}, signed {await ask_human(str, f'Sign {draft.text}?')}")


def over(model: ScriptedModel, store: MemoryStore) -> RunContext:
    return RunContext.over(model, store=store)


async def test_by_itself_it_waits_and_goes_on_elsewhere() -> None:
    store, first, second = MemoryStore(), Clerk(), Clerk()
    waiting = await PlannedAgent(first).run("frogs", context=over(ScriptedModel(), store))
    assert waiting.status is RunStatus.WAITING
    (request,) = waiting.pending
    assert (request.kind, request.prompt) == ("form", "Sign about frogs?")

    result = await PlannedAgent(second).resume(
        waiting.run_id, {request.id: "Ada"}, context=over(ScriptedModel(), store)
    )

    assert result.output == Letter("about frogs, signed Ada")
    assert len(first.keys) == 2, "what it had done"
    assert second.keys == first.keys[1:], "only the action that waited is run again, with the same key"


async def test_as_a_worker() -> None:
    store = MemoryStore()
    model = ScriptedModel(ToolCall("invoke_clerk", request="frogs"), "The letter is ready.")
    team = SupervisorAgent("Office", workers={"writes letters": PlannedAgent(Clerk())})
    waiting = await team.run("write to the frogs", context=over(model, store))
    (request,) = waiting.pending
    assert request.path == ("Office", "Clerk", "sign")

    result = await team.resume(waiting.run_id, {request.id: "Ada"}, context=over(model, store))

    assert result.output == "The letter is ready."
    assert "about frogs, signed Ada" in model.calls[1].prompt
    model.assert_exhausted()


async def test_one_member_waits_while_others_have_ended() -> None:
    store = MemoryStore()
    model = ScriptedModel("I have an opinion")
    panel = ParallelAgents("Panel", [Agent("Critic"), PlannedAgent(Clerk())])
    waiting = await panel.run("frogs", context=over(model, store))
    assert len(waiting.pending) == 1

    result = await panel.resume(waiting.run_id, {waiting.pending[0].id: "Ada"}, context=over(model, store))

    assert result.output == "I have an opinion"
    assert result.related[0].output == Letter("about frogs, signed Ada")
    assert len(model.calls) == 1
    assert result.usage.requests == 1, "what was used before the pause is counted once"


async def test_one_that_has_ended_gives_its_result_again_while_another_waits() -> None:
    @planned_agent(description="answers at once")
    class Quick:
        def __init__(self) -> None:
            self.runs = 0

        @achieves_goal("answered")
        @action
        def answer(self, topic: UserInput) -> Draft:
            self.runs += 1
            return Draft("quick")

    store, quick = MemoryStore(), Quick()
    panel = ParallelAgents("Panel", [PlannedAgent(quick), PlannedAgent(Clerk())])
    waiting = await panel.run("frogs", context=over(ScriptedModel(), store))

    result = await panel.resume(waiting.run_id, {waiting.pending[0].id: "Ada"}, context=over(ScriptedModel(), store))

    assert result.output == Draft("quick")
    assert quick.runs == 1
