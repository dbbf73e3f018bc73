"""`ParallelAgents`."""

from __future__ import annotations

import asyncio

import pytest

from tactician import Budget, ParallelAgents, RunContext, RunStatus, runnable
from tactician.errors import DeclarationError, ModelServerError
from tactician.llm import AssistantMessage, Text, UserMessage
from tactician.loop import TurnStarted
from tactician.runs import BudgetError, RunCompleted, RunError
from tactician.testing import ToolCall
from tests.agents.constellations.support import prompts_of, says, surroundings, told


class Sleeper:
    """Somebody who never answers, and notices a cancellation."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = False

    async def sleep(self, text: object) -> str:
        """Sleeps."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return "never"


class TestAll:
    async def test_the_first_members_answer_is_the_answer_and_the_others_are_related(self) -> None:
        panel = ParallelAgents("Panel", [says("A", "a"), says("B", "b"), says("C", "c")])
        result = await panel.run("what?", context=surroundings())
        assert result.output == "a"
        assert result.messages == (UserMessage("what?"), AssistantMessage((Text("a"),)))
        assert [one.output for one in result.related] == ["b", "c"]

    async def test_they_work_at_once(self) -> None:
        all_have_begun = asyncio.Barrier(3)

        async def work(text: str) -> str:
            async with asyncio.timeout(30):
                await all_have_begun.wait()
            return text

        result = await ParallelAgents("Panel", [runnable(work)] * 3).run("x", context=surroundings())
        assert [result.output, *(one.output for one in result.related)] == ["x", "x", "x"]

    async def test_the_order_is_that_of_the_members_whoever_is_first(self) -> None:
        second_is_done = asyncio.Event()

        async def slow(text: object) -> str:
            await second_is_done.wait()
            return "slow"

        async def fast(text: object) -> str:
            second_is_done.set()
            return "fast"

        result = await ParallelAgents("Panel", [runnable(slow), runnable(fast)]).run("x", context=surroundings())
        assert (result.output, result.related[0].output) == ("slow", "fast")

    async def test_one_that_raises_fails_all_and_the_others_are_cancelled(self) -> None:
        sleeper = Sleeper()

        async def fail(text: object) -> str:
            await sleeper.begun.wait()
            raise LookupError("gone")

        with pytest.raises(LookupError, match="gone"):
            await ParallelAgents("Panel", [runnable(sleeper.sleep), runnable(fail)]).run("x", context=surroundings())
        assert sleeper.cancelled

    async def test_the_usage_is_that_of_all(self) -> None:
        panel = ParallelAgents("Panel", [says("A", "a"), says("B", "b")])
        result = await panel.run("x", context=surroundings())
        assert result.usage.requests == 2
        assert [one.usage.requests for one in result.related] == [1]

    async def test_they_share_the_budget(self) -> None:
        panel = ParallelAgents("Panel", [says("A", "a"), says("B", "b")])
        with pytest.raises(BudgetError):
            await panel.run("x", context=surroundings(), budget=Budget(turns=1))

    async def test_a_stream_has_the_events_of_all(self) -> None:
        panel = ParallelAgents("Panel", [says("A", "a"), says("B", "b")])
        events = [event async for event in panel.stream("x", context=surroundings())]
        assert sorted(told(events, TurnStarted)) == [("Panel", "A"), ("Panel", "B")]
        assert isinstance(last := events[-1], RunCompleted)
        assert last.result.output == "a"

    def test_it_needs_a_member(self) -> None:
        with pytest.raises(DeclarationError, match=r"ParallelAgents 'Panel'.*\n.*at least one member"):
            ParallelAgents("Panel", [])

    def test_its_description_names_its_members(self) -> None:
        panel = ParallelAgents("Panel", [says("A"), says("B")])
        assert panel.description == "A, B, all at once"
        assert ParallelAgents("Panel", [says("A")], description="Views").description == "Views"
        assert repr(panel) == "ParallelAgents('Panel')"


