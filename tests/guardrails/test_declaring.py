"""The decorators, and the mistakes that they find."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

from tactician import RunContext, guardrails
from tactician.errors import DeclarationError
from tactician.guardrails import GuardrailResult, failed, passed
from tactician.guardrails.callables import GuardrailLike
from tactician.guardrails.decorators import (
    as_input_guardrail,
    as_output_guardrail,
    as_tool_input_guardrail,
    as_tool_output_guardrail,
)
from tactician.guardrails.registration import registry
from tactician.llm import ToolCall
from tests.guardrails.seen import answered, context, said


class TestDecorators:
    def test_a_function_stays_what_it_is(self) -> None:
        def check(text: str) -> GuardrailResult:
            return failed(text)

        assert guardrails.input_guardrail(check) is check
        assert guardrails.input_guardrail("named")(check) is check
        assert guardrails.output_guardrail()(check) is check
        assert check("x") == failed("x")

    def test_a_class_stays_a_class(self) -> None:
        @guardrails.output_guardrail
        class Polite:
            def check(self, output: str) -> GuardrailResult:
                return passed()

        assert isinstance(Polite(), Polite)

    def test_a_name_registers_and_is_kept(self) -> None:
        @guardrails.tool_input_guardrail("small_refunds", tools=["refund"])
        def check(call: ToolCall) -> GuardrailResult:
            return passed()

        guardrail = as_tool_input_guardrail(check)

        assert (guardrail.name, guardrail.registered) == ("small_refunds", "small_refunds")
        assert guardrails.tool_input("small_refunds") == guardrail
        assert guardrail.settings.tools == frozenset({"refund"})

    def test_without_a_name_nothing_is_registered(self) -> None:
        @guardrails.input_guardrail(concurrent=True)
        def check(text: str) -> GuardrailResult:
            return passed()

        assert as_input_guardrail(check).concurrent
        assert as_input_guardrail(check).registered is None
        assert registry.names("input") == ()

    def test_the_default_is_to_run_before_the_model_on_the_new_input(self) -> None:
        guardrail = as_input_guardrail(lambda text: passed())

        assert not guardrail.concurrent
        assert not guardrail.whole_conversation

    async def test_one_function_can_guard_both_ends(self) -> None:
        @guardrails.input_guardrail("clean", concurrent=True)
        @guardrails.output_guardrail("clean_answer")
        def check(text: str) -> GuardrailResult:
            return failed("unclean")

        before, after = as_input_guardrail(check), as_output_guardrail(check)

        assert (before.registered, after.registered) == ("clean", "clean_answer")
        assert before.concurrent
        assert await before.check(said("x"), context()) == await after.check(answered("x"), context())

    async def test_an_object_has_the_settings_of_its_class_but_is_not_what_is_registered(self) -> None:
        @guardrails.input_guardrail("limit", concurrent=True)
        class Limit:
            def __init__(self, limit: int = 1) -> None:
                self.limit = limit

            def check(self, text: str) -> GuardrailResult:
                return passed() if len(text) <= self.limit else failed(f"over {self.limit}")

        class Other(Limit):
            pass

        of_class, of_object = as_input_guardrail(Limit), as_input_guardrail(Limit(3))
        of_subclass = as_input_guardrail(Other)

        assert [g.registered for g in (of_class, of_object, of_subclass)] == ["limit", None, None]
        assert all(g.concurrent for g in (of_class, of_object, of_subclass))
        assert await of_object.check(said("four"), context()) == failed("over 3")
        assert await guardrails.input("limit").check(said("four"), context()) == failed("over 1")

    def test_a_subclass_is_declared_apart_from_its_class(self) -> None:
        @guardrails.output_guardrail("one")
        class One:
            def check(self, output: str) -> GuardrailResult:
                return passed()

        @guardrails.input_guardrail("two")
        class Two(One):
            pass

        assert as_input_guardrail(Two).registered == "two"
        assert as_output_guardrail(One).registered == "one"
        with pytest.raises(DeclarationError, match="it is declared as output guardrail"):
            as_input_guardrail(One)

    def test_what_is_made_for_one_run_goes_with_it(self) -> None:
        def make() -> Callable[[str], GuardrailResult]:
            @guardrails.input_guardrail(concurrent=True)
            def check(text: str) -> GuardrailResult:
                return passed()

            return check

        check = make()
        as_input_guardrail(check)
        alive = weakref.ref(check)
        del check
        gc.collect()

        assert alive() is None


def none_at_all() -> GuardrailResult:
    return passed()


def three(a: str, b: str, c: str) -> GuardrailResult:
    return passed()


def only_the_call(call: ToolCall) -> GuardrailResult:
    return passed()


def by_name(text: str, *, limit: int) -> GuardrailResult:
    return passed()


def any_number(*texts: str) -> GuardrailResult:
    return passed()


class Demanding:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def check(self, text: str) -> GuardrailResult:
        return passed()


class TestMistakes:
    @pytest.mark.parametrize(
        ("check", "problem"),
        [
            (none_at_all, r"it has to take \(text\) or \(text, context\), not 0 values"),
            (three, r"not 3 values"),
            (by_name, "parameter 'limit': it is called with values by position"),
            (any_number, "parameter 'texts'"),
            (Demanding, "it cannot be created: .*'limit'; pass an instance"),
            ("max_length", r"pass a function, an object with check\(\), or guardrails.input\(name\)"),
            (42, "input guardrail 'int' is not declared correctly"),
        ],
    )
    def test_what_cannot_be_a_guardrail(self, check: GuardrailLike, problem: str) -> None:
        with pytest.raises(DeclarationError, match=problem):
            as_input_guardrail(check)

    def test_parameters_that_cannot_be_read(self) -> None:
        with pytest.raises(DeclarationError, match="its parameters cannot be read; wrap it in a function"):
            as_input_guardrail(min)

    def test_a_tool_output_needs_two_values(self) -> None:
        with pytest.raises(DeclarationError, match=r"take \(call, content\) or \(call, content, context\), not 1 val"):
            as_tool_output_guardrail(only_the_call)

    def test_mistakes_show_where_a_function_is_decorated(self) -> None:
        with pytest.raises(DeclarationError, match=r"input guardrail 'three' .*\n.*not 3 values") as caught:
            guardrails.input_guardrail(three)

        assert len(caught.value.problems) == 1

    def test_a_return_type_that_decides_nothing(self) -> None:
        problem = "it has to return guardrails.passed"

        def as_bool(text: str) -> bool:
            return True

        async def as_nothing(text: str) -> None:
            return None

        with pytest.raises(DeclarationError, match=problem):
            guardrails.input_guardrail("x")(as_bool)  # type: ignore[type-var]
        with pytest.raises(DeclarationError, match=problem):
            as_input_guardrail(as_nothing)  # type: ignore[arg-type]
        assert registry.names("input") == ()

    def test_a_method_of_no_object(self) -> None:
        with pytest.raises(DeclarationError, match=r"decorate a function, or a class with check\(\)"):

            class Checks:
                @guardrails.input_guardrail
                def check_text(self, text: str) -> GuardrailResult:
                    return passed()

    def test_a_method_may_be_used_bound_and_unbound(self) -> None:
        class Texts:
            def check_other(me, other: str) -> GuardrailResult:  # noqa: N805 - another name for self
                return failed(other)

        assert as_output_guardrail(Texts().check_other).call.parameters == 1
        assert as_output_guardrail(Texts.check_other).call.parameters == 2

    def test_an_object_cannot_be_decorated(self) -> None:
        with pytest.raises(DeclarationError, match=r"use guardrails\.registry\.register for an object"):
            guardrails.input_guardrail("x")(Demanding(3))

    def test_another_kind_is_not_taken(self) -> None:
        @guardrails.output_guardrail
        def check(text: str) -> GuardrailResult:
            return passed()

        with pytest.raises(DeclarationError, match=r"input guardrail 'check' .*\n.*it is declared as output guardrail"):
            as_input_guardrail(check)
        with pytest.raises(DeclarationError, match="it is declared as output guardrail"):
            as_input_guardrail(as_output_guardrail(check))

    def test_a_class_without_check_is_called_itself(self) -> None:
        class Nothing:
            pass

        with pytest.raises(DeclarationError, match="pass a function"):
            as_input_guardrail(Nothing)  # type: ignore[arg-type]

    def test_a_context_is_what_a_second_parameter_takes(self) -> None:
        def check(text: str, anything: RunContext) -> GuardrailResult:
            return passed()

        assert as_input_guardrail(check).call.parameters == 2
