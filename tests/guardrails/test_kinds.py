"""What each kind of guardrail sees, in every form that a user may give it."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

import pytest

from tactician import RunContext, guardrails
from tactician.errors import DeclarationError
from tactician.guardrails import GuardrailResult, failed, passed, retry
from tactician.guardrails.callables import GuardrailLike
from tactician.guardrails.decorators import (
    as_input_guardrail,
    as_output_guardrail,
    as_tool_input_guardrail,
    as_tool_output_guardrail,
)
from tactician.guardrails.guardrail import InputGuardrail
from tactician.llm import ToolCall
from tests.guardrails.seen import answered, called, context, returned, said

Prose: TypeAlias = str


def short(text: str) -> GuardrailResult:
    return passed() if len(text) < 10 else failed("Too long")


async def short_async(text: str, context: RunContext) -> GuardrailResult:
    await asyncio.sleep(0)
    return passed() if len(text) < 10 else failed("Too long")


class Short:
    async def check(self, value: str, context: RunContext) -> GuardrailResult:
        return passed() if len(value) < 10 else failed("Too long")


class ShortInSync:
    def __init__(self, limit: int = 10) -> None:
        self.limit = limit

    def check(self, value: str) -> GuardrailResult:
        return passed() if len(value) < self.limit else failed("Too long")


class Callee:
    def __call__(self, text: str, context: RunContext) -> GuardrailResult:
        return short(text)

    def method(self, text: str) -> GuardrailResult:
        return short(text)


def limited(limit: int, text: str, *, reason: str = "Too long") -> GuardrailResult:
    return passed() if len(text) < limit else failed(reason)


FORMS: list[tuple[GuardrailLike, str]] = [
    (short, "short"),
    (short_async, "short_async"),
    (lambda text: short(text), "<lambda>"),
    (Short(), "Short"),
    (Short, "Short"),
    (ShortInSync(), "ShortInSync"),
    (Callee(), "Callee"),
    (Callee().method, "method"),
    (functools.partial(limited, 10), "partial"),
]


class TestForms:
    @pytest.mark.parametrize(("form", "name"), FORMS, ids=[name for _, name in FORMS])
    async def test_every_form_decides(self, form: GuardrailLike, name: str) -> None:
        guardrail = as_input_guardrail(form)

        assert guardrail.name == name
        assert guardrail.registered is None
        assert guardrail.source is form
        assert (await guardrail.check(said("hi"), context())).passed
        assert await guardrail.check(said("hi there everybody"), context()) == failed("Too long")

    async def test_the_context_is_the_runs_own(self) -> None:
        paths: list[tuple[str, ...]] = []

        def look(text: str, context: RunContext | None = None) -> GuardrailResult:
            paths.append(context.path if context else ())
            return passed()

        await as_input_guardrail(look).check(said("hi"), context())

        assert paths == [("Support",)]

    async def test_other_parameters_keep_their_defaults(self) -> None:
        def at_most(text: str, limit: int = 3) -> GuardrailResult:
            return passed() if len(text) <= limit else failed(f"over {limit}")

        assert await as_input_guardrail(at_most).check(said("four"), context()) == failed("over 3")

    async def test_two_objects_of_a_class_are_two_guardrails(self) -> None:
        strict, lax = as_input_guardrail(ShortInSync(2)), as_input_guardrail(ShortInSync(20))

        assert not (await strict.check(said("hello"), context())).passed
        assert (await lax.check(said("hello"), context())).passed

    def test_what_is_normalised_stays_as_it_is(self) -> None:
        guardrail = as_output_guardrail(short)

        assert as_output_guardrail(guardrail) is guardrail

    def test_a_repr_tells_what_it_is(self) -> None:
        assert repr(as_input_guardrail(short)).startswith("InputGuardrail(name='short', registered=None")


class TestInput:
    async def test_it_sees_the_new_input(self) -> None:
        guardrail = as_input_guardrail(lambda text: failed(text))

        assert (await guardrail.check(said("third"), context())).reason == "third"

    async def test_it_sees_the_whole_conversation_on_request(self) -> None:
        @guardrails.input_guardrail(whole_conversation=True)
        def echo(text: str) -> GuardrailResult:
            return failed(text)

        assert (await as_input_guardrail(echo).check(said("third"), context())).reason == "first\nsecond\nthird"


def of_text(output: str) -> GuardrailResult:
    return failed(repr(output))


def of_quoted_text(output: "str") -> GuardrailResult:  # noqa: UP037 - quotes twice, as a user may write them
    return failed(repr(output))


def of_annotated_text(output: Annotated[str, "polite"]) -> GuardrailResult:
    return failed(repr(output))


def of_prose(output: Prose) -> GuardrailResult:
    return failed(repr(output))


def of_objects(output: dict[str, int], context: RunContext) -> GuardrailResult:
    return failed(repr(output))


class OfText:
    def check(self, output: str, context: RunContext) -> GuardrailResult:
        return failed(repr(output))


@functools.wraps(of_text)
def wrapped(*args: str) -> GuardrailResult:
    return of_text(*args)


class TestOutput:
    @pytest.mark.parametrize("check", [of_text, of_prose, OfText(), OfText, wrapped])
    async def test_text_is_for_those_who_say_str(self, check: GuardrailLike) -> None:
        result = await as_output_guardrail(check).check(answered('{"a": 1}', {"a": 1}), context())

        assert result.reason == repr('{"a": 1}')

    @pytest.mark.parametrize("check", [of_objects, lambda output: failed(repr(output))])
    async def test_the_object_is_for_all_others(self, check: GuardrailLike) -> None:
        result = await as_output_guardrail(check).check(answered('{"a": 1}', {"a": 1}), context())

        assert result.reason == "{'a': 1}"

    async def test_it_may_ask_for_another_answer(self) -> None:
        guardrail = as_output_guardrail(lambda output: retry("Be polite"))

        assert await guardrail.check(answered("No!"), context()) == retry("Be polite")


class TestTools:
    async def test_the_input_is_a_call_with_arguments(self) -> None:
        def small(call: ToolCall, context: RunContext) -> GuardrailResult:
            return failed(f"{call.name} {call.parse_arguments()['amount']}")

        assert (await as_tool_input_guardrail(small).check(called(), context())).reason == "refund 5"

    @pytest.mark.parametrize("with_context", [True, False])
    async def test_the_output_comes_with_its_call(self, with_context: bool) -> None:
        def plain(call: ToolCall, content: str) -> GuardrailResult:
            return failed(f"{call.name}: {content}")

        async def full(call: ToolCall, content: str, context: RunContext) -> GuardrailResult:
            return failed(f"{call.name}: {content}")

        guardrail = as_tool_output_guardrail(full if with_context else plain)

        assert (await guardrail.check(returned("done"), context())).reason == "refund: done"

    async def test_the_model_may_be_told_to_do_otherwise(self) -> None:
        before = as_tool_input_guardrail(lambda call: retry("Less"))
        after = as_tool_output_guardrail(lambda call, content: retry("Ask for less"))

        assert await before.check(called(), context()) == retry("Less")
        assert await after.check(returned("much"), context()) == retry("Ask for less")

    def test_it_may_be_for_some_tools_only(self) -> None:
        @guardrails.tool_input_guardrail(tools=["refund"])
        def before(call: ToolCall) -> GuardrailResult:
            return passed()

        @guardrails.tool_output_guardrail(tools="refund")
        def after(call: ToolCall, content: str) -> GuardrailResult:
            return passed()

        assert as_tool_input_guardrail(before).applies_to(called("refund"))
        assert not as_tool_input_guardrail(before).applies_to(called("look_up"))
        assert as_tool_output_guardrail(after).applies_to(returned("", "refund"))
        assert not as_tool_output_guardrail(after).applies_to(returned("", "look_up"))

    def test_it_is_for_all_tools_by_default(self) -> None:
        assert as_tool_input_guardrail(lambda call: passed()).applies_to(called("any"))
        assert as_tool_output_guardrail(lambda call, content: passed()).applies_to(returned("", "any"))


class TestFailsClosed:
    @pytest.mark.parametrize("make", [as_input_guardrail, lambda form: as_input_guardrail(in_async(form))])
    async def test_one_that_raises_has_failed(self, make: Callable[[Callable[[str], GuardrailResult]], object]) -> None:
        problem = ValueError("no words")

        def check(text: str) -> GuardrailResult:
            raise problem

        guardrail = make(check)
        assert isinstance(guardrail, InputGuardrail)
        result = await guardrail.check(said("hi"), context())

        assert (result.outcome, result.reason) == ("failed", "it raised ValueError: no words")
        assert result.cause is problem

    async def test_cancellation_passes_through(self) -> None:
        async def check(text: str) -> GuardrailResult:
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await as_input_guardrail(check).check(said("hi"), context())

    @pytest.mark.parametrize("returned", [True, False, None, "ok"])
    async def test_one_that_decides_nothing_has_failed(self, returned: object) -> None:
        check: Callable[[str], GuardrailResult] = lambda text: returned  # type: ignore[assignment, return-value]  # noqa: E731

        result = await as_input_guardrail(check).check(said("hi"), context())

        assert result.outcome == "failed"
        assert result.reason == f"it returned {returned!r}; return guardrails.passed() or guardrails.failed(reason)"
        assert isinstance(result.cause, DeclarationError)
        assert result.cause.subject == "input guardrail '<lambda>'"

    async def test_no_input_can_be_asked_for_again(self) -> None:
        result = await as_input_guardrail(lambda text: retry("Again")).check(said("hi"), context())

        assert result.outcome == "failed"
        assert "no model has answered yet" in result.reason
        assert isinstance(result.cause, DeclarationError)


def in_async(check: Callable[[str], GuardrailResult]) -> Callable[[str], Awaitable[GuardrailResult]]:
    async def check_later(text: str) -> GuardrailResult:
        return check(text)

    return check_later
