"""New runs from past steps of others, with another model, input, answer or object."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from tactician import (
    Agent,
    Ai,
    LlmOptions,
    Platform,
    ProcessStatus,
    RunStatus,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    approve,
    ask_human,
    planned_agent,
    reject,
    tool,
)
from tactician.conversation import Summarization
from tactician.errors import (
    AgentNotFoundError,
    ConfigurationError,
    ModelServerError,
    ResponseError,
    RunNotFoundError,
    StoredStateError,
)
from tactician.llm import AssistantMessage, LanguageModel, Text, UserMessage
from tactician.platform import Worker
from tactician.process import AgentProcess, OperationContext
from tactician.process.saving.saved_state import is_process, read_origin
from tactician.runs import Budget, RunContext, RunResult
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.support.stored import JsonStore, expect_process, load_record


class Models:
    """Source of scripted models by their names."""

    def __init__(self, **models: LanguageModel) -> None:
        self._models = models

    def resolve(self, options: LlmOptions) -> LanguageModel:
        wanted = options.requested_model or "first"
        if wanted not in self._models:
            raise ConfigurationError(f"There is no model {wanted!r}")
        return self._models[wanted]


@dataclass(frozen=True)
class Draft:
    text: str


@dataclass(frozen=True)
class Title:
    text: str


@planned_agent(description="Writes with help")
class Writer:
    def __init__(self) -> None:
        self.keys: list[str] = []

    @action
    async def draft(self, topic: UserInput, ai: Ai, context: OperationContext) -> Draft:
        self.keys.append(context.idempotency_key)
        return Draft(await ai.generate_text(topic.content))

    @action
    async def name(self, draft: Draft) -> Title:
        return Title(await ask_human(str, f"A title for {draft.text}?"))

    @achieves_goal("written")
    @action
    def finish(self, draft: Draft, title: Title) -> str:
        return f"{title.text}: {draft.text}"


calls: list[str] = []


@tool
def look_up(word: str) -> str:
    """Looks a word up."""
    calls.append(word)
    return f"{word} is a word"


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def no_calls() -> None:
    calls.clear()


@pytest.fixture(params=["objects", "text", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> DocumentStore:
    match request.param:
        case "objects":
            return MemoryStore()
        case "text":
            return JsonStore()
        case _:
            return SqliteStore(tmp_path / "runs.db")


async def written(platform: Platform, topic: str = "frogs") -> AgentProcess:
    process = await platform.start("Writer", topic)
    return expect_process(await platform.respond(process.id, process.pending[0].id, "Title"))


async def steps_of(platform: Platform, run_id: str) -> list[tuple[str, str]]:
    return [(step.kind, step.name) for step in await platform.steps(run_id)]


async def find_step(platform: Platform, run_id: str, kind: str, name: str = "") -> int:
    """The number of the first step of a kind."""
    steps = await platform.steps(run_id)
    return next(step.number for step in steps if step.kind == kind and name in ("", step.name))


async def process_ids(store: DocumentStore, run_id: str) -> list[str]:
    """The ids of the processes in the checkpoints of a run, outermost first."""
    state = await RunStore(store).load_state(await load_record(store, run_id))
    return [read_origin(one.data).id for one in state.tree.walk() if is_process(one.data)]


class TestProcess:
    async def test_a_fork_has_the_steps_of_the_other_run_and_goes_on_by_itself(self, store: DocumentStore) -> None:
        writer = Writer()
        platform = Platform(ScriptedModel("Once."), store=store).register(writer)
        process = await written(platform)

        at = await find_step(platform, process.id, "action", "draft")
        fork = expect_process(await platform.fork(process.id, at=at))

        assert fork.status is ProcessStatus.WAITING
        assert fork.id != process.id
        before = await steps_of(platform, process.id)
        begun = [*before[:at], ("fork", process.id), ("suspended", "name")]
        assert await steps_of(platform, fork.id) == begun
        done = expect_process(await platform.respond(fork.id, fork.pending[0].id, "Another"))
        assert done.result == "Another: Once."
        assert (await load_record(store, fork.id)).header.forked_from == (process.id, at)
        assert (await platform.process(process.id)).result == "Title: Once.", "the other one is as it was"

    async def test_another_answer_is_given_where_the_run_waited(self, store: DocumentStore) -> None:
        platform = Platform(ScriptedModel("Once."), store=store).register(Writer())
        process = await written(platform)

        fork = expect_process(await platform.fork(process.id, responses={"Writer/name/asked": "Another"}))

        assert (fork.status, fork.result) == (ProcessStatus.COMPLETED, "Another: Once.")
        assert [run.action for run in fork.history] == ["draft", "name", "finish"]
        third = expect_process(await platform.fork(fork.id, responses={"Writer/name/asked": "A third"}))
        assert third.result == "A third: Once."

    async def test_another_input_is_given_at_the_start(self, store: DocumentStore) -> None:
        model = ScriptedModel().when(prompt_contains="frogs").reply("Frogs hop.")
        model.when(prompt_contains="toads").reply("Toads crawl.")
        platform = Platform(model, store=store).register(Writer())
        process = await written(platform)

        fork = expect_process(await platform.fork(process.id, input="toads"))

        assert fork.last(Draft) == Draft("Toads crawl.")
        assert fork.id != process.id
        several = expect_process(await platform.fork(process.id, input=("toads", Title("Both"))))
        assert several.result == "Both: Toads crawl."

    async def test_objects_are_added_at_any_step(self, store: DocumentStore) -> None:
        platform = Platform(ScriptedModel("Once."), store=store).register(Writer())
        process = await written(platform)

        at = await find_step(platform, process.id, "action", "draft")
        fork = expect_process(await platform.fork(process.id, Title("Given"), at=at))

        assert fork.result == "Given: Once."
        assert [run.action for run in fork.history] == ["draft", "finish"]
        with pytest.raises(StoredStateError):
            await platform.fork(process.id, object(), at=2)
        assert len(await RunStore(store).find()) == 2, "nothing is kept of a fork that cannot be"

    async def test_what_failed_is_tried_again(self, store: DocumentStore) -> None:
        model = ScriptedModel(ValueError("not now"), "Once.")
        platform = Platform(model, store=store).register(Writer())
        process = await platform.start("Writer", "frogs")
        assert process.status is ProcessStatus.FAILED

        fork = expect_process(await platform.fork(process.id))

        assert (fork.status, fork.last(Draft)) == (ProcessStatus.WAITING, Draft("Once."))
        assert [run.error for run in fork.history] == ["ValueError: not now", None]
        assert (await platform.process(process.id)).status is ProcessStatus.FAILED

    async def test_one_that_was_killed_or_is_stuck_or_waits_can_be_forked(self, store: DocumentStore) -> None:
        platform = Platform(ScriptedModel("Once."), store=store).register(Writer())
        process = await platform.start("Writer", "frogs")
        request = process.pending[0].id
        waits = expect_process(await platform.fork(process.id))
        assert waits.status is ProcessStatus.WAITING
        await platform.kill(process.id)
        fork = expect_process(await platform.fork(process.id, responses={request: "Late"}))
        assert fork.result == "Late: Once."

        stuck = await platform.start("Writer", Title("x"))
        assert stuck.status is ProcessStatus.STUCK
        helped = expect_process(await platform.fork(stuck.id, Draft("found")))
        assert helped.result == "x: found"

    async def test_keys_for_services_are_those_of_the_fork(self) -> None:
        writer = Writer()
        platform = Platform(ScriptedModel("Once.", "Twice."), store=MemoryStore()).register(writer)
        process = await written(platform)
        fork = expect_process(await platform.fork(process.id, at=1))
        assert writer.keys == [f"{process.id}/draft/1", f"{fork.id}/draft/1"]

    async def test_a_process_inside_has_another_id_too(self, store: DocumentStore) -> None:
        @planned_agent(description="Has something written")
        class Editor:
            @achieves_goal("edited")
            @action
            async def edit(self, topic: UserInput, context: OperationContext) -> str:
                return await context.run_agent(Writer(), str, topic)

        platform = Platform(ScriptedModel("Once."), store=store).register(Editor(), Writer())
        process = await platform.start("Editor", "frogs")
        fork = expect_process(await platform.fork(process.id))
        ids, others = await process_ids(store, process.id), await process_ids(store, fork.id)
        assert (ids[0], others[0]) == (process.id, fork.id)
        assert len({*ids, *others}) == 4


class TestAgent:
    async def test_only_what_comes_after_the_step_is_done(self, store: DocumentStore) -> None:
        model = ScriptedModel(ToolCall("look_up", word="frog"), "A frog.", "An amphibian.")
        agent = Agent("Reader", tools=[look_up])
        platform = Platform(model, store=store).register(agent)
        result = await agent.run("What is a frog?", context=platform.context())
        kinds = [step.kind for step in await platform.steps(result.run_id)]
        assert kinds == ["start", "answer", "tool", "answer", "output", "completed"]

        fork = await platform.fork(result.run_id, at=3)

        assert isinstance(fork, RunResult)
        assert (fork.output, calls) == ("An amphibian.", ["frog"])
        assert [message.role for message in fork.messages] == ["user", "assistant", "tool", "assistant"]
        assert fork.usage.requests == 2, "that of the steps before counts"
        same = await platform.fork(result.run_id)
        assert isinstance(same, RunResult)
        assert same.output == "A frog."

    async def test_another_decision(self, store: DocumentStore) -> None:
        model = ScriptedModel().when(prompt_contains="paid").reply("It is paid.")
        model.when(prompt_contains="rejected: too much").reply("Then not.")
        model.when(prompt_contains="bill").reply(ToolCall("pay", amount=3))
        agent = Agent("Payer", tools=[pay])
        platform = Platform(model, store=store).register(agent)
        waiting = await agent.run("the bill", context=platform.context())
        request = waiting.pending[0].id
        await platform.respond(waiting.run_id, request, approve())

        fork = await platform.fork(waiting.run_id, responses={request: reject("too much")})

        assert isinstance(fork, RunResult)
        assert fork.output == "Then not."
        with pytest.raises(ResponseError, match=rf"did not wait for {request} after step 2; .* after step 3\."):
            await platform.fork(waiting.run_id, at=2, responses={request: approve()})
        with pytest.raises(ResponseError, match="did not wait for other"):
            await platform.fork(waiting.run_id, responses={"other": approve()})

    async def test_another_input(self, store: DocumentStore) -> None:
        model = ScriptedModel().when(prompt_contains="toad").reply("A toad.")
        model.when(prompt_contains="frog").reply("A frog.")
        agent = Agent("Reader")
        platform = Platform(model, store=store).register(agent)
        result = await agent.run("a frog?", context=platform.context(), budget=Budget(turns=1))
        fork = await platform.fork(result.run_id, input="a toad?")
        assert isinstance(fork, RunResult)
        assert fork.output == "A toad."
        start = (await RunStore(store).load_steps(fork.run_id))[0].start
        assert start is not None
        assert start["limits"]["turns"] == 1, "within the same limits"
        with pytest.raises(ConfigurationError, match="from the start only"):
            await platform.fork(result.run_id, at=1, input="a toad?")

    async def test_what_failed_is_tried_again(self, store: DocumentStore) -> None:
        model = ScriptedModel(ModelServerError("down"), "A frog.")
        agent = Agent("Reader")
        platform = Platform(model, store=store).register(agent)
        with pytest.raises(ModelServerError):
            await agent.run("a frog?", context=platform.context())
        (record,) = await RunStore(store).find()
        fork = await platform.fork(record.run_id)
        assert isinstance(fork, RunResult)
        assert fork.output == "A frog."

    async def test_a_deadline_leaves_as_much_time_as_it_did(self) -> None:
        clock = FakeClock()
        store = MemoryStore(clock.time)
        platform = Platform(ScriptedModel("a", "b"), store=store).register(Agent("Reader"))
        platform.services.clock = clock
        run_id = await platform.enqueue("Reader", "x", deadline=timedelta(hours=1))
        clock.advance(60)
        await Worker(platform).run_once()
        before = await load_record(store, run_id)
        clock.advance(2 * 3600)  # the deadline itself is long past
        fork = await platform.fork(run_id, at=1)
        assert isinstance(fork, RunResult)
        after = await load_record(store, fork.run_id)
        assert before.header.deadline is not None
        assert after.header.deadline is not None
        began = (await platform.steps(run_id))[0].at
        assert after.header.started_at is not None
        left = after.header.deadline - after.header.started_at
        assert left == before.header.deadline - began == 59 * 60

    async def test_one_that_has_not_started_can_be_forked_from_its_start(self) -> None:
        platform = Platform(ScriptedModel("a", "b"), store=MemoryStore()).register(Agent("Reader"))
        run_id = await platform.enqueue("Reader", "x")
        fork = await platform.fork(run_id)
        assert isinstance(fork, RunResult)
        assert fork.output == "a"
        assert await Worker(platform).run_once()
        assert (await load_record(platform.store, run_id)).status is RunStatus.COMPLETED


class TestModel:
    @pytest.fixture
    def first(self) -> ScriptedModel:
        return ScriptedModel("first", "first", "first", name="first")

    @pytest.fixture
    def second(self) -> ScriptedModel:
        return ScriptedModel(*["second"] * 6, name="second")

    async def test_every_call_uses_it_whatever_is_named(self, first: ScriptedModel, second: ScriptedModel) -> None:
        own = ScriptedModel("own", "own", name="own")

        @planned_agent(description="Asks several models")
        class Several:
            @achieves_goal("asked")
            @action
            async def ask(self, topic: UserInput, ai: Ai, context: OperationContext) -> str:
                agents = [Agent("Object", model=own), Agent("Named", model="first")]
                said = [await context.run_agent(agent, str, topic.content) for agent in agents]
                said.append(await ai.with_llm(LlmOptions(model="first", temperature=0.5)).generate_text("x"))
                said.append(await ai.with_llm(own).generate_text("x"))
                return " ".join(said)

        platform = Platform(Models(first=first, second=second), store=MemoryStore()).register(Several())
        process = await platform.start("Several", "x")
        assert process.result == "own first first own"

        fork = expect_process(await platform.fork(process.id, at=0, model="second"))

        assert fork.result == "second second second second"
        assert second.calls[2].options.temperature == 0.5, "the other settings stay"
        assert second.calls[2].options.model == "second"
        run = (await platform.tree(fork.id)).run
        assert (run.model, run.forked_from) == ("second", (process.id, 0))

    async def test_one_that_leads_uses_it_too(self, first: ScriptedModel) -> None:
        @planned_agent(description="Is led by a model", planner="supervisor")
        class Led:
            @achieves_goal("done")
            @action
            def work(self, topic: UserInput) -> str:
                return f"worked on {topic.content}"

        first = ScriptedModel(ToolCall("work"), "It is done.", name="first")
        second = ScriptedModel(ToolCall("work"), "It is done.", name="second")
        platform = Platform(Models(first=first, second=second), store=MemoryStore()).register(Led())
        process = await platform.start("Led", "frogs")
        fork = expect_process(await platform.fork(process.id, at=0, model="second"))
        assert (process.result, fork.result) == ("worked on frogs", "worked on frogs")
        assert (len(first.calls), len(second.calls)) == (1, 1)

    async def test_one_that_sums_up_uses_it_too(self, first: ScriptedModel, second: ScriptedModel) -> None:
        agent = Agent("Talker", window=Summarization(max_tokens=80, keep_recent=1, model="first"))
        platform = Platform(Models(first=first, second=second), store=MemoryStore()).register(agent)
        said = [UserMessage("frogs"), *[AssistantMessage((Text("hop " * 60),)), UserMessage("And?")] * 3]
        result = await agent.run(said, context=platform.context())
        assert len(first.calls) == 2
        await platform.fork(result.run_id, at=0, model="second")
        assert (len(first.calls), len(second.calls)) == (2, 2)

    async def test_it_stays_after_a_crash_and_elsewhere(self, first: ScriptedModel, second: ScriptedModel) -> None:
        entered = asyncio.Event()
        is_slow = True

        @tool
        async def wait() -> str:
            """Waits."""
            entered.set()
            if is_slow:
                await asyncio.Event().wait()
            return "waited"

        store = JsonStore()
        second = ScriptedModel(ToolCall("wait"), "second", "second", name="second")
        models = Models(first=first, second=second)
        agent = Agent("Waiter", model="first", tools=[wait])
        platform = Platform(models, store=store).register(agent)
        result = await agent.run("x", context=platform.context())

        forking = asyncio.create_task(platform.fork(result.run_id, at=0, model="second"))
        await entered.wait()
        forking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await forking
        is_slow = False

        assert await Worker(Platform(models, store=store).register(agent)).run_once()
        ended = (await RunStore(store).find())[-1]
        assert (ended.status, ended.header.output, ended.header.model) == (RunStatus.COMPLETED, "second", "second")
        third = await platform.fork(ended.run_id, at=ended.steps - 3)
        assert isinstance(third, RunResult)
        assert (await load_record(store, third.run_id)).header.model == "second", "so is a fork of the fork"

    async def test_one_that_does_not_exist(self, first: ScriptedModel) -> None:
        store, agent = MemoryStore(), Agent("Reader")
        platform = Platform(Models(first=first), store=store).register(agent)
        result = await agent.run("x", context=platform.context())
        with pytest.raises(ConfigurationError, match="There is no model 'third'"):
            await platform.fork(result.run_id, model="third")
        assert len(await RunStore(store).find()) == 1


class TestComposed:
    async def test_a_member_that_has_answered_is_not_asked_again(self, store: DocumentStore) -> None:
        model = ScriptedModel(ToolCall("invoke_coder", request="Code it"), "It is about frogs.", "About frogs.")
        coder = ScriptedModel("Frogs hop.")
        team = SupervisorAgent("Team", workers={"Codes": Agent("coder", model=coder)})
        platform = Platform(model, store=store).register(team)
        result = await team.run("Tell me", context=platform.context())
        kinds = [(step.kind, step.path[1:]) for step in await platform.steps(result.run_id)]
        answered = next(n for n, (kind, path) in enumerate(kinds, start=1) if kind == "output" and path)

        fork = await platform.fork(result.run_id, at=answered)

        assert isinstance(fork, RunResult)
        assert fork.output == "About frogs."
        assert (len(model.calls), len(coder.calls)) == (3, 1)


class TestMistakes:
    @pytest.fixture
    async def platform(self) -> Platform:
        return Platform(ScriptedModel(*["a"] * 5), store=MemoryStore()).register(Agent("Reader"))

    @pytest.fixture
    async def run_id(self, platform: Platform) -> str:
        return (await Agent("Reader").run("x", context=platform.context())).run_id

    async def test_a_step_that_does_not_exist(self, platform: Platform, run_id: str) -> None:
        for at in (-1, 5):
            with pytest.raises(ConfigurationError, match=f"has the steps 1 to 4: there is no step {at}"):
                await platform.fork(run_id, at=at)

    async def test_a_run_that_does_not_exist(self, platform: Platform) -> None:
        with pytest.raises(RunNotFoundError, match="There is no run with the id 'x'"):
            await platform.fork("x")

    async def test_objects_for_what_is_no_process(self, platform: Platform, run_id: str) -> None:
        with pytest.raises(ConfigurationError, match="Reader is not a planned agent"):
            await platform.fork(run_id, "an object")

    async def test_an_agent_that_is_not_registered(self, platform: Platform, run_id: str) -> None:
        other = Platform(ScriptedModel(), store=platform.store).register(Agent("Another"))
        with pytest.raises(AgentNotFoundError, match="No agent is registered as 'Reader'"):
            await other.fork(run_id)
        assert len(await RunStore(platform.store).find()) == 1

    async def test_a_platform_without_a_store(self) -> None:
        platform = Platform(ScriptedModel("a")).register(Writer())
        process = await platform.start("Writer", "x")
        with pytest.raises(ConfigurationError, match="Only a store has the steps of runs"):
            await platform.fork(process.id)


async def test_a_copy_that_is_cut_short_is_taken_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program dies while the steps are copied: what is there of the fork is no run that a worker continues."""

    class Dying(MemoryStore):
        appends = 0
        dies_at = 10_000

        async def append(self, *arguments: object) -> None:
            self.appends += 1
            if self.appends > self.dies_at:
                raise SystemExit("killed")
            await super().append(*arguments)  # type: ignore[arg-type]

        async def delete(self, collection: str, id: str) -> bool:
            return self.appends <= self.dies_at and await super().delete(collection, id)

    store = Dying()
    platform = Platform(ScriptedModel(*["a"] * 3), store=store).register(Agent("Reader"))
    result = await Agent("Reader").run("x", context=platform.context())
    store.dies_at = store.appends + 2
    with pytest.raises(SystemExit):
        await platform.fork(result.run_id)

    records = await RunStore(store).find()
    assert [record.status for record in records] == [RunStatus.COMPLETED, RunStatus.PAUSED]
    assert not await Worker(platform).run_once()


