"""What a person has rejected is over: the run has failed, whoever gave the answer, and in whatever the phase is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from tactician import Ensemble, Phase, PhaseReview, Platform, RunStatus, Task
from tactician.ensemble import TaskFailedError
from tactician.platform import Worker
from tactician.runs.life.execution import keep_responses
from tactician.runs.progress.store import RunStore
from tactician.testing import ScriptedModel
from tests.serve.api.serving import served
from tests.support.stored import JsonStore, load_record

REJECTION = "REJECT: made up"
Answer = Callable[[Platform, str, str], Awaitable[object]]


def create_ensemble(name: str, failures: list[Exception]) -> Ensemble:
    """Return an ensemble with a phase on which a person decides, and one after it that raises these errors."""

    def publish(task: object) -> str:
        if failures:
            raise failures.pop()
        return "published"

    draft = Phase("draft", [Task("Draft", handler=lambda task: "a draft")], review=PhaseReview.by_person())
    return Ensemble(name, phases=[draft, Phase("publish", [Task("Publish", handler=publish)], after=[draft])])


async def resume(platform: Platform, run_id: str, request_id: str) -> object:
    agent = platform.find_agent("E")
    assert isinstance(agent, Ensemble)
    return await agent.resume(run_id, {request_id: REJECTION}, context=platform.context())


async def respond(platform: Platform, run_id: str, request_id: str) -> object:
    return await platform.respond(run_id, request_id, REJECTION)


async def leave_to_a_worker(platform: Platform, run_id: str, request_id: str) -> object:
    claimed = await RunStore(platform.store).claim("somebody", 60, run_id=run_id)
    assert claimed is not None
    await keep_responses(*claimed, platform.context(), {request_id: REJECTION})
    return await Worker(platform).run_once()


async def answer_over_http(platform: Platform, run_id: str, request_id: str) -> object:
    async with served(platform) as client:
        answer = {"request": request_id, "response": {"verdict": "reject", "feedback": "made up"}}
        done = await client.post(f"/api/runs/{run_id}/answers", json=answer)
    assert (done.status_code, done.json()["status"]) == (200, "failed"), "the answer was taken"
    return done


@pytest.mark.parametrize("answer", [resume, respond, leave_to_a_worker, answer_over_http])
@pytest.mark.parametrize("is_inside", [False, True])
async def test_the_run_has_failed(answer: Answer, is_inside: bool) -> None:
    ensemble = create_ensemble("inner" if is_inside else "E", [])
    outer = Ensemble("E", [ensemble]) if is_inside else ensemble
    platform = Platform(models=ScriptedModel(), store=JsonStore()).register(outer)
    waiting = await platform.find_agent("E").run(None, context=platform.context())
    (request,) = waiting.pending
    with suppress(TaskFailedError):
        await answer(platform, waiting.run_id, request.id)
    record = await load_record(platform.store, waiting.run_id)
    assert (record.status, record.header.pending) == (RunStatus.FAILED, ())
    assert "made up" in str(record.header.failure)


async def test_a_run_that_fails_after_an_approval_waits_as_it_may_still_go_on() -> None:
    platform = Platform(models=ScriptedModel(), store=JsonStore())
    platform.register(create_ensemble("E", [ConnectionError("no network")]))
    waiting = await platform.find_agent("E").run(None, context=platform.context())
    with pytest.raises(Exception, match="no network"):
        await platform.respond(waiting.run_id, waiting.pending[0].id, "APPROVE")
    assert (await load_record(platform.store, waiting.run_id)).status is RunStatus.WAITING
    done = await platform.resume(waiting.run_id)
    assert "published" in str(done)
