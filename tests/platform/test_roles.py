"""Requests that require a role of whoever answers, in runs of every kind."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tactician import (
    Ensemble,
    Platform,
    Review,
    ReviewDecision,
    RunContext,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.ensemble import ReviewDecided
from tactician.errors import ResponseError
from tactician.events import Event
from tactician.platform import Worker
from tactician.process import AgentProcess
from tactician.runs import RunStatus
from tactician.runs.life.execution import keep_responses
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.respondents import Respondent
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore, load_record

GATE = Review.after("Open it?", required_role="manager", timeout=0)


def safe() -> Ensemble:
    """An ensemble with a gate for managers."""
    return Ensemble("Safe", [Task("Open the safe", id="open", handler=lambda _: "open", review=GATE)])


@planned_agent(description="Opens safes")
class Clerk:
    @achieves_goal("The safe is open")
    @action
    async def open(self, asked: UserInput) -> str:
        return str((await safe().run()).output)


async def test_a_process_refuses_an_answer_without_the_role() -> None:
    events: list[Event] = []
    platform = Platform(models=ScriptedModel(), store=JsonStore(), on_event=events.append).register(Clerk())
    process = await platform.start("Clerk", "please")
    (request,) = process.pending
    assert request.required_role == "manager"
    with pytest.raises(ResponseError, match="'manager', none was given"):
        await platform.respond(process.id, request.id, ReviewDecision.approve())
    with pytest.raises(ResponseError, match="'manager', not 'clerk'"):
        await process.respond(request.id, ReviewDecision.approve(), Respondent("clerk"))
    done = await platform.respond(process.id, request.id, {"decision": "approve"}, role="manager", by="Mia")
    assert isinstance(done, AgentProcess)
    assert done.result == "open"
    assert [event.by for event in events if isinstance(event, ReviewDecided)] == ["Mia"]


async def test_a_fork_refuses_an_answer_without_the_role() -> None:
    platform = Platform(models=ScriptedModel(), store=JsonStore()).register(safe())
    waiting = await safe().run(context=platform.context())
    with pytest.raises(ResponseError, match="'manager'"):
        await platform.fork(waiting.run_id, responses={waiting.pending[0].id: ReviewDecision.approve()})


async def test_the_role_of_who_answers_does_not_reach_the_code_that_runs_then() -> None:
    found: list[object] = []

    def look(task: object) -> str:
        current = RunContext.find_current()
        found.append(None if current is None else current.find(Respondent))
        return "done"

    ensemble = Ensemble("E", [Task("Ask", handler=lambda _: 1, review=GATE), Task("Look", handler=look)])
    platform = Platform(models=ScriptedModel(), store=JsonStore()).register(ensemble)
    waiting = await ensemble.run(context=platform.context())
    await platform.respond(waiting.run_id, waiting.pending[0].id, ReviewDecision.approve(), role="manager")
    assert found == [Respondent()]


async def test_answers_that_are_kept_for_a_worker_need_the_role_too() -> None:
    store, ensemble = JsonStore(), safe()
    platform = Platform(models=ScriptedModel(), store=store).register(ensemble)
    waiting = await ensemble.run(context=platform.context())
    answers = {waiting.pending[0].id: ReviewDecision.approve()}
    for respondent, is_refused in ((Respondent(), True), (Respondent("manager"), False)):
        claimed = await RunStore(store).claim("worker", 30.0, run_id=waiting.run_id)
        assert claimed is not None
        context = platform.context().inside({Respondent: respondent})
        with pytest.raises(ResponseError, match="'manager'") if is_refused else nullcontext():
            await keep_responses(*claimed, context, answers)
    await Worker(platform).run_once()
    assert (await load_record(store, waiting.run_id)).status is RunStatus.COMPLETED
