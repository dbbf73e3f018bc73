"""Runs inside actions, tools and conditions that are given no context: they find that of the code around them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import (
    Agent,
    Ai,
    Budget,
    OperationContext,
    PlannedAgent,
    Platform,
    ProcessOptions,
    RunContext,
    RunStatus,
    UserInput,
    achieves_goal,
    action,
    approve,
    ask_human,
    condition,
    planned_agent,
    tool,
)
from tactician.agents import runnable
from tactician.errors import ConfigurationError
from tactician.events import Event
from tactician.process import AgentProcess, Blackboard, ProcessHandle
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall


@dataclass
class Joke:
    text: str


@dataclass
class Verdict:
    text: str


@pytest.fixture(autouse=True)
def no_models_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail when anything asks for the models of the environment: it would spend money."""

    def refuse(*_: object) -> None:
        raise AssertionError("the models of the environment were used")

    monkeypatch.setattr("tactician.llm.catalog.load_default_models", refuse)


JOKER = Agent("Joker", instructions="Tell a joke.")


@planned_agent(description="tells jokes")
class Comedian:
    @achieves_goal("told")
    @action
    async def tell(self, topic: UserInput) -> Joke:
        return Joke((await JOKER.run(f"about {topic.content}")).output)


async def test_a_run_in_an_action_uses_the_models_of_the_platform_and_counts_there() -> None:
    model = ScriptedModel("Frogs jump.")
    process = await Platform(model).start(Comedian(), "frogs")
    assert process.result == Joke("Frogs jump.")
    assert process.usage.requests == 1
    assert process.history[0].tally.total.requests == 1


async def test_it_is_a_child_in_the_tree_and_on_the_path() -> None:
    heard: list[Event] = []
    process = await Platform(ScriptedModel("Frogs jump."), on_event=heard.append).start(Comedian(), "frogs")
    paths = {event.path for event in heard}
    assert ("Comedian", "tell", "Joker") in paths
    (joker,) = {event.run_id for event in heard if event.path[-1:] == ("Joker",)}
    assert {event.parent_id for event in heard if event.run_id == joker} != {None}
    assert process.id != joker


async def test_it_shares_the_budget() -> None:
    @planned_agent(description="tells many jokes")
    class Chatterbox:
        @achieves_goal("told")
        @action
        async def tell(self, topic: UserInput) -> Joke:
            return Joke(" ".join([(await JOKER.run(topic.content)).output for _ in range(3)]))

    model = ScriptedModel("one", "two", "three")
    process = await Platform(model).start(Chatterbox(), "frogs", options=ProcessOptions(budget=Budget(turns=2)))
    assert process.status is RunStatus.TERMINATED
    assert len(model.calls) == 2


