"""Objects on the blackboards of processes that are saved: what cannot be stored is refused when it is put there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import pytest

from tactician import (
    Platform,
    ProcessOptions,
    ProcessStatus,
    SomeOf,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.conversation import Conversation
from tactician.errors import StoredStateError
from tactician.llm import UserMessage
from tactician.platform import Worker
from tactician.process import Blackboard, OperationContext
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.failures import without_lines
from tests.support.stored import JsonStore, expect_process

T = TypeVar("T")


@dataclass
class Beast:
    name: str


@dataclass
class Hound(Beast):
    owner: str = "Ada"


@dataclass
class Kennel:
    dogs: list[Beast]


@dataclass
class Box(Generic[T]):
    content: T


@dataclass
class Loose:
    thing: Any


@dataclass
class Parts(SomeOf):
    beast: Beast
    kennel: Kennel


@dataclass
class Done:
    text: str = "done"


REFUSAL = "`Kennel.dogs[0]` cannot be stored: it is of the type Hound, and would be read back as Beast"
BAD = Kennel([Hound("Rex")])


@planned_agent(description="builds a kennel, and then does something with it")
class Keeper:
    """It builds what a test wants."""

    def __init__(self, kennel: Kennel = BAD) -> None:
        self.kennel = kennel
        self.built = 0

    @action
    def find(self, wish: UserInput) -> Beast:
        return Beast("Tom")

    @action
    def build(self, beast: Beast) -> Kennel:
        self.built += 1
        return self.kennel

    @achieves_goal("done")
    @action
    async def finish(self, kennel: Kennel) -> Done:
        return Done(await ask_human(str, "Is it good?"))


def over(store: MemoryStore, agent: object) -> Platform:
    return Platform(ScriptedModel(), store=store).register(agent)


class TestOutputs:
    async def test_one_that_would_read_back_as_another_fails_the_process(self) -> None:
        process = await over(JsonStore(), Keeper()).start("Keeper", "a kennel")

        assert process.status is ProcessStatus.FAILED
        assert process.failure is not None
        assert process.failure.startswith(f"build raised StoredStateError: {REFUSAL}")
        assert [run.action for run in process.history] == ["find", "build"]
        assert process.last(Kennel) is None

    async def test_the_last_state_that_could_be_saved_says_so(self) -> None:
        store = JsonStore()
        process = await over(store, Keeper()).start("Keeper", "a kennel")

        kept = await over(store, Keeper()).process(process.id)

        assert (kept.status, kept.failure) == (ProcessStatus.FAILED, process.failure)
        assert kept.last(Beast) == Beast("Tom")
        assert await over(store, Keeper()).kill(kept.id) is ProcessStatus.FAILED

    async def test_a_worker_does_not_repeat_it(self) -> None:
        store, keeper = JsonStore(), Keeper(Kennel([Beast("Rex \ud83d")]))
        platform = over(store, keeper)
        run_id = await platform.enqueue("Keeper", "a kennel")

        worker = Worker(platform)
        assert [await worker.run_once() for _ in range(2)] == [True, False]

        kept = await over(store, Keeper()).process(run_id)
        assert kept.status is ProcessStatus.FAILED
        assert r"`Kennel.dogs[0].name` cannot be stored: 'Rex \ud83d' has half of a surrogate pair" in str(kept.failure)
        assert keeper.built == 1

    async def test_a_part_that_is_refused_leaves_the_blackboard_as_it_was(self) -> None:
        @planned_agent(description="gives two at once")
        class Giver:
            @achieves_goal("given")
            @action(clear_blackboard=True)
            def give(self, wish: UserInput) -> Parts:
                return Parts(Beast("Tom"), BAD)

        process = await over(JsonStore(), Giver()).start("Giver", "x")

        assert process.status is ProcessStatus.FAILED
        assert [type(value) for value in process.blackboard.objects] == [UserInput]

    async def test_what_reads_back_equal_goes_on(self) -> None:
        store = JsonStore()
        process = await over(store, Keeper(Kennel([Beast("Rex")]))).start("Keeper", "a kennel")

        kept = await over(store, Keeper()).process(process.id)

        assert kept.last(Kennel) == Kennel([Beast("Rex")])
        assert expect_process(await over(store, Keeper()).respond(kept.id, kept.pending[0].id, "yes")).result == Done(
            "yes"
        )

    async def test_a_conversation_is_stored(self) -> None:
        @planned_agent(description="talks")
        class Talker:
            @action
            def talk(self, wish: UserInput) -> Conversation:
                return Conversation([UserMessage(wish.content)], id="talk")

            @achieves_goal("talked")
            @action
            async def ask(self, talk: Conversation) -> Done:
                return Done(f"{talk.id}: {talk.messages[0].text} {await ask_human(str, 'And?')}")

        store = JsonStore()
        process = await over(store, Talker()).start("Talker", "hi")
        done = expect_process(await over(store, Talker()).respond(process.id, process.pending[0].id, "there"))
        assert done.result == Done("talk: hi there")

    async def test_without_a_store_nothing_is_refused(self) -> None:
        process = await Platform(ScriptedModel()).register(Keeper()).start("Keeper", "a kennel")
        assert process.status is ProcessStatus.WAITING
        assert process.last(Kennel) is BAD


class TestGenerics:
    """What a generic class is of is known from the agent alone: `Box[Beast]` reads its content as a `Beast`."""

    @staticmethod
    def boxer(content: Beast) -> object:
        @planned_agent(description="packs")
        class Boxer:
            @action
            def pack(self, wish: UserInput) -> Box[Beast]:
                return Box(content)

            @achieves_goal("sent")
            @action
            async def send(self, box: Box[Beast]) -> Done:
                return Done(await ask_human(str, f"Send {type(box.content).__name__}?"))

        return Boxer()

    async def test_the_content_reads_back_equal(self) -> None:
        store = MemoryStore()
        process = await over(store, self.boxer(Beast("Tom"))).start("Boxer", "x")
        kept = await over(store, self.boxer(Beast("Tom"))).process(process.id)
        assert kept.last(Box) == Box(Beast("Tom"))

    async def test_content_of_another_type_is_refused(self) -> None:
        process = await over(MemoryStore(), self.boxer(Hound("Rex"))).start("Boxer", "x")
        assert str(process.failure).startswith("pack raised StoredStateError: `Box.content` cannot be stored")


class TestAdded:
    async def test_an_action_may_catch_the_refusal(self) -> None:
        @planned_agent(description="adds something")
        class Adder:
            @achieves_goal("added")
            @action
            def add(self, wish: UserInput, blackboard: Blackboard) -> Kennel:
                with pytest.raises(StoredStateError, match=r"`Kennel\.dogs"):
                    blackboard.add(BAD)
                with pytest.raises(StoredStateError, match=r"`Kennel\.dogs"):
                    blackboard["kennel"] = BAD
                assert blackboard.last(Kennel) is None
                return Kennel([])

        process = await over(JsonStore(), Adder()).start("Adder", "x")
        assert process.result == Kennel([])

    async def test_one_that_is_not_caught_fails_the_process(self) -> None:
        @planned_agent(description="adds something")
        class Adder:
            @achieves_goal("added")
            @action
            def add(self, wish: UserInput, context: OperationContext) -> Kennel:
                context.blackboard.add(BAD)
                return Kennel([])

        process = await over(JsonStore(), Adder()).start("Adder", "x")
        assert str(process.failure).startswith(f"add raised StoredStateError: {REFUSAL}")

    async def test_an_object_is_saved_as_it_was_when_it_was_added(self) -> None:
        @planned_agent(description="changes an object that is there")
        class Changer:
            @action
            def find(self, wish: UserInput) -> Beast:
                return Beast("Tom")

            @achieves_goal("changed")
            @action
            async def change(self, beast: Beast, blackboard: Blackboard) -> Done:
                beast.name = "Rex"
                blackboard["renamed"] = replace(beast)
                return Done(await ask_human(str, "And?"))

        store = JsonStore()
        process = await over(store, Changer()).start("Changer", "x")
        kept = await over(store, Changer()).process(process.id)
        assert kept.blackboard.all(Beast) == [Beast("Tom"), Beast("Rex")]


class TestGiven:
    @pytest.mark.parametrize("given", [BAD, Loose({1: 2}), Beast("\ud83d")], ids=["subclass", "keys", "surrogate"])
    async def test_what_a_process_is_given_is_refused_before_anything_is_stored(self, given: object) -> None:
        @planned_agent(description="takes anything")
        class Taker:
            @achieves_goal("taken")
            @action
            def take(self, kennel: Kennel | None, loose: Loose | None, beast: Beast | None, wish: UserInput) -> Done:
                return Done()

        store = JsonStore()
        platform = over(store, Taker())
        refused = pytest.raises(StoredStateError, match=f"`{type(given).__name__}")
        with refused:
            await platform.start("Taker", "x", given)
        with refused:
            await platform.enqueue("Taker", "x", given)
        with refused:
            await platform.start("Taker", "x", named={"something": given})
        with refused:
            await platform.start("Taker", "x", options=ProcessOptions(blackboard=Blackboard(given)))
        assert await RunStore(store).find() == []
        assert await platform.processes() == []

    async def test_none_of_several_is_added_when_one_is_refused(self) -> None:
        store = JsonStore()
        process = await over(store, Keeper()).start("Keeper", Done())
        platform = over(store, Keeper())
        with pytest.raises(StoredStateError, match=r"`Kennel\.dogs"):
            await platform.resume(process.id, Beast("Tom"), BAD)
        assert (await platform.process(process.id)).last(Beast) is None

    async def test_an_answer_that_cannot_be_stored_is_refused(self) -> None:
        platform = over(JsonStore(), Keeper(Kennel([])))
        process = await platform.start("Keeper", "a kennel")
        with pytest.raises(StoredStateError, match=r"The answer to 'Keeper/finish/asked': .* half of a surrogate"):
            await platform.respond(process.id, process.pending[0].id, "yes \ud83d")
        assert expect_process(await platform.respond(process.id, process.pending[0].id, "yes")).result == Done("yes")


class TestFailures:
    async def test_a_failure_that_quotes_what_cannot_be_stored_is_escaped(self) -> None:
        @planned_agent(description="fails")
        class Failing:
            @achieves_goal("done")
            @action
            def work(self, wish: UserInput) -> Done:
                raise ValueError("no \ud83d here")

        store = JsonStore()
        process = await over(store, Failing()).start("Failing", "x")
        kept = await over(store, Failing()).process(process.id)
        assert kept.failure == process.failure
        assert without_lines(kept.failure) == r"work raised ValueError: no \ud83d here"
        assert kept.history[0].error == r"ValueError: no \ud83d here"

    async def test_a_question_that_cannot_be_stored_ends_with_the_last_state(self) -> None:
        @planned_agent(description="asks")
        class Asking:
            @action
            def find(self, wish: UserInput) -> Beast:
                return Beast("Tom")

            @achieves_goal("done")
            @action
            async def ask(self, beast: Beast) -> Done:
                return Done(await ask_human(str, "Who is \ud83d?"))

        store = JsonStore()
        process = await over(store, Asking()).start("Asking", "x")
        kept = await over(store, Asking()).process(process.id)
        assert (kept.status, kept.failure) == (ProcessStatus.FAILED, process.failure)
        assert "StoredStateError" in str(kept.failure)
        assert kept.last(Beast) == Beast("Tom")

    @pytest.mark.parametrize("body", ["", "{}", "[", '{"version": 99}'])
    async def test_a_process_that_cannot_be_read_can_be_killed(self, body: str) -> None:
        store = JsonStore()
        process = await over(store, Keeper(Kennel([]))).start("Keeper", "a kennel")
        runs = RunStore(store)
        record = await runs.load(process.id)
        assert record is not None
        await runs.save(replace(record, body=body))

        platform = over(store, Keeper())
        assert await platform.kill(process.id) is ProcessStatus.KILLED
        assert [one.status for one in await runs.find()] == ["killed"]
        with pytest.raises(StoredStateError, match="cannot be read"):
            await platform.process(process.id)

    async def test_the_reason_of_a_kill_is_escaped(self) -> None:
        store = JsonStore()
        process = await over(store, Keeper(Kennel([]))).start("Keeper", "a kennel")
        await over(store, Keeper()).kill(process.id, "no \ud83d")
        assert (await over(store, Keeper()).process(process.id)).failure == r"no \ud83d"