def test_the_context_of_a_run_obeys_the_model_of_the_run() -> None:
    first, second = ScriptedModel(name="first"), ScriptedModel(name="second")
    context = RunContext.over(Models(first=first, second=second))
    assert context.find_model() == (first, LlmOptions())
    assert context.find_model("second") == (second, LlmOptions(model="second"))
    forked = RunContext(context.services, model="second").child("x")
    assert forked.find_model(first) == (second, LlmOptions(model="second"))
    wanted = LlmOptions(role="reviewer", temperature=0.1, fallbacks=("first",), instances=("a",))
    assert forked.find_model(wanted) == (second, LlmOptions(model="second", temperature=0.1))


async def test_a_fork_that_is_cancelled_at_any_moment_is_whole_or_not_there(tmp_path: Path) -> None:
    agent = Agent("Clerk", model=ScriptedModel(*["done"] * 2_000))
    async with SqliteStore(tmp_path / "runs.db") as store:
        platform, runs = Platform(models=ScriptedModel(), store=store).register(agent), RunStore(store)
        source = (await agent.run("Go", context=platform.context())).run_id
        for steps in range(1_000):
            forking = asyncio.create_task(platform.fork(source))
            for _ in range(steps):
                await asyncio.sleep(0)
            forking.cancel()
            has_ended = await asyncio.wait([forking], timeout=30)
            assert not has_ended[1]
            for record in await runs.find():
                if record.run_id != source:
                    assert record.steps > 0 or await runs.load_steps(record.run_id), "a fork has no steps"
                    assert record.has_ended or await runs.claim("w", 0.0, run_id=record.run_id), "its lease is held"
                    await runs.delete(record.run_id)
            if not forking.cancelled():
                return
        raise AssertionError("the fork has no end")
