"""`_sync`: the entry points for programs without an event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import (
    Ai,
    Autonomy,
    Platform,
    ProcessStatus,
    SupervisorInvocation,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.process import AgentProcess
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import expect_process


@dataclass
class Draft:
    text: str


@dataclass
class Letter:
    text: str


@planned_agent(description="writes letters")
class Writer:
    @action
    async def draft(self, user_input: UserInput) -> Draft:
        return Draft(user_input.content)

    @achieves_goal("a letter is written")
    @action
    async def sign(self, draft: Draft) -> Letter:
        return Letter(f"{draft.text}, {await ask_human(str, 'Who signs?')}")


@planned_agent(description="writes letters that nobody has to sign")
class Hasty:
    @achieves_goal("a letter is written")
    @action
    async def write(self, user_input: UserInput, process: AgentProcess) -> Letter:
        if user_input.content == "later":
            process.pause()
        return Letter(user_input.content)


def test_a_platform_is_used_without_a_loop() -> None:
    platform = Platform(ScriptedModel()).register(Hasty())
    assert platform.invoke_sync(Letter, "Dear Ada") == Letter("Dear Ada")
    assert platform.start_sync("Hasty", "Dear Ada").status is ProcessStatus.COMPLETED
    paused = platform.start_sync("Hasty", "later")
    assert paused.status is ProcessStatus.PAUSED
    assert expect_process(platform.resume_sync(paused.id)).result == Letter("later")


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_process_that_waits_is_answered_without_a_loop(is_kept: bool, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "processes.db") if is_kept else None
    platform = Platform(ScriptedModel(), store=store).register(Writer())
    process = platform.start_sync("Writer", "Dear Ada")
    assert process.status is ProcessStatus.WAITING
    done = platform.respond_sync(process.id, process.pending[0].id, "Lynda")
    assert expect_process(done).result == Letter("Dear Ada, Lynda")
    asyncio.run(platform.store.aclose())


def test_autonomy_and_a_supervisor_work_without_a_loop() -> None:
    ranking = {"value": [{"name": "Hasty", "confidence": 0.9, "reason": "letters"}]}
    platform = Platform(ScriptedModel(ranking, ToolCall("write"))).register(Hasty())
    assert Autonomy(platform).run_sync("Dear Ada").output == Letter("Dear Ada")
    led = SupervisorInvocation(platform).returning(Letter).within(Hasty())
    assert led.run_sync("Dear Ada") == Letter("Dear Ada")


def test_a_model_is_asked_without_a_loop() -> None:
    ai = Ai.over(ScriptedModel("Once ...", Draft("Once more ...")))
    assert ai.generate_text_sync("a tale") == "Once ..."
    assert ai.create_sync(Draft, "a tale") == Draft("Once more ...")


async def test_inside_a_loop_it_says_what_to_do() -> None:
    platform = Platform(ScriptedModel()).register(Hasty())
    with pytest.raises(RuntimeError, match="await"):
        platform.start_sync("Hasty", "Dear Ada")
    with pytest.raises(RuntimeError, match="await"):
        Ai.over(ScriptedModel()).generate_text_sync("a tale")
