"""Options of a process: what it begins with, how fast its tools are called, and what of them a store keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tactician import (
    Agent,
    Blackboard,
    PlannedAgent,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
    tool,
)
from tactician.errors import ConfigurationError, StoredStateError, TransientError
from tactician.events import Event
from tactician.process import (
    ActionCompleted,
    ActionRetryPolicy,
    AgentProcess,
    OperationContext,
    ProcessEnded,
    Verbosity,
)
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.support.stored import JsonStore, change_data, load_data, respond


@dataclass(frozen=True)
class Facts:
    text: str


@dataclass(frozen=True)
class Report:
    text: str


class BusyError(Exception):
    """What a service says that will answer later."""


@planned_agent(description="reports")
class Reporter:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    @action
    async def research(self, topic: UserInput) -> Facts:
        return Facts(await ask_human(str, topic.content))

    @achieves_goal("reported")
    @action
    def report(self, facts: Facts) -> Report:
        if self.errors:
            raise self.errors.pop(0)
        return Report(facts.text)


def platform_of(agent: object, store: MemoryStore | None = None) -> Platform:
    return Platform(models=ScriptedModel(), store=store).register(agent)


class TestBlackboard:
    async def test_a_process_begins_with_what_is_on_it(self) -> None:
        board = Blackboard(Facts("frogs hop"))
        process = await platform_of(Reporter()).start("Reporter", options=ProcessOptions(blackboard=board))
        assert process.result == Report("frogs hop")

    async def test_it_has_a_copy_with_the_names_the_conditions_and_what_is_hidden(self) -> None:
        board, hidden = Blackboard(), Facts("old")
        board.add(hidden)
        board.hide(hidden)
        board["facts"] = Facts("named")
        board.set_condition("checked", True)

        process = await platform_of(Reporter()).start("Reporter", options=ProcessOptions(blackboard=board))

        assert process.blackboard["facts"] == Facts("named")
        assert process.blackboard.condition("checked")
        assert process.blackboard.all(Facts) == [Facts("named")]
        assert board.last(Report) is None

    async def test_what_it_is_started_with_is_newer(self) -> None:
        options = ProcessOptions(blackboard=Blackboard(Facts("old")))
        process = await platform_of(Reporter()).start("Reporter", Facts("new"), options=options)
        assert process.result == Report("new")

    async def test_what_its_context_knows_is_older(self) -> None:
        platform = platform_of(Reporter())
        known = ProcessOptions(memory_id="frogs")
        await platform.start("Reporter", Facts("of the context"), options=known)
        board = Blackboard(Facts("of the blackboard"))
        both = ProcessOptions(memory_id="frogs", blackboard=board)

        process = await platform.start("Reporter", options=both)

        assert process.result == Report("of the blackboard")
        assert [facts.text for facts in process.blackboard.all(Facts)] == ["of the context", "of the blackboard"]

    async def test_the_agent_that_can_do_something_with_it_is_chosen(self) -> None:
        @planned_agent(description="writes reports of what is said")
        class Writer:
            @achieves_goal("reported")
            @action
            def write(self, topic: UserInput) -> Report:
                return Report(topic.content)

        platform = platform_of(Writer()).register(Reporter())
        options = ProcessOptions(blackboard=Blackboard(Facts("frogs hop")))
        assert await platform.invoke(Report, options=options) == Report("frogs hop")

    async def test_an_agent_that_is_run_by_itself_begins_with_it_too(self) -> None:
        options = ProcessOptions(blackboard=Blackboard(Facts("frogs hop")))
        result = await PlannedAgent(Reporter()).run((), options=options)
        assert result.output == Report("frogs hop")


class TestToolDelay:
    async def called(self, options: ProcessOptions, *steps: object) -> tuple[list[float], FakeClock]:
        clock, times = FakeClock(), list[float]()

        @tool
        def look(place: int) -> str:
            times.append(clock.monotonic() - 1000)
            return f"seen at {place}"

        @planned_agent(description="lets an agent look")
        class Looker:
            @achieves_goal("looked")
            @action
            async def look(self, topic: UserInput, context: OperationContext) -> Report:
                done = await Agent("Eyes", tools=[look]).run(topic.content, context=context.run)
                return Report(done.output)

        context = RunContext.over(ScriptedModel(*steps), clock=clock)
        process = await PlannedAgent(Looker()).create_process("look", context=context, options=options).run()
        assert process.result == Report("done")
        return times, clock

    async def test_calls_begin_no_sooner_than_that_after_one_another(self) -> None:
        steps = (*(ToolCall("look", place=n) for n in range(3)), "done")
        times, _ = await self.called(ProcessOptions(tool_delay=2.0), *steps)
        assert times == [0.0, 2.0, 4.0]

    async def test_calls_at_the_same_time_wait_for_their_turn(self) -> None:
        steps = ([ToolCall("look", place=n) for n in range(3)], "done")
        _, clock = await self.called(ProcessOptions(tool_delay=2.0), *steps)
        assert clock.slept == [2.0, 2.0]

    async def test_nobody_waits_without_it(self) -> None:
        _, clock = await self.called(ProcessOptions(), ToolCall("look", place=1), ToolCall("look", place=2), "done")
        assert clock.slept == []


class TestListeners:
    async def test_it_hears_its_process_and_the_platform_still_hears_all(self) -> None:
        of_all, of_one = list[Event](), list[Event]()
        platform = Platform(models=ScriptedModel(), on_event=of_all.append).register(Reporter())
        await platform.start("Reporter", Facts("x"), options=ProcessOptions(on_event=of_one.append))
        heard = list(of_one)
        await platform.start("Reporter", Facts("y"))

        assert isinstance(heard[-1], ProcessEnded)
        assert any(isinstance(event, ActionCompleted) for event in heard)
        assert of_all[: len(heard)] == heard
        assert of_one == heard
        assert len(of_all) > len(heard)


async def change_options(store: JsonStore, process: AgentProcess, **changed: object) -> None:
    """Change what is saved of the options of a process."""
    await change_data(store, process.id, lambda data: data["origin"]["options"].update(changed))


class TestInAStore:
    async def resumed(self, options: ProcessOptions, *errors: Exception) -> AgentProcess:
        """A process that waited, after it has gone on elsewhere."""
        store = JsonStore()
        process = await platform_of(Reporter(), store).start("Reporter", "why?", options=options)
        return await respond(platform_of(Reporter(*errors), store), process, "so")

    async def test_retries_the_pace_and_the_verbosity_go_with_it(self) -> None:
        retry = ActionRetryPolicy(attempts=7, delay=0.0, factor=3.0, max_delay=5.0, on=(BusyError, KeyError))
        options = ProcessOptions(retry=retry, tool_delay=0.5, verbosity=Verbosity(prompts=True, plans=True))
        assert (await self.resumed(options)).options == options

    async def test_a_kind_of_error_is_known_elsewhere_by_its_name(self) -> None:
        process = await self.resumed(
            ProcessOptions(retry=ActionRetryPolicy(attempts=2, delay=0, on=(BusyError,))), BusyError("later")
        )
        assert (process.status, process.history[-1].attempts) == (ProcessStatus.COMPLETED, 2)

    async def test_other_errors_are_not_tried_again_there_either(self) -> None:
        process = await self.resumed(ProcessOptions(retry=ActionRetryPolicy(delay=0, on=(BusyError,))), KeyError("x"))
        assert (process.status, process.history[-1].attempts) == (ProcessStatus.FAILED, 1)

    async def test_fewer_attempts_are_fewer_there_too(self) -> None:
        process = await self.resumed(ProcessOptions(retry=ActionRetryPolicy(attempts=1)), TransientError("busy"))
        assert (process.status, process.history[-1].attempts) == (ProcessStatus.FAILED, 1)

    async def test_a_kind_of_error_that_is_not_loaded_is_named_and_nothing_is_imported(self) -> None:
        store = JsonStore()
        options = ProcessOptions(retry=ActionRetryPolicy(on=(BusyError,)))
        process = await platform_of(Reporter(), store).start("Reporter", "why?", options=options)
        saved = (await load_data(store, process.id))["origin"]["options"]["retry"]
        assert saved["on"] == ["tests.platform.test_options.BusyError"]
        for name in ("antigravity.Error", "os.system", "tests.platform.test_options.Reporter"):
            await change_options(store, process, retry={**saved, "on": [name]})
            with pytest.raises(StoredStateError, match=f"try again after an? {name}, which this program has not"):
                await platform_of(Reporter(), store).process(process.id)

    async def test_a_budget_that_is_not_valid_is_said_to_be(self) -> None:
        store = JsonStore()
        process = await platform_of(Reporter(), store).start("Reporter", "why?")
        saved = (await load_data(store, process.id))["origin"]["options"]["limits"]
        await change_options(store, process, limits={**saved, "actions": 0.5})
        with pytest.raises(StoredStateError, match="The budget of the run cannot be read"):
            await platform_of(Reporter(), store).process(process.id)

    async def test_a_process_without_one_of_these_options_is_damaged(self) -> None:
        store = JsonStore()
        process = await platform_of(Reporter(), store).start("Reporter", "why?")

        def forget(data: dict[str, Any]) -> None:
            del data["origin"]["options"]["retry"]

        await change_data(store, process.id, forget)
        with pytest.raises(StoredStateError, match=r"cannot be read: .*\noptions\.retry\n"):
            await platform_of(Reporter(), store).process(process.id)

    async def test_functions_that_would_be_lost_are_refused_before_anything_runs(self) -> None:
        options = ProcessOptions(terminate_when=lambda process: None)
        platform = platform_of(Reporter(), MemoryStore())
        for begin in (platform.start, platform.spawn, platform.enqueue):
            with pytest.raises(ConfigurationError, match="terminate_when is a function, which a store cannot save"):
                await begin("Reporter", "why?", options=options)
        assert await platform.processes() == []
        assert await RunStore(platform.store).find() == []

    async def test_so_is_a_kind_of_error_that_nobody_else_finds(self) -> None:
        class LocalError(Exception):
            pass

        options = ProcessOptions(retry=ActionRetryPolicy(on=(LocalError,)))
        with pytest.raises(ConfigurationError, match=r"retry\.on has .*LocalError, which is defined inside a function"):
            await platform_of(Reporter(), MemoryStore()).start("Reporter", "why?", options=options)

    async def test_without_a_store_both_are_fine(self) -> None:
        class LocalError(Exception):
            pass

        options = ProcessOptions(
            retry=ActionRetryPolicy(delay=0, on=(LocalError,)), terminate_when=lambda process: None
        )
        process = await platform_of(Reporter(LocalError("once"))).start("Reporter", Facts("x"), options=options)
        assert process.result == Report("x")
