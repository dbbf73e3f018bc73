"""Programs that die at any of their writes: a conversation has every message once, in order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tactician import AgentService, Platform, RunResult, RunStatus, approve
from tactician.conversation import Conversation
from tactician.errors import StoreError
from tactician.llm import AssistantMessage, ToolResult
from tactician.platform import Worker
from tactician.runs import Runnable
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tests.service.cashier import (
    PAYMENTS,
    CashierModel,
    MortalStore,
    Pay,
    cashier,
    desk,
    said_by_cashier,
    shop,
)
from tests.service.test_conversations import said

LONGEST = 60


class Site:
    """Documents that outlive programs, and what was paid."""

    def __init__(self, create: Callable[[Pay], Runnable]) -> None:
        self.now = 1_000.0
        self.paid: Counter[str] = Counter()
        self.store = MemoryStore(time=lambda: self.now)
        self._create = create

    def start(self, store: MemoryStore | None = None) -> AgentService:
        """Start a program."""
        agent = self._create(lambda order: self.paid.update([order]))
        return AgentService(
            Platform(CashierModel(), store=MortalStore(self.store) if store is None else store)
        ).register(agent)

    async def continue_all(self) -> AgentService:
        """Let a worker continue what a dead program has left, once its leases have expired."""
        self.now += 3600
        service = self.start()
        while await Worker(service.platform).run_once():
            pass
        return service


def said_at_desk(question: str) -> list[str]:
    return [question, "", "Handed over to Cashier.", f"Done: {question}."]


def said_in_shop(question: str) -> list[str]:
    return [question, f"Done: {question}."]


KINDS = [("cashier", cashier, said_by_cashier), ("desk", desk, said_at_desk), ("shop", shop, said_in_shop)]


def deaths() -> Iterator[tuple[int, bool]]:
    for lives in range(LONGEST):
        yield lives, False
        yield lives, True


@pytest.mark.parametrize(("name", "create", "said_of"), KINDS, ids=[kind[0] for kind in KINDS])
async def test_a_program_dies_at_a_write(
    name: str, create: Callable[[Pay], Runnable], said_of: Callable[[str], list[str]]
) -> None:
    died = 0
    for lives, dies_after in deaths():
        site = Site(create)
        service = site.start()
        conversation_id = service.create_conversation()
        await service.request_agent(name, "first", conversation_id=conversation_id)
        mortal = MortalStore(site.store, lives, dies_after=dies_after)
        try:
            await site.start(mortal).request_agent(name, "second", conversation_id=conversation_id)
        except StoreError:
            died += 1
        if not mortal.is_dead:
            break

        service = await site.continue_all()

        runs = await RunStore(site.store).find()
        assert {run.status for run in runs} == {RunStatus.COMPLETED}
        was_begun = len(runs) == 2
        expected = said_of("first") + (said_of("second") if was_begun else [])
        assert said(await service.conversation(conversation_id)) == expected, (lives, dies_after)
        assert sum(site.paid.values()) - len(site.paid) <= 1, "only the step in flight runs twice"
        assert len(site.paid) == PAYMENTS * len(runs)
        await service.request_agent(name, "third", conversation_id=conversation_id)
        assert said(await service.conversation(conversation_id)) == expected + said_of("third")
    assert died > 20


async def resume(service: AgentService, run_id: str) -> RunResult[object]:
    (record,) = await RunStore(service.platform.store).find(statuses=["waiting"])
    assert record.run_id == run_id
    return await service.resume(run_id, {request.id: approve() for request in record.header.pending})


@pytest.mark.parametrize("approvals", [0, 1])
async def test_a_program_dies_at_a_write_before_or_after_an_approval(approvals: int) -> None:
    died = 0
    for lives, dies_after in deaths():
        site = Site(lambda pay: cashier(pay, needs_approval=True))
        service = site.start()
        conversation_id = service.create_conversation()
        await service.insert_message(conversation_id, "system", "Be quick.")
        run_id = ""
        if approvals:
            run_id = (await service.request_agent("cashier", "first", conversation_id=conversation_id)).run_id
        mortal = MortalStore(site.store, lives, dies_after=dies_after)
        try:
            if approvals:
                await resume(site.start(mortal), run_id)
            else:
                await site.start(mortal).request_agent("cashier", "first", conversation_id=conversation_id)
        except StoreError:
            died += 1
        if not mortal.is_dead:
            break

        service = await site.continue_all()
        runs = await RunStore(site.store).find()
        for _ in range(PAYMENTS):
            if runs and runs[0].status is RunStatus.WAITING:
                await service.insert_message(conversation_id, "system", "A clock strikes.")
                await resume(service, runs[0].run_id)
            runs = await RunStore(site.store).find()

        assert [run.status for run in runs] in ([RunStatus.COMPLETED], [])
        if runs:
            conversation = await service.conversation(conversation_id)
            messages = said(conversation)
            assert messages.count("A clock strikes.") == len(messages) - len(said_by_cashier("first")) - 1
            assert [text for text in messages if "clock" not in text] == ["Be quick.", *said_by_cashier("first")]
            assert sum(site.paid.values()) - len(site.paid) <= 1
    assert died > 10


async def test_a_program_dies_in_the_first_request_of_a_conversation() -> None:
    died = 0
    for lives, dies_after in deaths():
        site = Site(cashier)
        mortal = MortalStore(site.store, lives, dies_after=dies_after)
        service = site.start(mortal)
        conversation_id = service.create_conversation()
        try:
            await service.request_agent("cashier", "first", conversation_id=conversation_id)
        except StoreError:
            died += 1
        if not mortal.is_dead:
            break

        service = await site.continue_all()

        if runs := await RunStore(site.store).find():
            assert [run.status for run in runs] == [RunStatus.COMPLETED]
            assert said(await service.conversation(conversation_id)) == said_by_cashier("first")
    assert died > 20


def check_calls(conversation: Conversation) -> None:
    messages = conversation.messages
    calls = [call.id for one in messages if isinstance(one, AssistantMessage) for call in one.tool_calls]
    assert calls == [one.call_id for one in messages if isinstance(one, ToolResult)]


async def test_a_new_request_takes_the_place_of_one_whose_program_died() -> None:
    died = 0
    for lives, dies_after in deaths():
        site = Site(cashier)
        service = site.start()
        conversation_id = service.create_conversation()
        await service.insert_message(conversation_id, "system", "Be quick.")
        mortal = MortalStore(site.store, lives, dies_after=dies_after)
        with suppress(StoreError):
            await site.start(mortal).request_agent("cashier", "first", conversation_id=conversation_id)
        if not mortal.is_dead:
            break
        died += 1
        site.now += 3600
        paid = len(site.paid)

        await service.request_agent("cashier", "second", conversation_id=conversation_id)

        texts = said(await service.conversation(conversation_id))
        before = texts[: texts.index("second")]
        assert texts == before + said_by_cashier("second")
        assert before[:1] == ["Be quick."]
        known = sum(text.startswith("paid") for text in before)
        assert paid - known in ((0, 1) if before[-1].startswith("Interrupted") else (0,)), (lives, dies_after)
        assert before[1:2] == (["first"] if await RunStore(site.store).find(statuses=["killed"]) else before[1:2])
        check_calls(await service.conversation(conversation_id))
        assert not [run for run in await RunStore(site.store).find() if not run.has_ended and run.is_leased]
    assert died > 20


@pytest.mark.parametrize("seed", range(25))
async def test_programs_die_one_after_the_other(seed: int) -> None:
    chance = random.Random(seed)
    name, create, said_of = KINDS[seed % len(KINDS)]
    site = Site(create)
    service = site.start()
    conversation_id = service.create_conversation()
    await service.insert_message(conversation_id, "system", "Be quick.")
    mortal = MortalStore(site.store, chance.randint(3, 20), dies_after=chance.random() < 0.5)
    with suppress(StoreError):
        await site.start(mortal).request_agent(name, "first", conversation_id=conversation_id)
    deaths = int(mortal.is_dead)
    while mortal.is_dead and deaths < 10:
        site.now += 3600
        mortal = MortalStore(site.store, chance.randint(1, 20), dies_after=chance.random() < 0.5)
        await Worker(site.start(mortal).platform).run_once()
        deaths += mortal.is_dead

    service = await site.continue_all()

    assert said(await service.conversation(conversation_id)) == ["Be quick.", *said_of("first")]
    assert len(site.paid) == PAYMENTS
    assert sum(site.paid.values()) - PAYMENTS <= deaths