class TestFirst:
    async def test_the_first_to_succeed_wins_and_the_others_are_cancelled(self) -> None:
        sleeper = Sleeper()

        async def quick(text: object) -> str:
            await sleeper.begun.wait()
            return "quick"

        panel = ParallelAgents("Panel", [runnable(sleeper.sleep), runnable(quick)])
        assert (await panel.run_first("x", context=surroundings())).output == "quick"
        assert sleeper.cancelled
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def test_one_that_fails_does_not_win(self) -> None:
        may_answer = asyncio.Event()

        async def fail(text: object) -> str:
            may_answer.set()
            raise LookupError("gone")

        async def slow(text: object) -> str:
            await may_answer.wait()
            return "slow"

        panel = ParallelAgents("Panel", [runnable(fail), runnable(slow)])
        assert (await panel.run_first("x", context=surroundings())).output == "slow"

    async def test_when_all_fail_the_error_names_each(self) -> None:
        panel = ParallelAgents("Panel", [says("A", LookupError("gone")), says("B", ModelServerError("down"))])
        message = r"no attempt succeeded: \[A\]: .*LookupError: gone.*; \[B\]: .*down"
        with pytest.raises(RunError, match=message) as caught:
            await panel.run_first("x", context=surroundings())
        assert isinstance(caught.value.__cause__, LookupError | ModelServerError)
        assert caught.value.result.messages == (UserMessage("x"),)

    async def test_a_budget_that_is_used_up_ends_the_run(self) -> None:
        panel = ParallelAgents("Panel", [says("A", "a"), says("B", "b")])
        with pytest.raises(BudgetError):
            await panel.run_first("x", context=surroundings(), budget=Budget(turns=0))

    async def test_the_budget_of_a_member_is_its_own(self) -> None:
        async def frugal(text: str, context: RunContext) -> str:
            return (await says("A", "a").run(text, context=context, budget=Budget(turns=0))).output

        panel = ParallelAgents("Panel", [runnable(frugal), says("B", "b")])
        assert (await panel.run_first("x", context=surroundings(), budget=Budget(turns=9))).output == "b"

    async def test_the_race_is_a_runnable(self) -> None:
        panel = ParallelAgents("Panel", [says("A", "a")])
        host = says("Host", ToolCall("panel_first", request="x"), "done", tools=[panel.as_first_of().as_tool()])
        await host.run("go", context=surroundings())
        assert "\na" in prompts_of(host)[1]


class TestSynthesis:
    async def test_the_synthesizer_gets_the_query_and_the_named_answers(self) -> None:
        panel, editor = ParallelAgents("Panel", [says("A", "yes"), says("B", "no")]), says("Editor", "maybe")
        result = await panel.run_and_synthesize("Is it so?", synthesizer=editor, context=surroundings())
        assert result.output == "maybe"
        (prompt,) = prompts_of(editor)
        assert "Is it so?" in prompt
        assert "[A]: yes\n\n[B]: no" in prompt

    async def test_all_answers_are_related(self) -> None:
        panel, editor = ParallelAgents("Panel", [says("A", "yes"), says("B", "no")]), says("Editor", "maybe")
        result = await panel.run_and_synthesize("Is it so?", synthesizer=editor, context=surroundings())
        assert [one.output for one in result.related] == ["yes", "no"]
        assert result.usage.requests == 3

    async def test_the_synthesizer_is_told_who_failed(self) -> None:
        panel = ParallelAgents("Panel", [says("A", LookupError("gone")), says("B", "no")])
        editor = says("Editor", "only B answered")
        result = await panel.run_and_synthesize("Is it so?", synthesizer=editor, context=surroundings())
        assert "[A]: [ERROR: LookupError: gone]\n\n[B]: no" in prompts_of(editor)[0]
        assert [one.status for one in result.related] == [RunStatus.FAILED, RunStatus.COMPLETED]

    async def test_an_error_of_the_synthesizer_is_raised(self) -> None:
        panel = ParallelAgents("Panel", [says("A", "yes")])
        with pytest.raises(LookupError, match="gone"):
            await panel.run_and_synthesize("?", synthesizer=says("E", LookupError("gone")), context=surroundings())

    async def test_the_budget_is_shared(self) -> None:
        panel, editor = ParallelAgents("Panel", [says("A", "yes")]), says("Editor", "maybe")
        with pytest.raises(BudgetError, match="Editor"):
            await panel.run_and_synthesize("?", synthesizer=editor, context=surroundings(), budget=Budget(turns=1))

    async def test_any_runnable_fits(self) -> None:
        async def echo(text: object) -> str:
            return f"<{text}>"

        inner = ParallelAgents("Inner", [runnable(echo), runnable(echo)])
        outer = ParallelAgents("Outer", [inner.as_first_of(), inner])
        result = await outer.run_and_synthesize("x", synthesizer=inner.as_first_of(), context=surroundings())
        assert "[Inner (first)]: <x>\n\n[Inner]: <x>" in str(result.output)
