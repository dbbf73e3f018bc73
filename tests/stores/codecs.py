"""Tests of runs, conversations and memories in every document store."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from time import time

import pytest

from tactician import Agent, Platform, ProcessOptions, UserInput, achieves_goal, action, planned_agent, tool
from tactician.conversation import Conversation, ConversationStore
from tactician.errors import ConversationConflictError, LeaseLostError, RunConflictError, StoredStateError
from tactician.runs import RunStatus
from tactician.runs.progress.record import RunHeader, RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore
from tactician.testing import ScriptedModel, ToolCall
from tests.conversation.talk import calls, exchange, result, says, user
from tests.stores.conformance import HOUR, DocumentConformance
from tests.stores.log_conformance import (
    LogConformance,
    PruneConformance,
    RestConformance,
    StateConformance,
    VersionedLogConformance,
)

BROKEN = "half a frog \ud83d"


def record(run_id: str = "r", status: str = "running", name: str = "Clerk", wakes_at: float | None = None) -> RunRecord:
    return RunRecord(run_id=run_id, name=name, status=RunStatus(status), body="{}", kind="process", wakes_at=wakes_at)


class RunConformance:
    @pytest.fixture
    def runs(self, stores: list[DocumentStore]) -> RunStore:
        return RunStore(stores[0])

    @pytest.fixture
    def others(self, stores: list[DocumentStore]) -> RunStore:
        return RunStore(stores[1])

    async def test_a_run_comes_back(self, runs: RunStore, others: RunStore) -> None:
        header = RunHeader(started_at=12.5, deadline=99.0, trace_parent="00-ab-cd-01", failure="Grüße")
        given = replace(
            record(status="waiting", wakes_at=1234.5),
            parent_id="p",
            priority=3,
            idempotency_key="order-17",
            header=header,
            body='{"text": "Grüße"}',
        )

        saved = await runs.save(given)

        assert saved == replace(given, version=1)
        loaded = await others.load("r")
        assert loaded == saved
        assert loaded.body == given.body
        changed = await others.save(replace(saved, status=RunStatus.COMPLETED, wakes_at=None))
        ended = await runs.load("r")
        assert ended == changed == replace(given, version=2, status=RunStatus.COMPLETED, wakes_at=None)
        assert ended.body == given.body, "a save without a body keeps it"
        await runs.delete("r")
        assert await others.load("r") is None

    async def test_of_two_who_change_a_run_the_second_is_told(self, runs: RunStore, others: RunStore) -> None:
        saved = await runs.save(record())
        await others.save(replace(saved, body="[1]"))

        with pytest.raises(RunConflictError, match="The run r was changed by another worker"):
            await runs.save(replace(saved, body="[2]"))
        with pytest.raises(RunConflictError):
            await runs.add_and_claim(record(), "w", HOUR)

    async def test_runs_are_found_by_status_and_name(self, runs: RunStore) -> None:
        for number, status in enumerate(["waiting", "running", "waiting"]):
            await runs.save(record(f"r{number}", status, "Clerk" if number % 2 else "Bank"))

        assert [one.run_id for one in await runs.find()] == ["r0", "r1", "r2"]
        assert [one.run_id for one in await runs.find(statuses=["waiting"], limit=1)] == ["r0"]
        assert [one.run_id for one in await runs.find(names=["Clerk"])] == ["r1"]

    @pytest.mark.parametrize(
        ("status", "by_anybody", "by_id"),
        [
            ("running", True, True),
            ("not started", True, True),
            ("waiting", False, True),
            ("paused", False, True),
            ("stuck", False, True),
            ("completed", False, False),
            ("failed", False, False),
            ("terminated", False, False),
            ("killed", False, False),
        ],
    )
    async def test_which_runs_can_be_claimed(self, runs: RunStore, status: str, by_anybody: bool, by_id: bool) -> None:
        saved = await runs.save(record(status=status))

        assert (await runs.claim("w", 0.0) is not None) is by_anybody
        found = await runs.claim("w", HOUR, run_id="r")

        assert (found is not None) is by_id
        if found is not None:
            assert found[0] == saved
            assert (found[1].id, found[1].owner, found[1].fence) == ("r", "w", 2 if by_anybody else 1)

    async def test_a_run_that_waits_is_claimed_when_it_has_to_wake(self, runs: RunStore) -> None:
        await runs.save(record("late", "waiting", wakes_at=time() + HOUR))
        await runs.save(record("ended", "completed", wakes_at=time() - HOUR))
        assert await runs.claim("w", HOUR) is None
        await runs.save(record("due", "waiting", wakes_at=time() - HOUR))

        found = await runs.claim("w", HOUR, names=["Clerk"], excluded_ids=["late"])

        assert found is not None
        assert found[0].run_id == "due"
        waiting = await runs.save(replace(found[0], wakes_at=None), found[1])
        await runs.save(replace(waiting, status=RunStatus.RUNNING), found[1])
        with pytest.raises(LeaseLostError):
            await runs.save(replace(waiting, version=3), replace(found[1], fence=0))

    async def test_a_run_that_goes_on_can_be_claimed(self, runs: RunStore, store: DocumentStore) -> None:
        waiting = await runs.save(record(status="waiting"))
        running = await runs.save(replace(waiting, status=RunStatus.RUNNING))
        found = await runs.claim("w", HOUR)
        assert found is not None
        assert found[0] == running
        await store.release(found[1])

        await runs.save(replace(running, status=RunStatus.COMPLETED))

        assert await runs.claim("w", HOUR) is None

    async def test_a_run_whose_state_no_database_has_is_refused(self, store: DocumentStore) -> None:
        @tool(needs_approval=True)
        def pay(text: str) -> str:
            """Pays."""
            return text

        platform = Platform(ScriptedModel(ToolCall("pay", text="a")), store=store)
        if store.keeps_objects:
            waiting = await Agent("Payer", tools=[pay]).run(BROKEN, context=platform.context())
            assert waiting.status is RunStatus.WAITING, "nothing must be written"
            return
        with pytest.raises(StoredStateError, match=r"cannot be stored: .*surrogates"):
            await Agent("Payer", tools=[pay]).run(BROKEN, context=platform.context())
        assert await RunStore(store).find() == []


class ConversationConformance:
    @pytest.fixture
    def talks(self, stores: list[DocumentStore]) -> ConversationStore:
        return ConversationStore(stores[0])

    @pytest.fixture
    def elsewhere(self, stores: list[DocumentStore]) -> ConversationStore:
        return ConversationStore(stores[1])

    @pytest.mark.parametrize("seed", range(4))
    async def test_whatever_is_changed_between_saves_comes_back(
        self, talks: ConversationStore, elsewhere: ConversationStore, seed: int
    ) -> None:
        chance, conversation = random.Random(seed), await talks.create("c")
        for number in range(60):
            match chance.choice(["exchange", "exchange", "user", "insert", "remove", "truncate", "open", "part"]):
                case "exchange":
                    conversation.extend([user(f"{number}"), *exchange(f"{number}"), says("hello")])
                case "user":
                    conversation.append(user(f"{number}"))
                case "insert":
                    conversation.insert(user(f"inserted {number}"))
                case "remove":
                    conversation.remove(f"m{chance.randrange(0, 4 * number + 1)}")
                case "truncate":
                    conversation.truncate(chance.randrange(0, 100))
                case "open":
                    conversation.append(calls(f"open {number}"))
                case "part":
                    conversation.begin_part(f"{number}")
                    conversation.restore_part([user(f"{number}"), says("hello")])
                    conversation.end_part()
            await talks.save(conversation)

            loaded = await elsewhere.load("c")

            assert loaded is not None
            assert loaded.to_json() == conversation.to_json()
            assert loaded.version == conversation.version == number + 2
            if chance.random() < 0.3:
                conversation, talks, elsewhere = loaded, elsewhere, talks

    async def test_who_loads_while_others_save_sees_one_of_the_versions(
        self, talks: ConversationStore, elsewhere: ConversationStore
    ) -> None:
        conversation = await talks.create("c")
        lengths: dict[int, int] = {}

        async def write() -> None:
            for number in range(150):
                conversation.append(user(f"{number}"))
                if number % 20 == 19:
                    conversation.truncate(3)
                await talks.save(conversation)
                lengths[conversation.version] = len(conversation)

        writing, seen = asyncio.create_task(write()), []
        while not writing.done():
            loaded = await elsewhere.load("c")
            assert loaded is not None
            seen.append(loaded)
            await asyncio.sleep(0)
        await writing

        assert all(len(one) == lengths[one.version] for one in seen if one.version > 1)

    async def test_a_new_conversation_is_empty_and_kept(self, talks: ConversationStore) -> None:
        conversation = await talks.create()

        loaded = await talks.load(conversation.id)

        assert loaded is not None
        assert (loaded.id, len(loaded), loaded.version) == (conversation.id, 0, conversation.version)

    async def test_what_was_said_comes_back(self, talks: ConversationStore, elsewhere: ConversationStore) -> None:
        conversation = await talks.create("c")
        conversation.extend([user("hi"), *exchange("x"), says("hello")])
        conversation.remove(conversation.ids[0])
        conversation.extend([user("again"), calls("y")])
        waiting = conversation.insert(user("by the way"))
        await talks.save(conversation)

        loaded = await elsewhere.load("c")

        assert loaded is not None
        assert loaded.messages == conversation.messages
        assert loaded.ids == conversation.ids
        loaded.append(result("y"))
        assert (loaded.messages[-1], loaded.ids[-1]) == (user("by the way"), waiting)

    async def test_changes_are_seen_when_they_are_saved(self, talks: ConversationStore) -> None:
        conversation = await talks.create("c")
        conversation.append(user("hi"))
        before = await talks.load("c")
        await talks.save(conversation)
        conversation.append(says("not yet"))
        after = await talks.load("c")

        assert before is not None
        assert after is not None
        assert (len(before), len(after)) == (0, 1)

    async def test_of_two_writers_the_second_is_told(
        self, talks: ConversationStore, elsewhere: ConversationStore
    ) -> None:
        one = await talks.create("c")
        other = await elsewhere.load("c")
        assert other is not None
        one.append(user("one"))
        other.append(user("other"))
        await talks.save(one)

        with pytest.raises(ConversationConflictError, match="c was changed or deleted since it was loaded"):
            await elsewhere.save(other)

        kept = await elsewhere.load("c")
        assert kept is not None
        assert kept.messages == [user("one")]
        kept.append(user("other"))
        await elsewhere.save(kept)

    async def test_writers_in_several_places_lose_nothing(
        self, talks: ConversationStore, elsewhere: ConversationStore
    ) -> None:
        async def write(store: ConversationStore, text: str) -> None:
            while True:
                conversation = await store.load("c")
                assert conversation is not None
                conversation.append(user(text))
                try:
                    return await store.save(conversation)
                except ConversationConflictError:
                    continue

        await talks.create("c")
        await asyncio.gather(*(write(talks if n % 2 else elsewhere, str(n)) for n in range(12)))

        loaded = await elsewhere.load("c")
        assert loaded is not None
        assert sorted(loaded.messages, key=str) == sorted((user(str(n)) for n in range(12)), key=str)

    async def test_saves_that_overlap_are_all_kept(self, talks: ConversationStore) -> None:
        conversation = await talks.create("c")
        saves = []
        for number in range(10):
            conversation.append(user(str(number)))
            saves.append(asyncio.ensure_future(talks.save(conversation)))
        await asyncio.gather(*saves)

        loaded = await talks.load("c")
        assert loaded is not None
        assert (len(loaded), loaded.version) == (10, conversation.version)

    @pytest.mark.parametrize("steps", range(4))
    async def test_a_save_that_is_cancelled_is_known_to_the_conversation(
        self, talks: ConversationStore, steps: int
    ) -> None:
        conversation = await talks.create("c")
        saving = asyncio.ensure_future(talks.save(conversation))
        for _ in range(steps):
            await asyncio.sleep(0)
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)

        conversation.append(user("hi"))
        await talks.save(conversation)

        loaded = await talks.load("c")
        assert loaded is not None
        assert (loaded.version, len(loaded)) == (conversation.version, 1)

    async def test_one_made_elsewhere_can_be_saved(self, talks: ConversationStore) -> None:
        conversation = Conversation([user("hi")], "c")
        await talks.save(conversation)
        await talks.save(conversation)
        assert (await talks.ids(), conversation.version) == (("c",), 2)

    async def test_the_id_of_a_conversation_is_used_once(self, talks: ConversationStore) -> None:
        await talks.create("c")
        with pytest.raises(ConversationConflictError, match="There is a conversation c already"):
            await talks.create("c")
        with pytest.raises(ConversationConflictError, match="There is a conversation c already"):
            await talks.save(Conversation(id="c"))

    async def test_a_conversation_that_is_deleted_is_gone_and_does_not_come_back(
        self, talks: ConversationStore
    ) -> None:
        conversation = await talks.create("c")

        assert await talks.delete("c")
        assert not await talks.delete("c")
        assert await talks.load("c") is None
        with pytest.raises(ConversationConflictError):
            await talks.save(conversation)
        assert await talks.ids() == ()

    async def test_ids_come_in_the_order_in_which_they_were_made(self, talks: ConversationStore) -> None:
        for name in "bac":
            await talks.create(name)
        conversation = await talks.load("b")
        assert conversation is not None
        await talks.save(conversation)

        assert await talks.ids() == ("b", "a", "c")

    async def test_a_conversation_that_was_never_there_is_none(self, talks: ConversationStore) -> None:
        assert await talks.load("nobody") is None

    async def test_a_conversation_whose_id_no_database_has_is_refused(self, talks: ConversationStore) -> None:
        with pytest.raises(StoredStateError, match=r"The id cannot be stored: .* U\+D83D"):
            await talks.create(BROKEN)
        with pytest.raises(StoredStateError, match=r"The id cannot be stored: .* U\+D83D"):
            await talks.load(BROKEN)


@dataclass
class Facts:
    number: int


@dataclass
class Article:
    number: int


@planned_agent(description="finds facts on its way to an article")
class Writer:
    @action
    def find(self, topic: UserInput) -> Facts:
        return Facts(len(topic.content))

    @achieves_goal("written")
    @action
    def write(self, facts: Facts) -> Article:
        return Article(facts.number)


class MemoryConformance:
    async def test_processes_remember_what_others_have_found(self, stores: list[DocumentStore]) -> None:
        platforms = [Platform(ScriptedModel(), store=store).register(Writer()) for store in stores]
        options = ProcessOptions(memory_id="lynda")
        first = await platforms[0].start("Writer", "frogs", options=options)
        second = await platforms[1].start("Writer", "toads are not frogs", options=options)

        assert first.result == second.result == Article(5)
        assert [run.action for run in second.history] == ["write"]
        other = await platforms[1].start("Writer", "newts!", options=ProcessOptions(memory_id="adam"))
        assert other.result == Article(6)

    async def test_processes_that_end_at_once_remember_all(self, stores: list[DocumentStore]) -> None:
        platforms = [Platform(ScriptedModel(), store=store).register(Writer()) for store in stores]
        options = ProcessOptions(memory_id="lynda")

        await asyncio.gather(*(p.start("Writer", Facts(n), options=options) for n, p in enumerate(platforms)))

        document = await stores[0].load("memories", "lynda")
        assert document is not None
        assert all(f'"number":{number}' in document.text for number in range(4))

    async def test_a_memory_that_cannot_be_read_is_named(self, store: DocumentStore) -> None:
        platform, options = Platform(ScriptedModel(), store=store).register(Writer()), ProcessOptions(memory_id="m")
        await platform.start("Writer", "frogs", options=options)
        document = await store.load("memories", "m")
        assert document is not None
        await store.save(replace(document, body="[{}]"))

        with pytest.raises(StoredStateError, match="The memory 'm' cannot be read"):
            await platform.start("Writer", "frogs", options=options)

    async def test_what_no_database_has_is_refused_before_a_process_runs(self, store: DocumentStore) -> None:
        platform = Platform(ScriptedModel(), store=store).register(Writer())
        with pytest.raises(StoredStateError, match=r"`UserInput.content` cannot be stored: .* surrogate"):
            await platform.start("Writer", BROKEN)
        assert await RunStore(store).find() == []


class StoreConformance(
    DocumentConformance,
    StateConformance,
    LogConformance,
    RestConformance,
    VersionedLogConformance,
    PruneConformance,
    RunConformance,
    ConversationConformance,
    MemoryConformance,
):
    """All that a store has to do."""
