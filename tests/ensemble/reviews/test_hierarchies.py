"""Reviews of the answer of a hierarchy, which is the output of its last task."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Ensemble,
    HierarchicalConstraints,
    Platform,
    Review,
    ReviewDecision,
    ReviewPolicy,
    RunContext,
    RunStatus,
    Task,
    Workflow,
)
from tactician.ensemble import (
    AskPerson,
    ConstraintViolationError,
    EnsembleResult,
    ExitReason,
    ReviewRejectedError,
    TaskFailedError,
)
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Response
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.ensemble.support import cashier, over, prompt_of, says
from tests.support.stored import JsonStore

POLICIES = (ReviewPolicy.AFTER_LAST_TASK, ReviewPolicy.AFTER_EVERY_TASK)


class Report(BaseModel):
    title: str


class Editor:
    """Reviewer of the program, who gives these answers."""

    def __init__(self, *answers: Response) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, request: PendingRequest) -> Response:
        """Return the next answer."""
        self.prompts.append(request.prompt)
        return self.answers.pop(0)


def firm(
    manager: ScriptedModel,
    *,
    policy: ReviewPolicy = ReviewPolicy.NEVER,
    review: Review | None = None,
    reviewer: Reviewer | None = None,
    workers: tuple[Agent, ...] | None = None,
    constraints: HierarchicalConstraints | None = None,
    kind: type[object] | None = None,
) -> Ensemble:
    """A firm with a writer."""
    task = Task("Report", id="report", review=review, output_type=kind)
    agents = workers or (says("Writer", "text", "better text"),)
    return Ensemble(
        "Firm",
        [task],
        workflow=Workflow.HIERARCHICAL,
        agents=agents,
        model=manager,
        review_policy=policy,
        reviewer=reviewer,
        constraints=constraints,
    )


def manager(*steps: Step) -> ScriptedModel:
    """A manager who delegates to the writer first."""
    return ScriptedModel(ToolCall("delegate_task", role="Writer", task="Write"), *steps)


@pytest.mark.parametrize("policy", POLICIES)
async def test_the_policy_reviews_the_answer(policy: ReviewPolicy) -> None:
    editor = Editor(ReviewDecision.approve())
    result = await firm(manager("answer"), policy=policy, reviewer=editor).run(context=over())
    assert (result.raw, editor.prompts) == ("answer", ["Is this output of the task 'report' good?\n\nanswer"])


async def test_the_last_task_may_name_a_review_or_skip_it() -> None:
    editor = Editor(ReviewDecision.approve())
    await firm(manager("answer"), review=Review.after("Good?"), reviewer=editor).run(context=over())
    assert editor.prompts == ["Good?\n\nanswer"]
    skipped = firm(manager("answer"), policy=ReviewPolicy.AFTER_EVERY_TASK, review=Review.skip(), reviewer=Editor())
    assert (await skipped.run(context=over())).raw == "answer"


async def test_an_edit_replaces_the_answer_and_the_parsed_object() -> None:
    editor = Editor(ReviewDecision.edit("no JSON"), ReviewDecision.edit('{"title": "New"}'))
    model = manager(Report(title="Old"))
    result = await firm(model, policy=POLICIES[0], reviewer=editor, kind=Report).run(context=over())
    assert (result.output, result["report"].parsed) == (Report(title="New"), Report(title="New"))


async def test_a_retry_lets_the_manager_work_again_with_the_feedback() -> None:
    model = manager("draft", ToolCall("delegate_task", role="Writer", task="Write better"), "answer")
    editor = Editor(ReviewDecision.retry("bolder"), ReviewDecision.approve())
    result = await firm(model, policy=POLICIES[0], reviewer=editor).run(context=over())
    section = "## Revision Instructions (Attempt 2)\n\n### Feedback\n\nbolder\n\n### Previous Output\n\ndraft"
    assert section in prompt_of(model, 2)
    assert [output.raw for output in result.task_outputs] == ["text", "better text", "answer"]
    assert result["report"].tool_calls == 2


async def test_exit_early_ends_with_the_answer() -> None:
    result = await firm(manager("answer"), policy=POLICIES[0], reviewer=Editor(ReviewDecision.exit_early())).run(
        context=over()
    )
    assert (result.raw, result.exit_reason) == ("answer", ExitReason.EXIT_EARLY)


async def test_a_review_before_decides_whether_the_manager_begins() -> None:
    model = manager("answer")
    editor = Editor(ReviewDecision.exit_early())
    result = await firm(model, review=Review.before("Begin?"), reviewer=editor).run(context=over())
    assert (result.exit_reason, result.task_outputs, model.calls) == (ExitReason.EXIT_EARLY, (), [])
    assert editor.prompts == ["Begin?\n\nReport"]


async def test_nobody_in_time_may_reject_the_answer() -> None:
    clock = FakeClock()
    ensemble = firm(manager("answer"), review=Review.after(timeout=60, on_timeout="reject"))
    context = RunContext.over(ScriptedModel(), clock=clock)
    waiting = await ensemble.run(context=context)
    clock.advance(61)
    with pytest.raises(TaskFailedError) as caught:
        await ensemble.resume(waiting.run_id, {}, context=context)
    assert isinstance(caught.value.failed["report"], ReviewRejectedError)


async def test_required_workers_are_checked_before_anybody_is_asked() -> None:
    constraints = HierarchicalConstraints(required_workers={"Writer"})
    editor = Editor()
    ensemble = firm(ScriptedModel("answer"), policy=POLICIES[0], reviewer=editor, constraints=constraints)
    with pytest.raises(ConstraintViolationError):
        await ensemble.run(context=over())
    assert editor.prompts == []


async def test_days_later_another_process_decides_and_nothing_is_done_again() -> None:
    store, model = JsonStore(), manager("draft", "answer")

    def build() -> Ensemble:
        return firm(model, review=Review.after(required_role="editor", timeout=0), workers=(writer,))

    writer = says("Writer", "text")
    first = Platform(models=ScriptedModel(), store=store).register(build())
    waiting = await build().run(context=first.context())
    for decision, status in (
        (ReviewDecision.retry("bolder"), RunStatus.WAITING),
        (ReviewDecision.approve(), RunStatus.COMPLETED),
    ):
        platform = Platform(models=ScriptedModel(), store=store).register(build())
        request = waiting.pending[0]
        result = await platform.respond(waiting.run_id, request.id, decision, role="editor")
        assert isinstance(result, EnsembleResult)
        assert result.status is status
        waiting = result
    assert (waiting.raw, len(model.calls)) == ("answer", 3)


async def test_the_reviewer_answers_what_the_manager_and_the_workers_wait_for() -> None:
    model = ScriptedModel(
        ToolCall("ask_person", question="Whom?"), ToolCall("delegate_task", role="Payer", task="Pay"), "answer"
    )
    boss = Agent("Boss", tools=[AskPerson()], model=model)
    editor = Editor("Anna", True)
    ensemble = Ensemble(
        "Firm",
        [Task("Pay")],
        workflow=Workflow.HIERARCHICAL,
        agents=[cashier("paid")],
        manager=boss,
        reviewer=editor,
    )
    assert (await ensemble.run(context=over())).raw == "answer"
    assert editor.prompts == ["Whom?", 'May pay({"amount":7}) be called?']


async def test_a_hierarchy_that_is_reviewed_as_a_task_reads_the_feedback() -> None:
    model = manager("draft", "answer")
    inner = firm(model)
    editor = Editor(ReviewDecision.retry("bolder"), ReviewDecision.approve())
    outer = Ensemble("Outer", [inner], review_policy=ReviewPolicy.AFTER_EVERY_TASK, reviewer=editor)
    assert (await outer.run(context=over())).raw == "answer"
    assert "### Feedback\n\nbolder" in prompt_of(model, 2)
