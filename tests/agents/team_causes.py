"""What teams, tools and programs around an agent cause: calls of models that name none, or only its name."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tactician import (
    Agent,
    AgenticTool,
    AgentNetwork,
    AgentService,
    Autonomous,
    Chatbot,
    Department,
    Ensemble,
    HierarchicalAgents,
    InProcessMemory,
    InProcessReflections,
    Loop,
    MapReduce,
    Phase,
    PhaseReview,
    Platform,
    RunContext,
    Scope,
    Task,
    UserInput,
    Workflow,
    tool,
)
from tactician.ensemble import PhaseReviewError
from tactician.errors import TacticianError
from tactician.rag import Library, ModelReranker
from tactician.runs import OutputError, TurnLimitError
from tests.agents.judging import HELPER, Judge, Model, Verdict, with_tool


async def run_tasks(model: Model, context: RunContext) -> object:
    first = Task("Write about frogs", reflect=True, memory=["all"])
    second = Task("Judge it", context=[first], output_type=Verdict)
    memory = InProcessMemory({"all": Scope()})
    team = Ensemble("Team", [first, second], reflections=InProcessReflections(), memory=memory)
    return await with_tool(model, context, team.run)


async def run_tasks_of_its_own(model: Model, context: RunContext) -> object:
    first = Task("Write about frogs", reflect=True)
    groups = [
        Loop([Task("Read it")], max_iterations=2),
        MapReduce([1, 2], map=Task("Do {item}"), reduce=Task("Combine")),
    ]
    team = Ensemble("Team", [first, *groups], reflections=InProcessReflections(), model=model)
    return await team.run(context=context)


async def review_phases(model: Model, context: RunContext) -> object:
    draft = Task("Draft")
    review = PhaseReview(Task("Is it good? Answer APPROVE", handler=lambda _: "APPROVE"))
    judged = PhaseReview(Task("Judge it", model="m", when=lambda _: True), max_retries=0)
    team = Ensemble("Team", phases=[Phase("a", [draft], review=review), Phase("b", [Task("More")], review=judged)])

    async def work() -> object:
        try:
            return await team.run()
        except PhaseReviewError as error:
            return str(error)

    return await with_tool(model, context, work)


async def manage(model: Model, context: RunContext) -> object:
    firm = Ensemble("Firm", [Task("Help")], agents=[Agent(role="Helper")], workflow=Workflow.HIERARCHICAL)
    return await with_tool(model, context, firm.run)


async def make_agents(model: Model, context: RunContext) -> object:
    team = Ensemble("Team", [Task("Write about frogs")], synthesize="m")

    async def work() -> object:
        try:
            return await team.run()
        except TacticianError as error:
            return str(error)

    return await with_tool(model, context, work)


async def compact(model: Model, context: RunContext) -> object:
    policy = Autonomous(max_iterations=4, compact_after=2, keep_last=1)

    @tool
    def ask_helper() -> str:
        """Helps."""
        return "frogs " * 50

    agent = Agent("Boss", model=model, tools=[ask_helper], autonomy=policy)
    with pytest.raises(TurnLimitError):
        await agent.run("Go " * 200, context=context)
    return None


async def use_an_agentic_tool(model: Model, context: RunContext) -> object:
    helper = AgenticTool("ask_helper", "Helps")
    return await Agent("Boss", model=model, tools=[helper]).run("Go", context=context)


async def debate(model: Model, context: RunContext) -> object:
    peers = AgentNetwork("Debate", peers=[HELPER, Agent("Other")], synthesizer=Agent("Judge"), max_rounds=2)
    return await with_tool(model, context, lambda: peers.run("frogs"))


async def lead_departments(model: Model, context: RunContext) -> object:
    firm = HierarchicalAgents(
        executive=Agent("Chief"), departments={"All": Department(manager=Agent("Lead"), workers=[HELPER])}
    )
    return await with_tool(model, context, lambda: firm.run("frogs"))


async def invoke(model: Model, context: RunContext) -> object:
    platform = Platform(context.models).register(Judge())
    return await with_tool(model, context, lambda: platform.invoke(Verdict, UserInput("frogs")))


async def rerank(model: Model, context: RunContext) -> object:
    with TemporaryDirectory() as folder:
        for text in ("Frogs hop.", "Frogs croak."):
            (Path(folder) / f"{text}txt").write_text(text)
        async with Library(reranker=ModelReranker()) as library:
            await library.ingest(folder)

            async def work() -> object:
                with pytest.raises(OutputError):
                    await library.search("frogs")
                return "asked"

            return await with_tool(model, context, work)


async def answer_through_a_service(model: Model, context: RunContext) -> object:
    async with Platform(context.models) as platform:
        service = AgentService(platform).register(Agent(id="a", name="A", model=model))
        return await service.request_agent("a", "hello")


async def chat(model: Model, context: RunContext) -> object:
    async with Platform(context.models) as platform:
        session = await Chatbot(platform, Agent("Boss", model=model)).session(user="alice")
        await session.send("hello")
        return session


TEAM_CAUSES = [
    run_tasks,
    run_tasks_of_its_own,
    review_phases,
    manage,
    make_agents,
    compact,
    use_an_agentic_tool,
    debate,
    lead_departments,
    invoke,
    rerank,
    answer_through_a_service,
    chat,
]
