"""Several guardrails on one thing, as the turn loop checks them."""

from __future__ import annotations

import asyncio

import pytest

from tactician import guardrails
from tactician.events import Event
from tactician.guardrails import GuardrailChecked, GuardrailError, GuardrailResult, failed, passed, retry
from tactician.guardrails.checks import InputGuardrails, find_any_objection, find_first_objection
from tactician.guardrails.decorators import as_input_guardrail, as_output_guardrail, as_tool_input_guardrail
from tactician.guardrails.guardrail import InputGuardrail
from tactician.llm import ToolCall
from tactician.runs import RunError, RunResult
from tests.guardrails.seen import answered, called, context, said

DONE_SO_FAR: RunResult[None] = RunResult(None)


def noting(seen: list[str], name: str, result: GuardrailResult) -> InputGuardrail:
    def check(text: str) -> GuardrailResult:
        seen.append(name)
        return result

    check.__name__ = name
    return as_input_guardrail(check)


class TestInOrder:
    async def test_the_first_to_object_decides_and_the_rest_is_not_asked(self) -> None:
        seen: list[str] = []
        first = noting(seen, "first", passed())
        second, third = noting(seen, "second", failed("No")), noting(seen, "third", failed("Never"))

        objection = await find_first_objection([first, second, third], said("hi"), context())

        assert objection is not None
        assert (objection.guardrail, objection.kind, objection.reason) == ("second", "input", "No")
        assert not objection.wants_retry
        assert seen == ["first", "second"]

    async def test_nothing_to_object_to(self) -> None:
        seen: list[str] = []

        assert await find_first_objection([noting(seen, "a", passed())], said("hi"), context()) is None
        assert await find_first_objection([], said("hi"), context()) is None
        assert seen == ["a"]

    async def test_a_retry_is_an_objection_that_the_model_can_mend(self) -> None:
        objection = await find_first_objection(
            [as_output_guardrail(lambda o: retry("Shorter"))], answered("x"), context()
        )

        assert objection is not None
        assert objection.wants_retry
        assert objection.reason == "Shorter"

    async def test_guardrails_of_other_tools_are_left_out(self) -> None:
        @guardrails.tool_input_guardrail(tools=["refund"])
        def never(call: ToolCall) -> GuardrailResult:
            return failed("No")

        guardrail = as_tool_input_guardrail(never)

        assert await find_first_objection([guardrail], called("look_up"), context()) is None
        assert await find_first_objection([guardrail], called("refund"), context()) is not None


class TestAtOnce:
    async def test_the_first_to_object_decides_and_cancels_the_others(self) -> None:
        started, cancelled = asyncio.Event(), asyncio.Event()

        async def slow(text: str) -> GuardrailResult:
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return passed()

        async def quick(text: str) -> GuardrailResult:
            await started.wait()
            return failed("No")

        async with asyncio.timeout(30):
            checks = [as_input_guardrail(slow), as_input_guardrail(quick)]
            objection = await find_any_objection(checks, said("hi"), context())

        assert objection is not None
        assert objection.guardrail == "quick"
        assert cancelled.is_set()

    async def test_they_run_at_the_same_time(self) -> None:
        arrived = asyncio.Barrier(3)

        async def meet(text: str) -> GuardrailResult:
            await arrived.wait()
            return passed()

        async with asyncio.timeout(30):
            assert await find_any_objection([as_input_guardrail(meet)] * 3, said("hi"), context()) is None

    async def test_none_is_none(self) -> None:
        assert await find_any_objection([], said("hi"), context()) is None

    async def test_cancelling_the_check_leaves_nothing_behind(self) -> None:
        started = asyncio.Event()

        async def endless(text: str) -> GuardrailResult:
            started.set()
            await asyncio.Event().wait()
            return passed()

        before = asyncio.all_tasks()
        task = asyncio.create_task(find_any_objection([as_input_guardrail(endless)] * 2, said("hi"), context()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert asyncio.all_tasks() == before


class TestParts:
    def test_input_guardrails_run_before_or_beside_the_model(self) -> None:
        @guardrails.input_guardrail(concurrent=True)
        def beside(text: str) -> GuardrailResult:
            return passed()

        before = as_input_guardrail(lambda text: passed())
        parts = InputGuardrails.of([as_input_guardrail(beside), before])

        assert parts.immediate == (before,)
        assert parts.concurrent == (as_input_guardrail(beside),)
        assert not any(InputGuardrails())


class TestErrors:
    async def test_the_error_says_who_stopped_what_and_why(self) -> None:
        objection = await find_first_objection([noting([], "max_length", failed("Too long"))], said("hi"), context())

        assert objection is not None
        error = objection.create_error("Support", DONE_SO_FAR)
        assert isinstance(error, GuardrailError)
        assert isinstance(error, RunError)
        assert str(error) == "Support: the input guardrail 'max_length' stopped the run: Too long"
        assert (error.guardrail, error.kind, error.reason) == ("max_length", "input", "Too long")
        assert error.result is DONE_SO_FAR
        assert error.__cause__ is None

    async def test_what_a_guardrail_raised_is_the_cause(self) -> None:
        problem = OSError("no list of words")

        def small(call: ToolCall) -> GuardrailResult:
            raise problem

        objection = await find_first_objection([as_tool_input_guardrail(small)], called(), context())

        assert objection is not None
        with pytest.raises(GuardrailError, match="the tool input guardrail 'small' stopped the run: it raised OSError"):
            raise objection.create_error("Support", DONE_SO_FAR)
        assert objection.create_error("Support", DONE_SO_FAR).__cause__ is problem


class TestEvents:
    async def test_every_decision_is_told(self) -> None:
        events: list[Event] = []
        checks = [noting([], "first", passed()), noting([], "second", failed("No"))]

        await find_first_objection(checks, said("hi"), context(events.append))

        told = [event for event in events if isinstance(event, GuardrailChecked)]
        assert [(one.guardrail, one.kind, one.outcome, one.reason) for one in told] == [
            ("first", "input", "passed", ""),
            ("second", "input", "failed", "No"),
        ]
        assert all(one.path == ("Support",) and one.seconds >= 0 for one in told)
        assert len(told) == len(events)
