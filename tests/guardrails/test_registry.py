"""Guardrails by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tactician import guardrails
from tactician.errors import ConfigurationError
from tactician.guardrails import GuardrailResult, failed, passed
from tactician.guardrails.decorators import as_output_guardrail
from tactician.guardrails.guardrail import AnyGuardrail
from tactician.guardrails.registration import registry
from tests.guardrails.seen import answered, context, said


def declare(name: str = "short") -> Callable[[str], GuardrailResult]:
    @guardrails.input_guardrail(name)
    def check(text: str) -> GuardrailResult:
        return passed()

    return check


SOURCE = """
from tactician import guardrails

@guardrails.input_guardrail("short")
def check(text: str) -> guardrails.GuardrailResult:
    return guardrails.failed("version {version}")

@guardrails.output_guardrail("polite")
class Polite:
    def check(self, text: str) -> guardrails.GuardrailResult:
        return guardrails.failed("version {version}")

guardrails.input_guardrail("limit")(guardrails.max_length(10))
guardrails.output_guardrail("lambda")(lambda text: guardrails.passed())
"""


def load(source: str) -> None:
    exec(compile(source, "checks.py", "exec"), {"__name__": "checks"})


class TestFinding:
    def test_by_name_and_kind(self) -> None:
        @guardrails.input_guardrail("a")
        @guardrails.output_guardrail("b")
        def check(text: str) -> GuardrailResult:
            return passed()

        guardrails.tool_input_guardrail("c")(lambda call: passed())
        guardrails.tool_output_guardrail("d")(lambda call, content: passed())

        found: list[AnyGuardrail] = [
            guardrails.input("a"),
            guardrails.output("b"),
            guardrails.tool_input("c"),
            guardrails.tool_output("d"),
        ]
        assert [g.registered for g in found] == ["a", "b", "c", "d"]
        assert [g.kind for g in found] == ["input", "output", "tool_input", "tool_output"]
        assert found[0].source is check

    def test_an_unknown_name_is_told_with_those_that_are_known(self) -> None:
        declare("max_length")
        declare("no_pii")

        with pytest.raises(ConfigurationError) as caught:
            guardrails.input("max_lenght")

        assert str(caught.value) == (
            "There is no input guardrail 'max_lenght'. Did you mean 'max_length'? Known: max_length, no_pii. "
            "Import the module that declares it with @guardrails.input_guardrail('max_lenght') first."
        )

    def test_names_of_other_kinds_do_not_count(self) -> None:
        declare("short")

        with pytest.raises(ConfigurationError, match=r"no tool output guardrail 'short'\. Known: none"):
            guardrails.tool_output("short")

    def test_names_are_listed_by_kind_in_order(self) -> None:
        declare("b")
        declare("a")
        guardrails.output_guardrail("c")(lambda output: passed())

        assert registry.names("input") == ("a", "b")
        assert registry.names("output") == ("c",)

    def test_a_name_can_be_forgotten(self) -> None:
        declare("a")
        declare("b")

        registry.unregister("input", "a")
        registry.unregister("input", "never there")

        assert registry.names("input") == ("b",)


class TestRegistering:
    def test_another_function_cannot_take_a_name(self) -> None:
        declare("short")

        with pytest.raises(
            ConfigurationError, match=r"'short' is registered already, with .*check; .*name for .*other"
        ):

            @guardrails.input_guardrail("short")
            def other(text: str) -> GuardrailResult:
                return passed()

        assert guardrails.input("short").source is not None

    def test_the_same_function_may_come_again(self) -> None:
        check = declare("short")

        assert guardrails.input_guardrail("short")(check) is check

    async def test_a_module_that_is_loaded_again_replaces_its_own(self) -> None:
        load(SOURCE.format(version=1))
        load(SOURCE.format(version=2))

        assert await guardrails.input("short").check(said("x"), context()) == failed("version 2")
        assert await guardrails.output("polite").check(answered("x"), context()) == failed("version 2")

    def test_what_a_function_closes_over_makes_it_another(self) -> None:
        guardrails.input_guardrail("limit")(guardrails.max_length(10))
        guardrails.input_guardrail("limit")(guardrails.max_length(10))

        with pytest.raises(ConfigurationError, match="registered already"):
            guardrails.input_guardrail("limit")(guardrails.max_length(20))

    def test_two_lambdas_are_two_functions(self) -> None:
        guardrails.input_guardrail("x")(lambda text: passed())

        with pytest.raises(ConfigurationError, match="registered already"):
            guardrails.input_guardrail("x")(lambda text: failed("no"))

    def test_one_function_may_have_two_names(self) -> None:
        check = declare("a")
        guardrails.input_guardrail("b")(check)

        assert guardrails.input("a").source is guardrails.input("b").source

    async def test_an_object_can_be_registered(self) -> None:
        class Exactly:
            def __init__(self, text: str) -> None:
                self.text = text

            def check(self, output: str) -> GuardrailResult:
                return passed() if output == self.text else failed(f"not {self.text}")

        exactly = as_output_guardrail(Exactly("yes"))
        named = registry.register("yes", exactly)

        assert guardrails.output("yes") is named
        assert (exactly.registered, named.registered, named.name) == (None, "yes", "yes")
        assert await named.check(answered("no"), context()) == failed("not yes")
        assert registry.register("yes", named) == named
        with pytest.raises(ConfigurationError, match=r"with .*Exactly; choose another name for .*Exactly"):
            registry.register("yes", as_output_guardrail(Exactly("no")))
