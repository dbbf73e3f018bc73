"""A plain typed function is a tool."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from tactician import RunContext, Tool, tool
from tactician.errors import DeclarationError, ToolError
from tactician.testing import ScriptedModel
from tactician.tools import as_tool, require_declared_tools
from tactician.tools.tool import as_text, describe_result
from tactician.tools.toolbox import Toolbox


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Place(BaseModel):
    city: str
    country: str = "FR"


@dataclass
class Forecast:
    place: Place
    degrees: float


@pytest.fixture
def context() -> RunContext:
    return RunContext.over(ScriptedModel())


def properties(one: Tool) -> dict[str, dict[str, object]]:
    found = one.spec.parameters["properties"]
    assert isinstance(found, dict)
    return found


class TestSchemas:
    def test_name_types_defaults_and_docstring(self) -> None:
        @tool
        def forecast(city: str, days: int = 3, unit: Unit = Unit.CELSIUS, note: str | None = None) -> str:
            """The weather to come.

            In the next days.

            Args:
                city: where
                days (int): how many days,
                    today included

            Returns:
                note: not a parameter
            """
            return ""

        assert forecast.name == "forecast"
        assert forecast.description == "The weather to come.\n\nIn the next days."
        assert forecast.spec.parameters["required"] == ["city"]
        assert forecast.spec.parameters["additionalProperties"] is False
        assert properties(forecast) == {
            "city": {"type": "string", "description": "where"},
            "days": {"type": "integer", "default": 3, "description": "how many days, today included"},
            "unit": {"$ref": "#/$defs/Unit"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        }

    def test_sphinx_docstrings(self) -> None:
        @tool
        def add(a: int, b: int) -> int:
            """Adds.

            :param a: the one
                and only
            :param int b: the other
            :returns: the sum
            """
            return a + b

        assert add.description == "Adds."
        assert [one["description"] for one in properties(add).values()] == ["the one and only", "the other"]

    def test_annotated_fields_keep_their_limits_and_descriptions(self) -> None:
        @tool
        def roll(
            sides: Annotated[int, Field(ge=2, description="how many")], times: Annotated[int, Field(le=9)] = 1
        ) -> int:
            return sides * times

        assert properties(roll) == {
            "sides": {"type": "integer", "minimum": 2, "description": "how many"},
            "times": {"type": "integer", "maximum": 9, "default": 1},
        }

    def test_what_it_is_called_can_be_said(self) -> None:
        @tool(name="look_up", description="Finds it.")
        def f(q: str) -> str:
            """Something else."""
            return q

        assert (f.name, f.description) == ("look_up", "Finds it.")

    def test_without_a_docstring_the_name_tells(self) -> None:
        @tool
        def send_mail() -> None: ...

        assert send_mail.description == "send mail"
        assert send_mail.spec.parameters["properties"] == {}

    def test_it_is_built_once(self) -> None:
        @tool
        def f(x: int) -> int:
            return x

        assert f.spec is f.spec
        assert as_tool(f) is f


class TestCalls:
    async def test_arguments_are_validated_into_the_types_of_the_function(self, context: RunContext) -> None:
        seen: list[object] = []

        @tool
        def f(place: Place, units: list[Unit], kind: Literal["a", "b"], more: dict[str, Forecast]) -> str:
            seen.extend([place, units, kind, more])
            return "ok"

        arguments = {
            "place": {"city": "Paris"},
            "units": ["kelvin"],
            "kind": "b",
            "more": {"x": {"place": {"city": "Rome"}, "degrees": "3.5"}},
        }

        assert await f.call(json.dumps(arguments), context) == "ok"
        assert seen == [
            Place(city="Paris"),
            [Unit.KELVIN],
            "b",
            {"x": Forecast(Place(city="Rome"), 3.5)},
        ]

    async def test_the_function_fills_its_own_defaults(self, context: RunContext) -> None:
        default = object()

        @tool
        def f(x: int = 7, y: list[int] | object = default) -> bool:
            return x == 7 and y is default

        assert await f.call("", context) == "true"

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            ('{"city": 7}', "city: Input should be a valid string"),
            ("{}", "city: Field required"),
            ('{"city": "a", "town": "b"}', "town: Extra inputs are not permitted"),
            ('{"city": "a", "days": "many"}', "days: Input should be a valid integer"),
            ("[]", "it: Input should be an object"),
            ("{", "it: Invalid JSON"),
        ],
    )
    async def test_arguments_that_do_not_fit_are_explained(
        self, context: RunContext, arguments: str, problem: str
    ) -> None:
        @tool
        def f(city: str, days: int = 1) -> str:
            return city

        with pytest.raises(ToolError, match="The arguments are not valid: ") as raised:
            await f.call(arguments, context)

        assert problem in str(raised.value)

    async def test_an_async_function_is_awaited(self, context: RunContext) -> None:
        @tool
        async def f(x: int) -> int:
            return x + 1

        assert await f.call('{"x": 1}', context) == "2"
        assert await f(1) == 2

    @pytest.mark.parametrize("blocking", [True, False])
    async def test_a_blocking_function_runs_in_a_thread(self, context: RunContext, blocking: bool) -> None:
        @tool(blocking=blocking)
        def f() -> bool:
            return threading.current_thread() is threading.main_thread()

        assert await f.call("{}", context) == json.dumps(not blocking)

    @pytest.mark.parametrize("blocking", [True, False])
    async def test_a_function_that_lets_a_stop_iteration_out_fails(self, context: RunContext, blocking: bool) -> None:
        @tool(blocking=blocking)
        def first() -> str:
            return next(iter(()))

        async with asyncio.timeout(30):
            with pytest.raises(RuntimeError, match="raised StopIteration"):
                await first.call("{}", context)

    async def test_the_context_is_passed_and_not_shown(self, context: RunContext) -> None:
        @tool
        def always(x: int, around: RunContext) -> str:
            return f"{x} {around.run_id}"

        @tool
        def perhaps(x: int, around: RunContext | None = None) -> str:
            return f"{x} {around.run_id if around else None}"

        for one in (always, perhaps):
            assert list(properties(one)) == ["x"]
            assert await one.call('{"x": 1}', context) == f"1 {context.run_id}"

    def test_it_is_still_the_function_that_it_was(self) -> None:
        @tool
        def add(a: int, b: int = 2) -> int:
            """Adds."""
            return a + b

        assert add(1) == 3
        assert (add.__name__, add.__doc__) == ("add", "Adds.")
        assert repr(add) == "FunctionTool('add')"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("words", "words"),
        (None, "None"),
        (7, "7"),
        (True, "true"),
        ([1, "a"], '[1,"a"]'),
        (Place(city="Rome"), '{"city":"Rome","country":"FR"}'),
        (Forecast(Place(city="Rome"), 3.5), '{"place":{"city":"Rome","country":"FR"},"degrees":3.5}'),
        (Unit.KELVIN, '"kelvin"'),
        ({"odd": Fraction(1, 2)}, '{"odd":"1/2"}'),
    ],
)
def test_results_become_text(value: object, text: str) -> None:
    assert as_text(value) == text


def test_a_result_that_is_nothing_has_words() -> None:
    assert (describe_result(None), describe_result(7)) == ("done", "7")


class TestMethods:
    class Account:
        def __init__(self, balance: int) -> None:
            self.balance = balance

        @tool
        def deposit(self, amount: int) -> int:
            """Puts money in."""
            self.balance += amount
            return self.balance

        @tool(name="close_it")
        async def close(self) -> str:
            return f"closed with {self.balance}"

        def secret(self) -> None: ...

    class Savings(Account):
        @tool
        def deposit(self, amount: int) -> int:
            """Puts money away."""
            return -amount

    async def test_those_declared_as_tools_are_found(self, context: RunContext) -> None:
        account, other = self.Account(1), self.Account(100)

        deposit, close = require_declared_tools(account)

        assert (deposit.name, close.name) == ("deposit", "close_it")
        assert list(properties(deposit)) == ["amount"]
        assert await deposit.call('{"amount": 4}', context) == "5"
        assert await close.call("{}", context) == "closed with 5"
        assert (account.balance, other.balance) == (5, 100)
        assert other.deposit(1) == 101

    async def test_a_subclass_overrides_and_inherits(self, context: RunContext) -> None:
        deposit, close = require_declared_tools(self.Savings(7))

        assert deposit.description == "Puts money away."
        assert await deposit.call('{"amount": 4}', context) == "-4"
        assert await close.call("{}", context) == "closed with 7"

    def test_an_object_without_tools_is_refused(self) -> None:
        with pytest.raises(DeclarationError, match="it has no method declared with @tool"):
            require_declared_tools(object())

    async def test_a_bound_method_of_any_object_will_do(self, context: RunContext) -> None:
        class Greeter:
            def greet(self, name: str) -> str:
                return f"Hi {name}"

        assert await as_tool(Greeter().greet).call('{"name": "A"}', context) == "Hi A"


class Odd:
    def __call__(self, x: int) -> int:
        return x


def untyped(a, b: int, c=3):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    return a


def loose(*args: int, **others: int) -> None: ...


def unknown(x: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def locked(x: threading.Lock) -> None: ...


def größe(x: int) -> None: ...


class TestDeclarations:
    @pytest.mark.parametrize(
        ("function", "problems"),
        [
            (untyped, ["parameter 'a' has no type; annotate it, as in `a: str`", "parameter 'c' has no type"]),
            (loose, ["*args", "**others", "a model passes arguments by name"]),
            (unknown, ["the annotation 'Nowhere' is not defined where it can be seen"]),
            (locked, ["Unable to generate pydantic-core schema"]),
            (größe, ["no provider takes the name 'größe'; use @tool(name=...)"]),
            (lambda: 1, ["no provider takes the name '<lambda>'"]),
            (Odd(), ["it is not a function; wrap it in a function"]),
            (functools.partial(loose, 1), ["it is not a function; wrap it in a function"]),
            (7, ["a tool is a function, or an object made with @tool"]),
        ],
    )
    def test_mistakes_are_named_at_declaration(self, function: Callable[..., object], problems: list[str]) -> None:
        with pytest.raises(DeclarationError) as raised:
            as_tool(function)

        for problem in problems:
            assert problem in str(raised.value)

    def test_types_declared_inside_a_function_are_found(self) -> None:
        class Local(BaseModel):
            x: int

        @tool
        def f(one: Local) -> int:
            return one.x

        assert "Local" in str(f.spec.parameters["$defs"])

    def test_two_tools_of_one_name_are_refused(self) -> None:
        def make() -> Tool:
            @tool
            def twin() -> None: ...

            return twin

        with pytest.raises(DeclarationError, match="'twin' is used twice"):
            Toolbox([make(), make()])


async def answer(function: Callable[..., object] | Callable[..., Awaitable[object]], name: str | None = None) -> str:
    from tactician.llm import ToolCall

    box = Toolbox([function])
    result = await box.answer(ToolCall("1", name or next(iter(box)).name), RunContext.over(ScriptedModel()))
    assert result.call_id == "1"
    return f"{'error: ' if result.is_error else ''}{result.content}"


class TestToolbox:
    async def test_gives_the_result(self) -> None:
        def fine() -> int:
            return 3

        assert await answer(fine) == "3"

    async def test_a_tool_error_is_told_as_it_is(self) -> None:
        def refuses() -> None:
            raise ToolError("Ask for a city in France.")

        assert await answer(refuses) == "error: Ask for a city in France."

    async def test_any_other_error_is_told_with_its_kind(self) -> None:
        async def breaks() -> None:
            raise KeyError("x")

        assert await answer(breaks) == "error: KeyError: 'x'"

    async def test_a_tool_that_does_not_exist(self) -> None:
        def fine() -> int:
            return 3

        assert await answer(fine, "find") == "error: There is no tool 'find'. Did you mean 'fine'? Tools: fine."
