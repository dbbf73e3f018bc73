"""Settings and options of the wrong kind, and misspelt ones: errors where they are written, which say what to write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

import pytest

from tactician import (
    Agent,
    AgentNetwork,
    Budget,
    Chatbot,
    Ensemble,
    Loop,
    ParallelAgents,
    PlannedAgent,
    Platform,
    RouterAgent,
    SupervisorAgent,
    Task,
    UserInput,
    achieves_goal,
    action,
    handoff,
    planned_agent,
)
from tactician.errors import ConfigurationError, DeclarationError
from tactician.planning.rules import never, prefer
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel

Anything = Any
"""Values of the wrong type, on purpose."""


@planned_agent(description="Repeats")
class Parrot:
    @achieves_goal("Repeated")
    @action
    def repeat(self, text: UserInput) -> str:
        return text.content


def untyped(called: Anything) -> Anything:
    """Return a class or function without its types, so that checkers let mistakes pass."""
    return called


def helper() -> Agent:
    return Agent("Helper", model=ScriptedModel("Hello."))


def finish(call: Callable[..., Anything], *arguments: object, **options: object) -> None:
    """Call a function, plain or async."""
    called = call(*arguments, **options)
    if iscoroutinefunction(call):
        asyncio.run(called)


RUNNABLES: list[Callable[[], Anything]] = [
    helper,
    lambda: Ensemble("Newsroom", [Task("Greet", handler=lambda _: "Hello.")]),
    lambda: Loop([Task("Greet", handler=lambda _: "Hello.")], max_iterations=1),
    lambda: RouterAgent("Desk", model=ScriptedModel({"value": 1}), routes={"Help": helper()}),
    lambda: ParallelAgents("Panel", [helper()]),
    lambda: PlannedAgent(Parrot()),
    Parrot,
]


class TestOptionsOfRuns:
    @pytest.mark.parametrize("make", RUNNABLES)
    @pytest.mark.parametrize("method", ["run", "run_sync", "stream", "stream_text"])
    def test_a_misspelt_option_has_a_suggestion(self, make: Callable[[], Anything], method: str) -> None:
        call = getattr(make(), method)
        with pytest.raises(TypeError, match=rf"{method}\(\) has no option 'bugdet'. Did you mean 'budget'\?"):
            finish(call, "Hello", bugdet=Budget())

    @pytest.mark.parametrize("make", RUNNABLES)
    def test_run_sync_takes_the_options_of_run(self, make: Callable[[], Anything]) -> None:
        platform = Platform(ScriptedModel(), store=MemoryStore())
        result = make().run_sync("Hello", context=platform.context(), budget=Budget(tokens=1_000))
        assert result.output in ("Hello.", "Hello")
        (run,) = asyncio.run(platform.runs())
        assert run.status == "completed"

    @pytest.mark.parametrize("make", RUNNABLES)
    @pytest.mark.parametrize("option", ["context", "conversation"])
    def test_an_option_of_the_wrong_kind_says_what_to_write(self, make: Callable[[], Anything], option: str) -> None:
        with pytest.raises(ConfigurationError, match=f"{option} is 'c-1'; write {option}="):
            make().run_sync("Hello", **{option: "c-1"})

    @pytest.mark.parametrize("method", ["start", "spawn", "start_sync"])
    def test_a_platform_suggests_too(self, method: str) -> None:
        call: Anything = getattr(Platform(ScriptedModel()), method)
        with pytest.raises(TypeError, match=rf"{method}\(\) has no option 'option'. Did you mean 'options'\?"):
            finish(call, Parrot(), "Hello", option=None)

    def test_an_option_of_another_call_says_where_it_belongs(self) -> None:
        platform: Anything = Platform(ScriptedModel())
        with pytest.raises(TypeError, match=r"start_sync\(\) has no option 'priority'.*platform\.enqueue"):
            platform.start_sync(Parrot(), "Hello", priority=3)

    def test_an_error_inside_a_run_is_not_taken_for_a_wrong_option(self) -> None:
        @planned_agent(description="Breaks")
        class Broken:
            @achieves_goal("Broken")
            @action
            def breaks(self, text: UserInput) -> str:
                raise TypeError("f() got an unexpected keyword argument 'x'")

        assert "unexpected keyword argument 'x'" in str(Platform(ScriptedModel()).start_sync(Broken(), "x").failure)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: untyped(Agent)("A", model=3), "model is 3: write the name of a model"),
        (lambda: untyped(Agent)("A", tools=helper), "tools is .*: write a list, in brackets"),
        (lambda: untyped(Agent)("A", input_guardrails=helper), "input_guardrails is .*: write a list"),
        (lambda: untyped(Agent)("A", handoffs=helper()), r"handoffs is Agent\('Helper'\): write a list"),
        (lambda: untyped(Agent)("A", instructions=5), "instructions is 5: write a text"),
        (lambda: untyped(Agent)("A", window=5), "window is 5: write a window"),
        (lambda: untyped(Agent)("A", max_turns="3"), "max_turns must be > 0, got: '3'"),
        (
            lambda: untyped(RouterAgent)("R", routes=[helper()]),
            "routes is .*: write a mapping",
        ),
        (
            lambda: untyped(RouterAgent)("R", routes={"x": "a"}),
            r"routes\['x'\] is 'a', which is not",
        ),
        (
            lambda: untyped(RouterAgent)("R", routes={"x": helper()}, fallback=3),
            "fallback is 3, which is not",
        ),
        (
            lambda: untyped(RouterAgent)("R", routes={"x": Parrot}),
            r"make an instance, as in Parrot\(...\)",
        ),
        (lambda: untyped(SupervisorAgent)("S", workers=[helper()]), "workers is .*: write a mapping"),
        (lambda: untyped(SupervisorAgent)("S", workers={"x": len}), r"as in runnable\(len\)"),
        (
            lambda: untyped(ParallelAgents)("P", [3, helper(), "x"]),
            r"(?s)members\[0\] is 3.*members\[2\] is 'x'",
        ),
        (
            lambda: untyped(ParallelAgents)("P", helper()),
            r"members is Agent\('Helper'\): write a list",
        ),
        (lambda: untyped(AgentNetwork)("N", [helper(), 3]), r"peers\[1\] is 3, which is not"),
        (lambda: untyped(handoff)(3), "target is 3, which is not"),
    ],
)
def test_agents_and_members_of_another_kind(make: Callable[[], object], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: untyped(Platform)(store="runs.db"),
            r"store is 'runs.db'; write store=Sqlite",
        ),
        (lambda: untyped(Platform)(store=MemoryStore), "store is <class .*; write store="),
        (lambda: untyped(Platform)(on_event=3), "on_event is 3; write a function"),
        (lambda: untyped(Platform)(clock=3), r"clock is 3; write clock=FakeClock\(\)"),
        (
            lambda: untyped(Platform)(retention=30),
            r"retention is 30; write retention=timedelta\(days=30\)",
        ),
        (lambda: untyped(Platform)(objective="time"), r"objective is 'time'; write objective=Objective\.DOLLARS"),
        (lambda: untyped(Platform)(planning=5.0), r"planning is 5.0; write planning=PlanningBudget"),
        (lambda: untyped(Platform)(rules=never("pay")), r"rules is never\(pay\); write a list, as in rules="),
        (lambda: untyped(Platform)(tool_groups=[helper]), "tool_groups has .*; write ToolGroup"),
        (lambda: untyped(Chatbot)(3), "Chatbot needs a platform first, and 3 is none"),
        (lambda: untyped(Chatbot)(helper()), "Chatbot needs a platform first"),
        (
            lambda: untyped(Platform)(ScriptedModel()).invoke_sync("text", str),
            "invoke needs a class first",
        ),
    ],
)
def test_settings_of_a_platform_of_another_kind(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make()


@pytest.mark.parametrize(("book", "shown"), [(never("pay"), r"never\(pay\)"), (["pay"], "'pay'"), ("pay", "'pay'")])
def test_rules_of_another_kind(book: Anything, shown: str) -> None:
    with pytest.raises(DeclarationError, match=rf"Payer is not declared .*\n.*rules is {shown}; write a list"):
        untyped(planned_agent)(description="Pays", rules=book)(type("Payer", (), {}))


def test_a_preference_of_something_else_than_a_rule() -> None:
    with pytest.raises(TypeError, match=r"as prefer\(never\('pay_out'\), 2\), not 'pay'"):
        untyped(prefer)("pay", 2)