async def test_it_waits_for_people_and_goes_on_with_what_it_was_told(tmp_path: Path) -> None:
    paid: list[int] = []

    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pays."""
        paid.append(amount)
        return "paid"

    cashier = Agent("Cashier", tools=[pay])

    @planned_agent(description="pays")
    class Office:
        @achieves_goal("paid")
        @action
        async def settle(self, wish: UserInput) -> Verdict:
            return Verdict((await cashier.run(wish.content)).output)

    async with SqliteStore(tmp_path / "runs.db") as store:
        model = ScriptedModel(ToolCall("pay", amount=5), "All paid.")
        platform = Platform(model, store=store).register(Office())
        waiting = await platform.start("Office", "Pay 5.")
        assert waiting.status is RunStatus.WAITING
        (request,) = waiting.pending
        assert request.path == ("Office", "settle", "Cashier")
        ended = await Platform(model, store=store).register(Office()).respond(waiting.id, request.id, approve())
        assert isinstance(ended, AgentProcess)
        assert ended.result == Verdict("All paid.")
    assert paid == [5]


async def test_a_planned_agent_in_an_action_is_a_child_of_the_process() -> None:
    @planned_agent(description="asks a comedian")
    class Host:
        @achieves_goal("judged")
        @action
        async def judge(self, topic: UserInput) -> Verdict:
            joke = await PlannedAgent(Comedian()).run(topic)
            return Verdict(f"{joke.output} Good.")

    process = await Platform(ScriptedModel("Frogs jump.")).start(Host(), "frogs")
    assert process.result == Verdict("Joke(text='Frogs jump.') Good.")
    assert [child.agent for child in process.children] == ["Comedian"]


async def test_a_run_in_a_tool_is_inside_the_call() -> None:
    paths: list[tuple[str, ...]] = []

    @tool
    async def joke(topic: str) -> str:
        """Tells a joke."""
        paths.append(RunContext.current().path)
        return (await JOKER.run(topic)).output

    model = ScriptedModel(ToolCall("joke", topic="frogs"), "Frogs jump.", "That was it.")
    result = await Agent("Host", tools=[joke]).run("a joke", context=RunContext.over(model))
    assert result.output == "That was it."
    assert result.usage.requests == 3
    assert paths == [("Host",)]


async def test_a_run_in_a_blocking_tool_uses_the_same_models(tmp_path: Path) -> None:
    @tool(blocking=True)
    def joke(topic: str) -> str:
        """Tells a joke."""
        return JOKER.run_sync(topic).output

    async with SqliteStore(tmp_path / "runs.db") as store:
        model = ScriptedModel(ToolCall("joke", topic="frogs"), "Frogs jump.", "That was it.")
        context = RunContext.over(model, store=store)
        result = await Agent("Host", tools=[joke]).run("a joke", context=context)
    assert result.output == "That was it."
    assert result.usage.requests == 3


async def test_a_run_in_a_condition_uses_the_same_models() -> None:
    judge = Agent("Judge")

    @planned_agent(description="tells jokes when asked nicely")
    class Polite:
        @condition
        async def is_polite(self, topic: UserInput) -> bool:
            return (await judge.run(topic.content)).output == "yes"

        @achieves_goal("told")
        @action(pre=["is_polite"])
        def tell(self, topic: UserInput) -> Joke:
            return Joke(topic.content)

    process = await Platform(ScriptedModel("yes")).start(Polite(), "frogs, please")
    assert process.status is RunStatus.COMPLETED
    assert process.usage.requests == 1


async def test_a_run_in_a_function_that_is_run_uses_the_same_models() -> None:
    async def twice(topic: str) -> str:
        return f"{(await JOKER.run(topic)).output} {(await JOKER.run(topic)).output}"

    result = await runnable(twice).run("frogs", context=RunContext.over(ScriptedModel("Ha.", "Ho.")))
    assert result.output == "Ha. Ho."
    assert result.usage.requests == 2


async def test_a_context_that_is_passed_takes_precedence() -> None:
    @planned_agent(description="tells jokes elsewhere")
    class Elsewhere:
        @achieves_goal("told")
        @action
        async def tell(self, topic: UserInput) -> Joke:
            return Joke((await JOKER.run(topic.content, context=RunContext.over(ScriptedModel("other")))).output)

    process = await Platform(ScriptedModel()).start(Elsewhere(), "frogs")
    assert process.result == Joke("other")
    assert process.usage.requests == 0


async def test_actions_at_the_same_time_have_their_own_contexts() -> None:
    seen: dict[str, tuple[str, ...]] = {}

    @planned_agent(description="does two things at once")
    class Twofold:
        @action
        async def left(self, topic: UserInput) -> Joke:
            await asyncio.sleep(0)
            seen["left"] = RunContext.current().path
            return Joke("left")

        @action
        async def right(self, topic: UserInput) -> Verdict:
            await asyncio.sleep(0)
            seen["right"] = RunContext.current().path
            return Verdict("right")

        @achieves_goal("both")
        @action
        def both(self, joke: Joke, verdict: Verdict) -> str:
            return "both"

    options = ProcessOptions(max_parallel=2)
    assert (await Platform(ScriptedModel()).start(Twofold(), "go", options=options)).result == "both"
    assert seen == {"left": ("Twofold", "left"), "right": ("Twofold", "right")}
    assert RunContext.find_current() is None


async def test_items_that_are_worked_on_at_once_find_their_own_runs_again_after_a_wait() -> None:
    @planned_agent(description="asks for each item")
    class Each:
        @achieves_goal("all")
        @action
        async def ask(self, topic: UserInput, context: OperationContext) -> Verdict:
            async def one(item: str) -> str:
                joke = (await JOKER.run(item)).output
                return f"{joke}: {await ask_human(str, f'Is {item} good?')}"

            return Verdict("; ".join(await context.parallel_map(["a", "b"], one, max_concurrency=1)))

    platform = Platform(ScriptedModel("joke a", "joke b"), store=MemoryStore())
    process = await platform.start(Each(), "go")
    for request in list(process.pending):
        answered = await platform.respond(process.id, request.id, "yes")
        assert isinstance(answered, AgentProcess)
        process = answered
    assert process.result == Verdict("joke a: yes; joke b: yes")


async def test_a_tool_asks_for_what_belongs_to_the_action_around_it() -> None:
    given: list[object] = []

    @tool
    async def note(text: str, context: OperationContext, process: AgentProcess, board: Blackboard, ai: Ai) -> str:
        """Notes a verdict."""
        given.extend([context.process, process, board, ai.context])
        board.add(Verdict(text))
        return "noted"

    scribe = Agent("Scribe", tools=[note])

    @planned_agent(description="lets a scribe judge")
    class Court:
        @achieves_goal("judged")
        @action
        async def judge(self, topic: UserInput) -> Joke:
            return Joke((await scribe.run(topic.content)).output)

    assert set(note.spec.parameters["properties"]) == {"text"}  # type: ignore[call-overload]  # a schema is JSON
    process = await Platform(ScriptedModel(ToolCall("note", text="fine"), "Done.")).start(Court(), "go")
    assert process.last(Verdict) == Verdict("fine")
    assert given[:3] == [process, process, process.blackboard]
    assert isinstance(given[3], RunContext)
    assert given[3].path == ("Court", "judge", "Scribe")


@pytest.mark.parametrize("wanted", [OperationContext, AgentProcess, Blackboard])
async def test_a_tool_that_asks_for_that_outside_of_an_action_ends_the_run(wanted: type) -> None:
    def note(text: str, found: object) -> str:
        """Notes."""
        return text

    note.__annotations__["found"] = wanted
    agent = Agent("Scribe", tools=[tool(note)])
    name = ProcessHandle.__name__ if wanted is AgentProcess else wanted.__name__
    with pytest.raises(ConfigurationError, match=f"Scribe: no {name} is here; only actions of planned agents have it"):
        await agent.run("go", context=RunContext.over(ScriptedModel(ToolCall("note", text="x"), "no")))


async def test_what_runs_outside_of_runs_has_the_default_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert RunContext.find_current() is None
    assert RunContext.current().path == ()
