"""Gates of tasks: approve, edit, retry and exit early, answered by a person later or by a function at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf, nan

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Ensemble,
    Platform,
    Review,
    ReviewDecision,
    ReviewPolicy,
    RunContext,
    RunStatus,
    Task,
    Workflow,
    approve,
    ask_human,
    confirm,
    reject,
    tool,
)
from tactician.ensemble import (
    AskPerson,
    EnsembleResult,
    ExitReason,
    ReviewDecided,
    ReviewRejectedError,
    ReviewRequested,
    TaskFailedError,
    TaskInput,
)
from tactician.errors import ResponseError, TacticianError
from tactician.events import Event
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Response
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.ensemble.support import over, prompt_of
from tests.support.stored import JsonStore


class Report(BaseModel):
    title: str


@dataclass
class Newsroom:
    """An ensemble of a writer and a printer on a platform with a store, and a program that is stopped each time."""

    review: Review | None = None
    answers: tuple[object, ...] = ("draft",)
    output_type: type[object] | None = None
    policy: ReviewPolicy = ReviewPolicy.NEVER
    clock: FakeClock = field(default_factory=FakeClock)
    store: JsonStore = field(default_factory=JsonStore)
    events: list[Event] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    parsed: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = ScriptedModel(*self.answers)

    def ensemble(self) -> Ensemble:
        """The same ensemble, as another program would build it."""
        write = Task("Write", id="write", role="Writer", review=self.review, output_type=self.output_type)
        return Ensemble("News", [write, Task("Print", id="print", handler=self._print)], review_policy=self.policy)

    def _print(self, task: TaskInput) -> str:
        (text,) = (output.raw for output in task.context_outputs)
        self.printed.append(text)
        self.parsed.append(task.context_outputs[0].parsed)
        return f"printed {text}"

    def open(self) -> Platform:
        """The platform of another program on the same store."""
        platform = Platform(models=self.model, store=self.store, on_event=self.events.append)
        platform.services.clock = self.clock
        return platform.register(self.ensemble())

    async def start(self) -> EnsembleResult:
        """Start a run in a program that ends when the run waits."""
        async with self.open() as platform:
            return await self.ensemble().run(context=platform.context())

    async def respond(
        self, waiting: EnsembleResult, answer: object, *, role: str | None = None, by: str | None = None
    ) -> EnsembleResult:
        """Answer the first request in another program."""
        async with self.open() as platform:
            request = waiting.pending[0]
            result = await platform.respond(waiting.run_id, request.id, answer, role=role, by=by)
            assert isinstance(result, EnsembleResult)
            return result

    async def look_again(self, waiting: EnsembleResult) -> EnsembleResult:
        """Look at the run in another program, without an answer."""
        async with self.open() as platform:
            result = await platform.resume(waiting.run_id)
            assert isinstance(result, EnsembleResult)
            return result


class TestDecisions:
    async def test_the_run_waits_and_another_program_approves_days_later(self) -> None:
        news = Newsroom(Review.after(timeout=0))
        waiting = await news.start()
        (request,) = waiting.pending
        assert (waiting.status, waiting.exit_reason, news.printed) == (RunStatus.WAITING, None, [])
        assert request.prompt.endswith("\n\ndraft")
        assert request.deadline is None
        news.clock.advance(86_400 * 30)
        result = await news.respond(waiting, ReviewDecision.approve())
        assert (result.raw, result.exit_reason) == ("printed draft", ExitReason.COMPLETED)
        assert len(news.model.calls) == 1, "the agent did not work again"

    async def test_an_edit_replaces_the_output_the_context_and_the_parsed_object(self) -> None:
        news = Newsroom(Review.after(), (Report(title="Old"),), Report)
        result = await news.respond(await news.start(), ReviewDecision.edit('{"title": "New"}'))
        assert (news.printed, news.parsed) == (['{"title": "New"}'], [Report(title="New")])
        assert result["write"].parsed == Report(title="New")

    async def test_an_edit_of_text_is_the_output(self) -> None:
        news = Newsroom(Review.after())
        result = await news.respond(await news.start(), ReviewDecision.edit("better"))
        assert (result.raw, result["write"].raw, result["write"].parsed) == ("printed better", "better", None)

    async def test_an_edit_that_does_not_parse_is_refused_and_the_run_waits_on(self) -> None:
        news = Newsroom(Review.after(), (Report(title="Old"),), Report)
        waiting = await news.start()
        for wrong in (ReviewDecision.edit("no JSON"), ReviewDecision.edit(" "), {"decision": "no"}, "yes", False, 3):
            with pytest.raises(ResponseError, match="not valid"):
                await news.respond(waiting, wrong)
            assert news.printed == []
        async with news.open() as platform:
            (view,) = await platform.runs(status="waiting")
            assert view.pending[0].problem is not None
        assert (await news.respond(waiting, ReviewDecision.approve())).status is RunStatus.COMPLETED

    async def test_a_retry_runs_the_task_again_with_the_feedback_and_its_previous_output(self) -> None:
        news = Newsroom(Review.after(), ("first", "second", "third"))
        waiting = await news.respond(await news.start(), ReviewDecision.retry("be bold"))
        waiting = await news.respond(waiting, ReviewDecision.retry("be brief"))
        result = await news.respond(waiting, ReviewDecision.approve())
        assert result.raw == "printed third"
        prompt = prompt_of(news.model, 2)
        assert (
            "## Revision Instructions (Attempt 3)\n\n### Feedback\n\nbe brief\n\n### Previous Output\n\nsecond"
            in prompt
        )
        assert result["write"].usage.requests == 3, "the usage of all attempts counts"

    async def test_exit_early_ends_the_ensemble_with_the_outputs_so_far(self) -> None:
        news = Newsroom(Review.after())
        result = await news.respond(await news.start(), ReviewDecision.exit_early())
        assert (result.status, result.exit_reason, result.raw) == (RunStatus.COMPLETED, ExitReason.EXIT_EARLY, "draft")
        assert (news.printed, list(result.skipped)) == ([], ["print"])

    @pytest.mark.parametrize("answer", [{"decision": "approve"}, '{"decision": "approve"}', "approve", approve(), True])
    async def test_an_approval_has_other_forms(self, answer: object) -> None:
        news = Newsroom(Review.after())
        assert (await news.respond(await news.start(), answer)).exit_reason is ExitReason.COMPLETED

    async def test_all_decisions_can_be_given_as_text(self) -> None:
        news = Newsroom(Review.after(), ("first", "second"))
        waiting = await news.respond(await news.start(), " retry: be bold: and brief\nplease")
        assert "### Feedback\n\nbe bold: and brief\nplease\n" in prompt_of(news.model, 1)
        assert (await news.respond(waiting, "EDIT:\nbetter\nstill ")).raw == "printed better\nstill"
        news = Newsroom(Review.after())
        assert (await news.respond(await news.start(), "EXIT_EARLY")).exit_reason is ExitReason.EXIT_EARLY

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [("yes please", "'yes please'"), ("retry", "'retry'"), ({"decision": "no"}, "this"), (reject("no"), "this")],
    )
    async def test_what_is_no_decision_is_refused_in_plain_words(self, answer: object, quoted: str) -> None:
        news = Newsroom(Review.after())
        with pytest.raises(ResponseError) as refused:
            await news.respond(await news.start(), answer)
        assert str(refused.value).endswith(
            f"the answer is not valid: {quoted} is no decision on a task. "
            "Answer with APPROVE, EDIT: <new output>, RETRY: <feedback>, or EXIT_EARLY."
        )

    async def test_a_rejection_of_a_tool_is_no_decision(self) -> None:
        news = Newsroom(Review.after())
        waiting = await news.start()
        with pytest.raises(ResponseError, match="not valid"):
            await news.respond(waiting, reject("no"))

    async def test_events_say_who_decided(self) -> None:
        news = Newsroom(Review.after(required_role="editor"), ("draft", "shorter draft"))
        await news.respond(await news.start(), ReviewDecision.retry("shorter"), role="editor", by="Anna")
        (asked, _) = [event for event in news.events if isinstance(event, ReviewRequested)]
        (decided,) = [event for event in news.events if isinstance(event, ReviewDecided)]
        assert (asked.task_id, asked.timing, asked.required_role) == ("write", "after", "editor")
        assert (decided.decision, decided.by, decided.feedback, decided.timed_out) == (
            "retry",
            "Anna",
            "shorter",
            False,
        )


class TestBefore:
    async def test_the_task_runs_once_somebody_has_approved(self) -> None:
        news = Newsroom(Review.before("May they write?"))
        waiting = await news.start()
        assert waiting.pending[0].prompt == "May they write?\n\nWrite"
        assert news.model.calls == []
        assert (await news.respond(waiting, ReviewDecision.approve())).raw == "printed draft"

    async def test_an_edit_before_the_task_continues(self) -> None:
        news = Newsroom(Review.before())
        assert (await news.respond(await news.start(), ReviewDecision.edit("x"))).raw == "printed draft"

    async def test_a_retry_before_the_task_is_refused(self) -> None:
        news = Newsroom(Review.before())
        with pytest.raises(ResponseError, match="has not run"):
            await news.respond(await news.start(), ReviewDecision.retry("x"))

    async def test_exit_early_before_the_first_task_has_no_outputs(self) -> None:
        news = Newsroom(Review.before())
        result = await news.respond(await news.start(), ReviewDecision.exit_early())
        assert (result.output, result.task_outputs, result.exit_reason) == (None, (), ExitReason.EXIT_EARLY)
        assert news.model.calls == []


class TestPolicies:
    @pytest.mark.parametrize(
        ("policy", "review", "gates"),
        [
            (ReviewPolicy.NEVER, None, []),
            (ReviewPolicy.AFTER_EVERY_TASK, None, ["write", "print"]),
            (ReviewPolicy.AFTER_LAST_TASK, None, ["print"]),
            (ReviewPolicy.AFTER_EVERY_TASK, Review.skip(), ["print"]),
            (ReviewPolicy.NEVER, Review.after(), ["write"]),
            (ReviewPolicy.AFTER_LAST_TASK, Review.before(), ["write", "print"]),
        ],
    )
    async def test_the_setting_of_a_task_comes_before_the_policy(
        self, policy: ReviewPolicy, review: Review | None, gates: list[str]
    ) -> None:
        news = Newsroom(review, policy=policy)
        result, seen = await news.start(), []
        while result.pending:
            seen.append(result.pending[0].id.split("/")[-2])
            result = await news.respond(result, ReviewDecision.approve())
        assert seen == gates


class TestTimeouts:
    @pytest.mark.parametrize(("seconds", "is_over"), [(299, False), (300, True)])
    async def test_after_five_minutes_a_review_ends_the_ensemble(self, seconds: float, is_over: bool) -> None:
        news = Newsroom(Review.after())
        waiting = await news.start()
        news.clock.advance(seconds)
        result = await news.look_again(waiting)
        assert (result.exit_reason is ExitReason.TIMEOUT) is is_over
        assert (result.status is RunStatus.WAITING) is not is_over
        assert news.printed == []

    async def test_on_timeout_continue_approves(self) -> None:
        news = Newsroom(Review.after(timeout=600, on_timeout="continue"))
        waiting = await news.start()
        news.clock.advance(600)
        result = await news.look_again(waiting)
        assert (result.raw, result.exit_reason) == ("printed draft", ExitReason.COMPLETED)
        (decided,) = [event for event in news.events if isinstance(event, ReviewDecided)]
        assert (decided.decision, decided.timed_out) == ("continue", True)

    async def test_on_timeout_reject_raises(self) -> None:
        news = Newsroom(Review.after(timeout=60, on_timeout="reject"))
        waiting = await news.start()
        news.clock.advance(60)
        with pytest.raises(TaskFailedError) as caught:
            await news.look_again(waiting)
        assert isinstance(caught.value.failed["write"], ReviewRejectedError)

    @pytest.mark.parametrize("review", [Review.after(timeout=0), Review.after(timeout=None)])
    async def test_without_a_timeout_a_review_waits_for_ever(self, review: Review) -> None:
        news = Newsroom(review)
        waiting = await news.start()
        news.clock.advance(1e9)
        assert (await news.look_again(waiting)).status is RunStatus.WAITING

    async def test_nobody_can_pass_off_an_answer_as_a_timeout(self) -> None:
        news = Newsroom(Review.after(on_timeout="continue"))
        waiting = await news.start()
        assert waiting.pending[0].default == {"timed_out": True, "then": "continue"}
        with pytest.raises(ResponseError, match="deadline has not passed"):
            await news.respond(waiting, waiting.pending[0].default)


class TestRoles:
    @pytest.mark.parametrize("role", [None, "intern"])
    async def test_a_gate_with_a_role_refuses_an_answer_without_it(self, role: str | None) -> None:
        news = Newsroom(Review.after(required_role="manager", timeout=0))
        waiting = await news.start()
        with pytest.raises(ResponseError, match="'manager'"):
            await news.respond(waiting, ReviewDecision.approve(), role=role)
        with pytest.raises(ResponseError, match="'manager'"):
            async with news.open() as platform:
                await news.ensemble().resume(
                    waiting.run_id, {waiting.pending[0].id: approve()}, context=platform.context()
                )
        assert (await news.respond(waiting, ReviewDecision.approve(), role="manager")).raw == "printed draft"


class TestReviewers:
    async def run(
        self, reviewer: Callable[[PendingRequest], Response | Awaitable[Response]], review: Review | None = None
    ) -> EnsembleResult:
        """Run one task with a gate."""
        task = Task("Write", role="W", review=review or Review.after())
        return await Ensemble("E", [task], model=ScriptedModel("draft", "again"), reviewer=reviewer).run(context=over())

    async def test_a_function_decides_at_once(self) -> None:
        assert (await self.run(lambda request: ReviewDecision.edit("better"))).raw == "better"

    async def test_an_async_function_decides(self) -> None:
        decisions = [ReviewDecision.retry("more"), ReviewDecision.approve()]

        async def decide(request: PendingRequest) -> Response:
            await asyncio.sleep(0)
            return decisions.pop(0)

        assert (await self.run(decide)).raw == "again"

    async def test_without_an_answer_of_the_function_the_run_waits(self) -> None:
        assert (await self.run(lambda request: None)).status is RunStatus.WAITING

    async def test_a_reviewer_without_the_role_is_not_asked(self) -> None:
        asked: list[PendingRequest] = []
        result = await self.run(asked.append, Review.after(required_role="editor"))
        assert (result.status, asked) == (RunStatus.WAITING, [])

    async def test_a_reviewer_reads_why_its_answer_was_refused(self) -> None:
        problems: list[str | None] = []

        def decide(request: PendingRequest) -> Response:
            problems.append(request.problem)
            return ReviewDecision.edit("" if len(problems) == 1 else "text")

        assert (await self.run(decide)).raw == "text"
        assert problems == [None, "the new output is empty"]

    async def test_a_reviewer_that_takes_too_long_counts_as_no_answer(self) -> None:
        clock = FakeClock()

        async def decide(request: PendingRequest) -> Response:
            clock.advance(300)
            await asyncio.sleep(3600)
            return ReviewDecision.approve()

        ensemble = Ensemble("E", [Task("Write", handler=lambda _: "x", review=Review.after())], reviewer=decide)
        result = await ensemble.run(context=RunContext.over(ScriptedModel(), clock=clock))
        assert (result.exit_reason, result.raw) == (ExitReason.TIMEOUT, "x")

    async def test_the_reviewer_approves_tools_during_a_task(self) -> None:
        @tool(needs_approval=True)
        def pay(amount: int) -> str:
            """Pay."""
            return f"paid {amount}"

        seen: list[str] = []

        def decide(request: PendingRequest) -> Response:
            seen.append(request.kind)
            return approve() if request.kind == "approval" else ReviewDecision.approve()

        model = ScriptedModel(ToolCall("pay", amount=7), "Paid.")
        task = Task("Pay", agent=Agent("A", model=model, tools=[pay]), review=Review.after())
        result = await Ensemble("E", [task], reviewer=decide).run(context=over())
        assert (result.raw, seen, len(model.calls)) == ("Paid.", ["approval", "form"], 2)
        assert "paid 7" in model.calls[1].prompt


class TestQuestions:
    async def test_an_agent_asks_a_person_during_its_task_and_goes_on_with_the_answer(self) -> None:
        model = ScriptedModel(
            [ToolCall("ask_person", question="Which frog?"), ToolCall("ask_person", question="Where?")], "Written."
        )
        task = Task("Write", agent=Agent("A", model=model, tools=[AskPerson()]))
        context = RunContext.over(ScriptedModel(), store=JsonStore())
        ensemble = Ensemble("E", [task])
        waiting = await ensemble.run(context=context)
        assert [request.prompt for request in waiting.pending] == ["Which frog?", "Where?"]
        for answer in ("The green one", "In the pond"):
            waiting = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: answer}, context=context)
        assert waiting.raw == "Written."
        assert "The green one" in model.calls[1].prompt
        assert "In the pond" in model.calls[1].prompt

    async def test_the_reviewer_answers_questions_first(self) -> None:
        model = ScriptedModel(ToolCall("ask_person", question="Which frog?"), "Written.")
        task = Task("Write", agent=Agent("A", model=model, tools=[AskPerson()]))
        result = await Ensemble("E", [task], reviewer=lambda request: f"{request.prompt} Green.").run(context=over())
        assert result.raw == "Written."
        assert "Which frog? Green." in model.calls[1].prompt

    @pytest.mark.parametrize("role", [None, "expert"])
    async def test_a_question_may_need_a_role_and_has_a_default(self, role: str | None) -> None:
        clock = FakeClock()
        model = ScriptedModel(ToolCall("ask_person", question="Why?"), "Written.")
        asker = AskPerson(timeout=60, default="Skip it", required_role=role)
        context = RunContext.over(ScriptedModel(), clock=clock)
        ensemble = Ensemble("E", [Task("Write", agent=Agent("A", model=model, tools=[asker]))])
        waiting = await ensemble.run(context=context)
        assert waiting.pending[0].required_role == role
        clock.advance(60)
        assert (await ensemble.resume(waiting.run_id, {}, context=context)).raw == "Written."
        assert "Skip it" in model.calls[1].prompt

    async def test_a_blank_question_is_an_error_for_the_model(self) -> None:
        model = ScriptedModel(ToolCall("ask_person", question=" "), ToolCall("ask_person"), "Written.")
        task = Task("Write", agent=Agent("A", model=model, tools=[AskPerson()]))
        assert (await Ensemble("E", [task]).run(context=over())).raw == "Written."
        assert "question is blank" in model.calls[1].prompt

    async def test_a_handler_asks_as_an_action_does(self) -> None:
        async def handle(task: TaskInput) -> str:
            colour = await ask_human(str, "Which colour?")
            return f"{colour}: {await confirm(None, 'Sure?')}"

        ensemble, context = Ensemble("E", [Task("Paint", handler=handle)]), over()
        waiting = await ensemble.run(context=context)
        for answer in ("green", True):
            waiting = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: answer}, context=context)
        assert waiting.raw == "green: True"

    async def test_the_reviewer_answers_a_handler_too(self) -> None:
        async def handle(task: TaskInput) -> str:
            return await ask_human(str, "Which colour?") + await ask_human(str, "Which shade?")

        answers = {"Which colour?": "green", "Which shade?": "dark"}
        ensemble = Ensemble("E", [Task("Paint", handler=handle)], reviewer=lambda request: answers[request.prompt])
        assert (await ensemble.run(context=over())).raw == "greendark"


class TestParallel:
    async def test_an_early_exit_starts_nothing_new_and_lets_what_runs_finish(self) -> None:
        started = asyncio.Event()

        async def slow(task: TaskInput) -> str:
            started.set()
            for _ in range(20):
                await asyncio.sleep(0)
            return "slow"

        async def decide(request: PendingRequest) -> Response:
            await started.wait()
            return ReviewDecision.exit_early()

        long = Task("Long", handler=slow)
        tasks = [
            Task("Quick", handler=lambda _: "quick", review=Review.after()),
            long,
            Task("After", context=[long], handler=lambda _: "after"),
        ]
        result = await Ensemble("E", tasks, workflow=Workflow.PARALLEL, reviewer=decide).run(context=over())
        assert {output.raw for output in result.task_outputs} == {"quick", "slow"}
        assert (list(result.skipped), result.exit_reason) == (["After"], ExitReason.EXIT_EARLY)

    async def test_an_early_exit_does_not_wait_for_other_people(self) -> None:
        def decide(request: PendingRequest) -> Response | None:
            return ReviewDecision.exit_early() if "Quick" in request.id else None

        tasks = [
            Task("Waits", handler=lambda _: "waits", review=Review.after()),
            Task("Quick", handler=lambda _: "quick", review=Review.after()),
        ]
        result = await Ensemble("E", tasks, workflow=Workflow.PARALLEL, reviewer=decide).run(context=over())
        assert (result.status, result.exit_reason, result.raw) == (RunStatus.COMPLETED, ExitReason.EXIT_EARLY, "quick")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Review.after(timeout=-1), "timeout"),
        (lambda: Review.after(timeout=inf), "timeout"),
        (lambda: Review.before(timeout=nan), "timeout"),
        (lambda: Review.after(timeout=1e12), "timeout"),
        (lambda: AskPerson(timeout=1e12), "timeout"),
        (lambda: Review.after(on_timeout="approve"), "on_timeout"),  # type: ignore[arg-type]
        (lambda: Review.before(" "), "prompt"),
        (lambda: Review.before(required_role=""), "required_role"),
        (lambda: Review("later"), "timing"),  # type: ignore[arg-type]
        (lambda: Task("x", review="after"), "not a Review"),  # type: ignore[arg-type]
        (lambda: Task("x", review=[Review.after(), Review.after()]), "leave one"),
        (lambda: Task("x", review=[Review.after(), Review.skip()]), "leave out one"),
        (lambda: Ensemble("E", [Task("x")], review_policy="always"), "not a ReviewPolicy"),  # type: ignore[arg-type]
        (lambda: Ensemble("E", [Task("x")], reviewer=3), "not a function"),  # type: ignore[arg-type]
    ],
)
def test_mistakes_in_reviews_are_found_at_once(make: Callable[[], object], message: str) -> None:
    with pytest.raises(TacticianError, match=message):
        make()


async def test_a_hierarchy_refuses_what_only_tasks_that_run_one_by_one_can_heed() -> None:
    tasks = [Task("Go", review=Review.after(), when=lambda _: True), Task("Stop", review=Review.after())]
    with pytest.raises(TacticianError) as caught:
        await Ensemble("E", tasks, workflow=Workflow.HIERARCHICAL, model=ScriptedModel()).check(context=over())
    assert "tasks[0].when" in str(caught.value)
    assert "tasks[0].review" in str(caught.value)
    assert "tasks[1].review" not in str(caught.value), "it is about the answer of the manager"
