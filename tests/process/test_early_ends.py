"""A budget that is used up inside a child ends the process around it early, with the reason."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    Ai,
    Budget,
    OperationContext,
    PlannedAgent,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.process import AgentProcess
from tactician.runs import RunContext
from tactician.testing import FakeClock, ScriptedModel


@dataclass
class Facts:
    text: str


@dataclass
class Draft:
    text: str


@dataclass
class Book:
    text: str


@planned_agent(description="drafts")
class Drafter:
    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    @action
    async def research(self, topic: UserInput, ai: Ai) -> Facts:
        self.clock.advance(10)
        return Facts(await ai.generate_text(f"facts about {topic.content}"))

    @achieves_goal("drafted")
    @action
    async def draft(self, facts: Facts, ai: Ai) -> Draft:
        return Draft(await ai.generate_text(facts.text))


@planned_agent(description="publishes what another one has drafted")
class Publisher:
    def __init__(self, drafter: object) -> None:
        self.drafter = drafter

    @achieves_goal("published")
    @action
    async def publish(self, topic: UserInput, context: OperationContext) -> Book:
        return Book((await context.run_agent(self.drafter, Draft)).text)


async def published(drafter: object, clock: FakeClock, budget: Budget) -> AgentProcess:
    model = ScriptedModel("they hop", Draft("frogs hop"), "never", name="openai:gpt-4o")
    context = RunContext.over(model)
    context = RunContext.over(context.models, clock=clock)
    options = ProcessOptions(budget=budget)
    return await PlannedAgent(Publisher(drafter)).create_process("frogs", context=context, options=options).run()


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(actions=2), "the budget of 2 actions is used up"),
        (Budget(tokens=1), "the budget of 1 token is used up (15 used)"),
        (Budget(cost=0.0000001), "the budget of $0.00 is used up"),
        (Budget(seconds=5), "the budget of 5 seconds is used up"),
    ],
    ids=["actions", "tokens", "cost", "seconds"],
)
async def test_in_a_planned_agent(budget: Budget, reason: str) -> None:
    clock = FakeClock()
    process = await published(Drafter(clock), clock, budget)
    assert process.status is ProcessStatus.TERMINATED, process.failure
    assert process.failure is not None
    assert reason in process.failure
    (child,) = process.history[0].children
    assert child.status is ProcessStatus.TERMINATED
    assert len(child.history) == 1


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(tokens=1), "the budget of 1 token is used up (15 used)"),
        (Budget(cost=0.0000001), "the budget of $0.00 is used up"),
        (Budget(turns=1), "the budget of 1 turn is used up"),
    ],
    ids=["tokens", "cost", "turns"],
)
async def test_in_an_agent_with_tools(budget: Budget, reason: str) -> None:
    pen = Agent("Pen", instructions="You write.", output_type=Draft)
    process = await published(pen, FakeClock(), budget)
    assert process.status is ProcessStatus.TERMINATED, process.failure
    assert process.failure is not None
    assert reason in process.failure
