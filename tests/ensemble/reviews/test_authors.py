"""The name of whoever answers is kept with every kind of answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tactician import Agent, Ensemble, Loop, Platform, Review, RunStatus, Task, approve, tool
from tactician.ensemble import AskPerson
from tactician.ensemble.tasks.task import TaskLike
from tactician.events import Event
from tactician.runs import PendingRequest, RequestAnswered
from tactician.runs.outcomes.suspension import Response
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import over
from tests.support.stored import JsonStore


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def asking(call: ToolCall) -> Ensemble:
    """An ensemble whose agent calls a tool for which somebody is needed."""
    agent = Agent(role="Payer", model=ScriptedModel(call, "done"), tools=[pay, AskPerson()])
    return Ensemble("E", [Task("Pay", agent=agent)])


@pytest.mark.parametrize(
    ("call", "said"),
    [(ToolCall("pay", amount=1), approve()), (ToolCall("ask_person", question="Why?"), "Because")],
    ids=["approval", "question"],
)
async def test_the_name_is_in_the_event_and_in_the_steps_of_the_run(call: ToolCall, said: Response) -> None:
    events: list[Event] = []
    platform = Platform(models=ScriptedModel(), store=JsonStore(), on_event=events.append).register(asking(call))
    waiting = await platform.find_agent("E").run(None, context=platform.context())
    (request,) = waiting.pending
    await platform.respond(waiting.run_id, request.id, said, by="Ann")
    (answered,) = [event for event in events if isinstance(event, RequestAnswered)]
    assert (answered.request_id, answered.by) == (request.id, "Ann")
    assert answered.describe() == f"answer to {request.id}, by Ann"
    assert f"{request.id}, by Ann" in [step.detail for step in await platform.steps(waiting.run_id)]


class Ann:
    """Reviewer of the program, with a name."""

    name = "Ann"

    def __call__(self, request: PendingRequest) -> Response:
        """Answer everything."""
        return approve() if request.kind == "approval" else "Because"


@pytest.mark.parametrize("call", [ToolCall("pay", amount=1), ToolCall("ask_person", question="Why?")])
async def test_the_name_of_a_reviewer_of_the_program_is_in_the_event(call: ToolCall) -> None:
    events: list[Event] = []
    agent = Agent(role="Payer", model=ScriptedModel(call, "done"), tools=[pay, AskPerson()])
    await Ensemble("E", [Task("Pay", agent=agent)], reviewer=Ann()).run(context=over(None, events.append))
    assert [event.by for event in events if isinstance(event, RequestAnswered)] == ["Ann"]


async def test_an_answer_without_a_name_has_none_even_after_a_refused_one_with_a_name() -> None:
    events: list[Event] = []
    call = ToolCall("ask_person", question="Why?")
    platform = Platform(models=ScriptedModel(), store=JsonStore(), on_event=events.append).register(asking(call))
    waiting = await platform.find_agent("E").run(None, context=platform.context())
    (request,) = waiting.pending
    with pytest.raises(Exception, match="answer with text"):
        await platform.respond(waiting.run_id, request.id, 3, by="Ann")
    await platform.respond(waiting.run_id, request.id, "Because")
    details = [step.detail for step in await platform.steps(waiting.run_id) if step.kind == "review"]
    assert details == ["Because"]


@pytest.mark.parametrize(
    "build",
    [
        lambda task: Loop([task], max_iterations=1),
        lambda task: Ensemble("Inner", [task]),
        lambda task: task,
    ],
    ids=["loop", "ensemble", "task"],
)
async def test_a_reviewer_that_does_not_answer_is_asked_once(build: Callable[[Task], TaskLike]) -> None:
    asked: list[str] = []
    task = Task("Write", handler=lambda _: "x", review=Review.after())
    ensemble = Ensemble("E", [build(task)], reviewer=lambda request: asked.append(request.id))
    assert (await ensemble.run(context=over())).status is RunStatus.WAITING
    assert len(asked) == 1
