"""Code mode: scripts that call many tools, by the same rules as direct calls."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from tactician import Agent, Budget, Platform, approve, guardrails, reject, tool
from tactician.code_mode import CodeLimits, CodeTool
from tactician.errors import DeclarationError, MissingExtraError
from tactician.events import Event
from tactician.guardrails import GuardrailError, GuardrailResult
from tactician.llm import ToolCall as Called
from tactician.llm import ToolResult
from tactician.loop import ToolCalled, ToolReturned
from tactician.mcp import McpServer
from tactician.runs import BudgetError, RunContext, RunResult, RunStatus
from tactician.stores import SqliteStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tactician.tools import Artifact, DeclaredTool, Tool, collect_artifacts
from tactician.tools.provider import ToolProvider
from tactician.tools.toolbox import Toolbox
from tests.mcp_client.demo import Demo
from tests.support.stored import JsonStore

calls: list[str] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    calls.clear()


@tool
def weather(city: str, days: int = 1) -> dict[str, object]:
    """Look up the weather.

    Args:
        city: the city
        days: number of days
    """
    calls.append(city)
    if city == "Atlantis":
        raise ValueError("no such city")
    return {"city": city, "degrees": len(city) + days}


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    calls.append(f"pay {amount}")
    return f"paid {amount}"


async def run(code: str, *tools: Tool, limits: CodeLimits | None = None) -> ToolResult:
    """Return the result of a script that an agent runs."""
    model = ScriptedModel(ToolCall("run_code", code=code), "ok")
    agent = Agent("A", model=model, tools=[CodeTool(tools or (weather,), limits=limits)])
    return find_results(await agent.run("go"))[0]


def find_results(result: RunResult[object]) -> list[ToolResult]:
    return [message for message in result.messages if isinstance(message, ToolResult)]


async def test_a_model_calls_many_tools_in_one_script() -> None:
    result = await run("[weather(city, days=2)['degrees'] for city in ['Rome', 'Paris']]")
    assert (result.content, result.is_error) == ("[6,7]", False)
    assert calls == ["Rome", "Paris"]


@pytest.mark.parametrize(
    ("code", "content"),
    [
        ("print('a')\nprint('b')\n1 + 1", "a\nb\n2"),
        ("'text'", "text"),
        ("x = 1", "done"),
        ("(await weather('Rome'))['city']", "Rome"),
        ("import json\njson.dumps({'a': [1]})", '{"a": [1]}'),
        ("weather(city='Rome', days=3)['degrees']", "7"),
    ],
)
async def test_what_it_prints_and_the_value_of_its_last_line_come_back(code: str, content: str) -> None:
    assert (await run(code)).content == content


async def test_calls_that_are_gathered_run_at_the_same_time() -> None:
    both = asyncio.Barrier(2)

    @tool
    async def meet(name: str) -> str:
        """Meet the other call."""
        await asyncio.wait_for(both.wait(), 30)
        return name

    result = await run("import asyncio\nawait asyncio.gather(meet('a'), meet('b'))", meet)
    assert result.content == '["a","b"]'


async def test_the_model_sees_functions_with_types() -> None:
    (run_code,) = await CodeTool([weather]).load_tools()
    described = run_code.spec.description
    assert "weather(city: str, days: int = 1) -> dict\n    Look up the weather.\n    city: the city" in described


class Query(BaseModel):
    """Query for cities."""

    country: str
    limit: int | None = None
    kinds: list[Literal["big", "small"]] = []


class Place(BaseModel):
    name: str = Field(description="its name in English")
    parts: list[Place] = []


@tool
def cities(q: Query, mode: Literal["fast", "slow"] = "fast") -> list[Place]:
    """Find cities."""
    return [Place(name=f"{q.country} {mode}")]


@tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


async def test_the_model_sees_fields_defaults_and_results() -> None:
    (run_code,) = await CodeTool([cities, echo]).load_tools()
    described = run_code.spec.description
    assert (
        "class Query(TypedDict):\n    country: str\n    limit: NotRequired[int | None]\n"
        '    kinds: NotRequired[list[Literal["big", "small"]]]\n'
    ) in described
    assert (
        'class Place(TypedDict):\n    name: str  # its name in English\n    parts: NotRequired[list["Place"]]'
    ) in described
    assert 'cities(q: Query, mode: Literal["fast", "slow"] = \'fast\') -> list[Place]' in described
    assert "echo(text: str) -> str" in described
    content = (await run("cities({'country': 'Italy'})[0]['name']", cities)).content
    assert content == "Italy fast"


async def test_the_model_sees_what_tools_of_a_server_return() -> None:
    async with McpServer.in_process(Demo().server) as server:
        (run_code,) = await CodeTool([server]).load_tools()
    described = run_code.spec.description
    assert "class Weather(TypedDict):\n    celsius: float" in described
    assert "find(n: int) -> list[Weather]" in described
    assert "add(a: int, b: int) -> int" in described


async def test_text_that_looks_like_json_stays_text() -> None:
    assert (await run("type(echo('12')).__name__", echo)).content == "str"


@pytest.mark.parametrize("depth", [3, 3_000])
async def test_hostile_schemas_make_no_long_description(depth: int) -> None:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema, "b": schema, "class": {"type": "string"}}}
    declared = DeclaredTool("hostile", "x", {"type": "object", "properties": {"x": schema, "y": {"$ref": "#/a/b"}}})
    (run_code,) = await CodeTool([declared]).load_tools()
    assert len(run_code.spec.description) < 20_000


class Shop(ToolProvider):
    """Provider whose tools change."""

    def __init__(self) -> None:
        self.tools: tuple[Tool, ...] = (weather,)
        self.is_closed = False

    async def load_tools(self) -> tuple[Tool, ...]:
        return self.tools

    async def aclose(self) -> None:
        self.is_closed = True


async def test_tools_of_a_provider_are_those_that_it_has_when_a_run_begins() -> None:
    shop, model = Shop(), ScriptedModel(ToolCall("run_code", code="weather('Rome')['degrees']"), "ok")
    async with Platform(model) as platform:
        agent = Agent("A", tools=[CodeTool([pay, shop])])
        assert find_results(await agent.run("go", context=platform.context()))[0].content == "5"
        shop.tools = ()
        model.script(ToolCall("run_code", code="weather('Rome')"), "ok")
        gone = find_results(await agent.run("go", context=platform.context()))[0]
        assert "there is no function 'weather'" in gone.content
    assert shop.is_closed


async def test_tools_of_an_mcp_server_are_functions_too() -> None:
    async with McpServer.in_process(Demo().server) as server:
        code = "weather(city='Rome')['celsius'] + add(a=1, b=2)"
        model = ScriptedModel(ToolCall("run_code", code=code), "ok")
        result = await Agent("A", model=model, tools=[CodeTool([server.only("add", "weather")])]).run("go")
    assert find_results(result)[0].content == "7.0"
    assert result.artifacts == ({"celsius": 4.0}, {"result": 3})


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_results_of_an_mcp_server_have_one_type(era: str) -> None:
    code = (
        "results = [find(n) for n in range(3)] + [names(n) for n in range(3)] + [rows(2), report(), add(1, 2)]\n"
        "[type(result).__name__ for result in results]"
    )
    async with McpServer.in_process(Demo().server, protocol=era) as server:
        model = ScriptedModel(ToolCall("run_code", code=code), "ok")
        result = await Agent("A", model=model, tools=[CodeTool([server])]).run("go")
    assert json.loads(find_results(result)[0].content) == ["list"] * 7 + ["dict", "int"]


class TestVariables:
    """The next script of a run finds what the one before has defined."""

    async def run_scripts(self, *scripts: str, limits: CodeLimits | None = None) -> list[str]:
        model = ScriptedModel(*(ToolCall("run_code", code=code) for code in scripts), "ok")
        agent = Agent("A", model=model, tools=[CodeTool([weather], limits=limits)])
        return [result.content for result in find_results(await agent.run("go"))]

    async def test_variables_functions_and_modules_are_there(self) -> None:
        first = "import json\nrome = weather('Rome')\ndef double(x):\n    return 2 * x"
        contents = await self.run_scripts(first, "rome['degrees'] = double(rome['degrees'])", "json.dumps(rome)")
        assert json.loads(contents[2]) == {"city": "Rome", "degrees": 10}
        assert calls == ["Rome"]

    async def test_a_script_that_fails_changes_nothing(self) -> None:
        assert (await self.run_scripts("x = 1", "x = 2\n1 / 0", "x"))[2] == "1"

    async def test_another_run_has_none_of_them(self) -> None:
        await self.run_scripts("x = 1")
        assert "NameError" in (await self.run_scripts("x"))[0]

    async def test_large_variables_are_not_kept_and_the_model_is_told(self) -> None:
        limits = CodeLimits(state=5_000)
        contents = await self.run_scripts("x = 1", "x = 'y' * 10_000\n'long'", "x", limits=limits)
        assert contents[1].startswith("long\n[The variables of this script are not kept: they have ")
        assert contents[2] == "1"

    async def test_they_can_be_switched_off(self) -> None:
        assert "NameError" in (await self.run_scripts("x = 1", "x", limits=CodeLimits(state=0)))[1]

    async def test_they_survive_a_pause_in_another_process(self) -> None:
        store = JsonStore()
        model = ScriptedModel(
            ToolCall("run_code", code="x = [1]"), ToolCall("run_code", code="x.append(2)\npay(3)\nx.append(4)")
        )
        agent = Agent("A", tools=[CodeTool([pay])])
        waiting = await agent.run("go", context=RunContext.over(model, store=store))
        assert waiting.status is RunStatus.WAITING
        later = ScriptedModel(ToolCall("run_code", code="x"), "ok")
        context = RunContext.over(later, store=store)
        done = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert find_results(done)[-1].content == "[1,2,4]"

    async def test_a_durable_run_has_them_after_a_crash(self, tmp_path: Path) -> None:
        agent = Agent("A", tools=[CodeTool([pay])])
        first = ScriptedModel(ToolCall("run_code", code="x = 7"), ToolCall("run_code", code="pay(x)\nx += 1"))
        async with Platform(first, store=SqliteStore(tmp_path / "runs.db")) as platform:
            platform.register(agent)
            waiting = await agent.run("go", context=platform.context())
        later = ScriptedModel(ToolCall("run_code", code="x"), "ok")
        async with Platform(later, store=SqliteStore(tmp_path / "runs.db")) as platform:
            platform.register(agent)
            done = await platform.respond(waiting.run_id, waiting.pending[0].id, approve())
        assert isinstance(done, RunResult)
        assert find_results(done)[-1].content == "8"


class TestErrors:
    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("x = 1\nx / 0", 'File "script", line 2'),
            ("x = (", "SyntaxError"),
            ("weather('Atlantis')", "RuntimeError: ValueError: no such city"),
            ("weather(1)", "city: Input should be a valid string"),
            ("weather('a', 1, 2)", "takes 2 arguments, not 3"),
            ("weather('a', city='b')", "two values for city"),
            ("class A: pass\nweather(A())", "arguments must be JSON values"),
            (
                "import asyncio\nawait asyncio.gather(weather('a'))\nweather('b')",
                "nothing awaits it: weather.",
            ),
            ("wether('a')", "there is no function 'wether'. Did you mean 'weather'?"),
            ("open('/etc/passwd').read()", "a script has no files"),
            ("import socket", "socket"),
            ("import os\nos.system('ls')", "system"),
            ("().__class__.__mro__[1].__subclasses__()", "Error"),
        ],
    )
    async def test_they_are_readable_and_name_the_line(self, code: str, message: str) -> None:
        result = await run(code)
        assert result.is_error
        assert message in result.content
        assert "python-input" not in result.content

    async def test_a_script_may_catch_the_error_of_a_tool(self) -> None:
        result = await run("try:\n    weather('Atlantis')\nexcept RuntimeError as error:\n    print('caught', error)")
        assert result.content == "caught ValueError: no such city"

    async def test_what_was_printed_before_is_told(self) -> None:
        assert (await run("print('so far')\n1 / 0")).content.endswith("Printed before:\nso far\n")


class TestLimits:
    @pytest.mark.parametrize(
        ("code", "limits", "message"),
        [
            (
                "while True: pass",
                CodeLimits(seconds=0.2),
                "time limit exceeded: the script computed for more than",
            ),
            ("x = [0] * 10**9", CodeLimits(memory=10_000_000), "memory limit exceeded"),
            ("def f(): return f()\nf()", CodeLimits(recursion=50), "RecursionError"),
            ("print('x' * 5000)", CodeLimits(output=100), "limit exceeded"),
            ("x = 1 # long", CodeLimits(code=5), "The script has 12 characters; 5 are allowed."),
            ("for i in range(4): weather(str(i))", CodeLimits(calls=3), "the limit of 3 calls is used up"),
        ],
    )
    async def test_they_hold(self, code: str, limits: CodeLimits, message: str) -> None:
        assert message in (await run(code, limits=limits)).content

    async def test_the_time_of_tools_does_not_count(self) -> None:
        @tool
        async def wait() -> str:
            """Wait."""
            await asyncio.sleep(0.3)
            return "done"

        assert (await run("wait()", wait, limits=CodeLimits(seconds=0.2))).content == "done"

    async def test_sleeping_takes_no_time(self) -> None:
        assert (await run("import time\ntime.sleep(1000)\n1")).content == "1"

    async def test_those_of_an_agent_count_each_call(self) -> None:
        model = ScriptedModel(ToolCall("run_code", code="[weather(c) for c in 'abc']"), "ok")
        result = await Agent("A", model=model, tools=[CodeTool([weather])], max_tool_calls=3).run("go")
        assert calls == ["a", "b"]
        assert "the limit of 3 tool calls is used up" in find_results(result)[0].content

    async def test_a_budget_counts_what_agents_in_it_use(self) -> None:
        helper = Agent("Helper", model=ScriptedModel("1", "2", "3")).as_tool()
        model = ScriptedModel(ToolCall("run_code", code="[helper(request='x') for _ in 'abc']"), "ok")
        with pytest.raises(BudgetError):
            await Agent("A", model=model, tools=[CodeTool([helper])]).run("go", budget=Budget(turns=3))


class TestGuardrailsAndEvents:
    async def test_a_guardrail_sees_each_call_and_may_refuse_it(self) -> None:
        def no_paris(call: Called) -> GuardrailResult:
            is_paris = call.parse_arguments().get("city") == "Paris"
            return guardrails.failed("not Paris") if is_paris else guardrails.passed()

        model = ScriptedModel(ToolCall("run_code", code="[weather(c) for c in ['Rome', 'Paris']]"), "ok")
        agent = Agent("A", model=model, tools=[CodeTool([weather])], tool_input_guardrails=[no_paris])
        with pytest.raises(GuardrailError, match="not Paris"):
            await agent.run("go")
        assert calls == ["Rome"]

    async def test_a_guardrail_may_tell_the_script_to_do_otherwise(self) -> None:
        def no_paris(call: Called) -> GuardrailResult:
            is_paris = call.parse_arguments().get("city") == "Paris"
            return guardrails.retry("not Paris") if is_paris else guardrails.passed()

        code = "try:\n    weather('Paris')\nexcept RuntimeError as error:\n    print(error)"
        model = ScriptedModel(ToolCall("run_code", code=code), "ok")
        agent = Agent("A", model=model, tools=[CodeTool([weather])], tool_input_guardrails=[no_paris])
        assert find_results(await agent.run("go"))[0].content == "Not accepted: not Paris"
        assert calls == []

    async def test_each_call_has_its_events(self) -> None:
        model, events = ScriptedModel(ToolCall("run_code", code="weather('Rome')"), "ok"), list[Event]()
        await Agent("A", tools=[CodeTool([weather])]).run("go", context=RunContext.over(model, events.append))
        began = [event.call.name for event in events if isinstance(event, ToolCalled)]
        ended = [event.call.name for event in events if isinstance(event, ToolReturned)]
        assert (began, ended) == (["run_code", "weather"], ["weather", "run_code"])
        inner = [event for event in events if isinstance(event, ToolCalled)][1]
        assert json.loads(inner.call.arguments) == {"city": "Rome"}

    async def test_artifacts_reach_the_program(self) -> None:
        @tool
        def draw() -> Artifact[bytes]:
            """Draw."""
            return Artifact("drawn", b"png")

        with collect_artifacts() as artifacts:
            assert (await run("draw()", draw)).content == "drawn"
        assert artifacts == [b"png"]


CODE = """
import random
from datetime import datetime
before = weather('Rome')['degrees']
print(random.random(), datetime.now())
paid = pay(before)
f"{paid}, {weather('Paris')['degrees']}"
"""


class TestApprovals:
    async def test_a_call_that_waits_for_a_person_suspends_the_run_and_finished_calls_are_not_repeated(self) -> None:
        store, clock = JsonStore(), FakeClock()

        def build() -> Agent:
            return Agent("A", tools=[CodeTool([weather, pay])])

        first = ScriptedModel(ToolCall("run_code", code=CODE))
        waiting = await build().run("go", context=RunContext.over(first, store=store, clock=clock))
        assert waiting.status is RunStatus.WAITING
        assert waiting.pending[0].prompt == 'May pay({"amount":5}) be called?'
        assert calls == ["Rome"]

        clock.advance(100_000)  # in another process, a day later
        there = RunContext.over(ScriptedModel("done"), store=store, clock=clock)
        result = await build().resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=there)
        assert result.output == "done"
        assert calls == ["Rome", "pay 5", "Paris"]
        assert "2023-11-14 22:30:00" in find_results(result)[0].content  # the time of its first run
        assert find_results(result)[0].content.endswith("paid 5, 6")

    async def test_a_rejected_call_is_an_error_that_the_script_may_catch(self) -> None:
        code = "try:\n    pay(5)\nexcept RuntimeError as error:\n    print(error)"
        context = RunContext.over(ScriptedModel(ToolCall("run_code", code=code), "ok"))
        agent = Agent("A", tools=[CodeTool([pay])])
        waiting = await agent.run("go", context=context)
        result = await agent.resume(waiting.run_id, {waiting.pending[0].id: reject("too much")}, context=context)
        assert find_results(result)[0].content == "Not run: the call was rejected: too much"
        assert calls == []

    async def test_several_calls_that_are_gathered_wait_together(self) -> None:
        code = "import asyncio\nawait asyncio.gather(pay(1), weather('Rome'), pay(2))"
        context = RunContext.over(ScriptedModel(ToolCall("run_code", code=code), "ok"), store=JsonStore())
        agent = Agent("A", tools=[CodeTool([weather, pay])])
        waiting = await agent.run("go", context=context)
        assert len(waiting.pending) == 2
        assert calls == ["Rome"]
        waiting = await agent.resume(waiting.run_id, {waiting.pending[1].id: approve()}, context=context)
        assert len(waiting.pending) == 1
        result = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert sorted(calls) == ["Rome", "pay 1", "pay 2"]
        assert json.loads(find_results(result)[0].content)[2] == "paid 2"

    async def test_the_script_itself_may_need_one(self) -> None:
        context = RunContext.over(ScriptedModel(ToolCall("run_code", code="1"), "ok"))
        waiting = await Agent("A", tools=[CodeTool([weather], needs_approval=True)]).run("go", context=context)
        assert waiting.status is RunStatus.WAITING

    async def test_no_call_is_made_where_nothing_checks_it(self) -> None:
        called = ToolCall("run_code", code="weather('Rome')").to_call("1")
        tools = await CodeTool([weather]).load_tools()
        result = await Toolbox(tools).answer(called, RunContext.over(ScriptedModel()))
        assert "in the turns of a model only" in result.content
        assert calls == []


class TestDeclarations:
    def test_tools_of_the_same_function_name(self) -> None:
        @tool(name="a-b")
        def first() -> None:
            """First."""

        @tool(name="a_b")
        def second() -> None:
            """Second."""

        with pytest.raises(DeclarationError, match="two tools have the name 'a_b'"):
            CodeTool([first, second])

    def test_tools_that_end_the_run(self) -> None:
        @tool(return_direct=True)
        def finish() -> str:
            """Finish."""
            return ""

        with pytest.raises(DeclarationError, match="'finish' ends the run"):
            CodeTool([finish])
        with pytest.raises(DeclarationError, match="it has no tools"):
            CodeTool([])

    def test_a_missing_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pydantic_monty", None)
        with pytest.raises(MissingExtraError, match=r"\.\[monty\]"):
            CodeTool([weather])
