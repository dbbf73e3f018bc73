"""The lifecycle of a task: conditions, guardrails, attempts, and limits of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from pydantic import BaseModel

from tactician import Agent, Ensemble, Review, ReviewDecision, SupervisorAgent, Task, Workflow, guardrails, runnable
from tactician.ensemble import (
    ExitReason,
    PredicateError,
    TaskCompleted,
    TaskFailedError,
    TaskInput,
    TaskOutputs,
    TaskSkipped,
)
from tactician.errors import TacticianError
from tactician.events import Event
from tactician.guardrails import GuardrailError, GuardrailResult
from tactician.loop import ToolReturned
from tactician.runs import OutputError, TurnLimitError
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import over, prompt_of, says


class Report(BaseModel):
    title: str


def give(text: str) -> Callable[[TaskInput], str]:
    """A handler that always gives the same."""
    return lambda _: text


def read(task: TaskInput) -> str:
    """A handler that gives what it reads."""
    return "+".join(output.raw for output in task.context_outputs)


class TestConditions:
    async def test_a_task_whose_condition_does_not_hold_is_skipped(self) -> None:
        events: list[Event] = []
        classify = Task("Classify", id="kind", handler=give("refund"))
        refund = Task("Refund", context=[classify], when=lambda done: "refund" in done["kind"].raw, handler=give("R"))
        praise = Task("Praise", context=[classify], when=lambda done: "praise" in done["kind"].raw, handler=give("P"))
        answer = Task("Answer", context=[refund, praise], handler=read)
        result = await Ensemble("E", [classify, refund, praise, answer]).run(context=over(None, events.append))
        assert (result.raw, result.exit_reason) == ("R", ExitReason.COMPLETED)
        assert result.skipped == {"Praise": "its condition `when` does not hold"}
        assert [event.task_id for event in events if isinstance(event, TaskSkipped)] == ["Praise"]

    async def test_a_task_whose_context_tasks_were_all_skipped_is_skipped_too(self) -> None:
        first = Task("First", handler=give("1"))
        never = Task("Never", when=lambda _: False, handler=give("2"))
        after = Task("After", context=[never], handler=read)
        result = await Ensemble("E", [first, never, after]).run(context=over())
        assert result.skipped["After"] == "all its context tasks were skipped"
        assert result.raw == "1", "the output is that of the last completed task in the list"

    async def test_in_a_sequence_the_next_task_sees_what_the_skipped_one_would_have_seen(self) -> None:
        draft = Task("Draft", handler=give("draft"))
        shorten = Task("Shorten", when=lambda done: len(done.last.raw) > 100, handler=give("short"))
        print_it = Task("Print", handler=read)
        assert (await Ensemble("E", [draft, shorten, print_it]).run(context=over())).raw == "draft"

    async def test_the_outputs_so_far_name_what_is_missing(self) -> None:
        first = Task("First", when=lambda done: not done.outputs and "x" not in done, handler=give("1"))
        wrong = Task("Second", when=lambda done: done["Frist"].raw == "1", handler=give("2"))
        with pytest.raises(TaskFailedError, match="Did you mean 'First'"):
            await Ensemble("E", [first, wrong]).run(context=over())
        with pytest.raises(TaskFailedError, match="no task has ended yet"):
            await Ensemble("E", [Task("Only", when=lambda done: bool(done.last.raw), handler=give("2"))]).run(
                context=over()
            )

    async def test_a_condition_may_be_async_and_run_an_agent(self) -> None:
        judge = says("Judge", "no", "yes")

        async def is_wanted(done: TaskOutputs) -> bool:
            return (await judge.run(done.last.raw)).output == "yes"

        draft = Task("Draft", handler=give("draft"))
        first = Task("First", when=is_wanted, handler=give("1"))
        second = Task("Second", when=is_wanted, handler=give("2"))
        result = await Ensemble("E", [draft, first, second]).run(context=over())
        assert (result.raw, set(result.skipped)) == ("2", {"First"})

    async def test_a_condition_that_fails_says_of_which_task(self) -> None:
        first = Task("First", handler=give("1"))
        second = Task("Second", when=lambda done: done.last.raw.nothing, handler=give("2"))  # type: ignore[attr-defined]
        with pytest.raises(TaskFailedError, match="task 'Second': its `when` failed: AttributeError") as caught:
            await Ensemble("E", [first, second]).run(context=over())
        error = caught.value.failed["Second"]
        assert isinstance(error, PredicateError)
        assert [output.task_id for output in error.outputs] == ["First"]

    async def test_a_task_does_not_begin_when_the_ensemble_has_ended_while_its_condition_was_decided(self) -> None:
        ended = asyncio.Event()

        async def wait(done: TaskOutputs) -> bool:
            await ended.wait()
            return True

        def hear(event: Event) -> None:
            if isinstance(event, TaskCompleted):
                ended.set()

        slow = Task("Slow", when=wait, handler=give("slow"))
        reviewed = Task("Reviewed", handler=give("1"), review=Review.after())
        tasks = [slow, reviewed]
        parallel = Ensemble("E", tasks, workflow=Workflow.PARALLEL, reviewer=lambda _: ReviewDecision.exit_early())
        result = await parallel.run(context=over(None, hear))
        assert ([*result.skipped], result.raw) == (["Slow"], "1")

    async def test_an_ensemble_whose_tasks_are_all_skipped_has_no_output(self) -> None:
        result = await Ensemble("E", [Task("Only", when=lambda _: False, handler=give("1"))]).run(context=over())
        assert (result.output, result.raw, result.exit_reason) == (None, "", ExitReason.COMPLETED)


class TestGuardrails:
    async def test_input_guardrails_read_the_prompt_before_the_agent_runs(self) -> None:
        def no_secrets(text: str) -> GuardrailResult:
            return guardrails.failed("a secret") if "secret" in text else guardrails.passed()

        model = ScriptedModel()
        first = Task("Look", handler=give("the secret"))
        second = Task("Write", id="w", agent=Agent("A", model=model), input_guardrails=[no_secrets])
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("E", [first, second]).run(context=over())
        assert isinstance(caught.value.failed["w"], GuardrailError)
        assert not model.calls

    async def test_output_guardrails_read_the_parsed_output(self) -> None:
        seen: list[object] = []

        def check(output: Report) -> GuardrailResult:
            seen.append(output)
            return guardrails.failed("no title")

        task = Task("Write", id="w", output_type=Report, output_guardrails=[check])
        with pytest.raises(TaskFailedError, match="no title"):
            await Ensemble("E", [task], model=ScriptedModel(Report(title=""))).run(context=over())
        assert seen == [Report(title="")]

    async def test_an_output_guardrail_that_asks_for_a_retry_leads_to_another_attempt_with_its_reason(self) -> None:
        def short(output: str) -> GuardrailResult:
            return guardrails.retry("shorter, please") if len(output) > 5 else guardrails.passed()

        model = ScriptedModel("much too long", "fine")
        task = Task("Write", agent=Agent(role="Writer", model=model), output_guardrails=[short])
        result = await Ensemble("E", [task]).run(context=over())
        assert result.raw == "fine"
        assert (
            "## Revision Instructions (Attempt 2)\n\n### Feedback\n\nshorter, please\n\n### Previous Output\n\nmuch"
            in (prompt_of(model, 1))
        )
        assert result.task_outputs[0].usage.requests == 2, "the usage of all attempts counts"

    async def test_a_handler_reads_the_feedback_in_its_input(self) -> None:
        def write(task: TaskInput) -> str:
            return "long text" if task.revision is None else f"{task.revision.attempt}: {task.revision.feedback}"

        def short(output: str) -> GuardrailResult:
            return guardrails.retry("no") if output == "long text" else guardrails.passed()

        result = await Ensemble("E", [Task("Write", handler=write, output_guardrails=[short])]).run(context=over())
        assert result.raw == "2: no"

    async def test_retries_of_guardrails_are_bounded(self) -> None:
        runs: list[int] = []

        def never(output: str) -> GuardrailResult:
            runs.append(1)
            return guardrails.retry("again")

        task = Task("Write", handler=give("x"), output_guardrails=[never], max_output_retries=2)
        with pytest.raises(TaskFailedError, match="again"):
            await Ensemble("E", [task]).run(context=over())
        assert len(runs) == 3


class TestOutputRetries:
    async def test_a_runnable_that_is_no_agent_gets_further_attempts_with_the_original_task(self) -> None:
        prompts: list[str] = []

        @runnable
        async def write(text: str) -> str:
            prompts.append(text)
            return '{"title": "Frogs"}' if len(prompts) == 3 else "no JSON"

        result = await Ensemble("E", [Task("Write", agent=write, output_type=Report)]).run(context=over())
        assert result.output == Report(title="Frogs")
        assert "## Task\n\nWrite" in prompts[2]
        assert "## Correction" in prompts[2]

    async def test_the_usage_of_all_attempts_counts(self) -> None:
        writer = says("Writer")
        desk = SupervisorAgent("Desk", model=ScriptedModel("nothing", '{"title": "Frogs"}'), workers={"Writes": writer})
        result = await Ensemble("E", [Task("Write", agent=desk, output_type=Report)]).run(context=over())
        assert result.output == Report(title="Frogs")
        assert result.task_outputs[0].usage.requests == result.usage.requests == 2

    async def test_the_error_of_the_last_attempt_is_raised(self) -> None:
        @runnable
        async def write(text: str) -> str:
            return "no JSON"

        task = Task("Write", id="w", agent=write, output_type=Report, max_output_retries=1)
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("E", [task]).run(context=over())
        assert isinstance(caught.value.failed["w"], OutputError)


def look(place: int) -> str:
    """Look."""
    return f"seen {place} " + "x" * 20


def looks(*places: int) -> list[ToolCall]:
    """Calls of `look` in one turn."""
    return [ToolCall("look", place=place) for place in places]


class TestToolLimits:
    async def test_a_turn_that_calls_more_tools_than_are_left_gets_the_stop_text_for_each_and_the_model_may_answer(
        self,
    ) -> None:
        events: list[Event] = []
        model = ScriptedModel(looks(1, 2, 3), "done")
        task = Task("Go", agent=Agent("A", model=model, tools=[look]), max_tool_calls=1)
        result = await Ensemble("E", [task]).run(context=over(None, events.append))
        returned = [event.result.content for event in events if isinstance(event, ToolReturned)]
        assert result.raw == "done"
        assert [text[:4] for text in returned] == ["seen", "STOP", "STOP"]

    @pytest.mark.parametrize(("ignored", "is_error"), [(2, False), (3, True)])
    async def test_the_third_turn_that_ignores_it_raises(self, ignored: int, is_error: bool) -> None:
        model = ScriptedModel(looks(1, 2), *(looks(turn) for turn in range(ignored)), "done")
        task = Task("Go", id="t", agent=Agent("A", model=model, tools=[look]), max_tool_calls=1)
        ensemble = Ensemble("E", [task])
        if not is_error:
            assert (await ensemble.run(context=over())).raw == "done"
            return
        with pytest.raises(TaskFailedError) as caught:
            await ensemble.run(context=over())
        assert isinstance(caught.value.failed["t"], TurnLimitError)

    async def test_the_model_sees_truncated_results_and_events_have_all(self) -> None:
        events: list[Event] = []
        model = ScriptedModel(looks(1), "done")
        task = Task("Go", agent=Agent("A", model=model, tools=[look]), max_tool_output_chars=6)
        await Ensemble("E", [task]).run(context=over(None, events.append))
        assert "seen 1... [trimmed: output exceeded 6 character limit]" in model.calls[1].prompt
        (returned,) = [event.result.content for event in events if isinstance(event, ToolReturned)]
        assert returned == look(1)


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: Task("Go", max_tool_output_chars=0), "max_tool_output_chars"),
        (lambda: Task("Go", when=True), "when"),  # type: ignore[call-overload]
        (lambda: Task("Go", input_guardrails=[3]), "input_guardrails[0]"),  # type: ignore[list-item]
        (lambda: Task("Go", output_guardrails=[guardrails.max_length(3), 3]), "output_guardrails[1]"),  # type: ignore[list-item]
    ],
)
def test_mistakes_in_settings_name_their_place(make: Callable[[], Task], place: str) -> None:
    with pytest.raises(TacticianError, match=place.replace("[", r"\[").replace("]", r"\]")):
        make()


async def test_a_parallel_ensemble_skips_what_depends_on_a_skipped_task_and_runs_the_rest() -> None:
    never = Task("Never", when=lambda _: False, handler=give("1"))
    after = Task("After", context=[never], handler=read)
    other = Task("Other", handler=give("2"))
    result = await Ensemble("E", [never, after, other], workflow=Workflow.PARALLEL).run(context=over())
    assert [output.task_id for output in result.task_outputs] == ["Other"]
    assert set(result.skipped) == {"Never", "After"}
