"""Rules of planned agents: planned for, enforced whoever chooses an action, and kept over restarts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from tactician import (
    Platform,
    ProcessOptions,
    ProcessStatus,
    SqliteStore,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.errors import DeclarationError
from tactician.events import Event
from tactician.planning import AStarPlanner, rules
from tactician.planning.rules import Rule
from tactician.process import ProcessHandle
from tactician.testing import FakeClock, ScriptedModel, ToolCall


class Order(BaseModel):
    value: int


class Identity(BaseModel):
    name: str


class Approved(BaseModel):
    by: str


class Refund(BaseModel):
    paid: int


class Note(BaseModel):
    text: str


CHECKED_FIRST = rules.before("verify", "pay_out")


@dataclass
class Ledger:
    """An agent that pays refunds, and notes what it does."""

    fails: int = 0
    gives_identity: bool = True
    done: list[str] = field(default_factory=list)

    @action
    async def verify(self, order: Order) -> Identity | None:
        self.done.append("verify")
        if self.fails:
            self.fails -= 1
            raise ConnectionError("away")
        return Identity(name="Ann") if self.gives_identity else None

    @action
    async def approve(self, order: Order) -> Approved:
        await asyncio.sleep(0)
        self.done.append("approve")
        return Approved(by="boss")

    @action
    async def write_note(self, order: Order) -> Note:
        await asyncio.sleep(0)
        self.done.append("write_note")
        return Note(text="ok")

    @achieves_goal("The refund is paid")
    @action
    async def pay_out(self, order: Order) -> Refund:
        self.done.append("pay_out")
        return Refund(paid=order.value)


def build(*book: Rule, planner: str = "goap", **settings: object) -> Ledger:
    agent = planned_agent(description="Pays refunds", rules=book, planner=planner)(type("Refunds", (Ledger,), {}))
    return agent(**settings)  # type: ignore[no-any-return]


async def run(agent: object, value: int = 50, *, options: ProcessOptions | None = None) -> ProcessHandle:
    return await Platform(ScriptedModel()).start(agent, Order(value=value), options=options)


async def test_what_a_rule_demands_before_comes_first() -> None:
    free, bound = build(), build(CHECKED_FIRST)

    assert (await run(free)).status is ProcessStatus.COMPLETED
    assert (await run(bound)).status is ProcessStatus.COMPLETED
    assert free.done == ["pay_out"]
    assert bound.done == ["verify", "pay_out"]


async def test_an_action_that_failed_or_gave_nothing_does_not_count() -> None:
    agent = build(CHECKED_FIRST, gives_identity=False)

    process = await run(agent)

    assert process.status is ProcessStatus.STUCK
    assert agent.done == ["verify"]
    assert "before(verify, pay_out)" in str(process.failure)


@pytest.mark.parametrize(("value", "steps"), [(50, ["pay_out"]), (500, ["approve", "pay_out"])])
async def test_an_expression_forbids_until_what_it_asks_for_is_there(value: int, steps: Sequence[str]) -> None:
    agent = build(rules.never("pay_out", when="order.value > 100 and not approved"))

    await run(agent, value)

    assert agent.done == steps


async def test_a_goal_counts_when_obligations_are_met() -> None:
    agent = build(rules.after("pay_out", "write_note"), rules.sometime("approve"))

    process = await run(agent)

    assert process.status is ProcessStatus.COMPLETED
    assert sorted(agent.done) == ["approve", "pay_out", "write_note"]
    assert agent.done.index("pay_out") < agent.done.index("write_note")


async def test_rules_of_a_single_run_come_on_top() -> None:
    agent = build(CHECKED_FIRST)
    options = ProcessOptions(rules=(rules.before("approve", "verify"),))

    await run(agent, options=options)

    assert agent.done == ["approve", "verify", "pay_out"]


async def test_a_preference_gives_way_to_cost() -> None:
    @planned_agent(description="Asks", rules=[rules.prefer(rules.before("verify", "pay_out"), penalty=0.1)])
    class Dear(Ledger):
        @action(cost=5.0)
        async def verify(self, order: Order) -> Identity | None:
            return await super().verify(order)

    agent = Dear()

    await run(agent)

    assert agent.done == ["pay_out"]


async def test_actions_at_once_keep_rules_together() -> None:
    model = ScriptedModel([ToolCall("approve"), ToolCall("write_note")], ToolCall("pay_out"))
    agent = build(rules.at_most(1, "approve | write_note"), planner="supervisor")

    process = await Platform(model).start(agent, Order(value=5))

    assert process.status is ProcessStatus.COMPLETED
    assert agent.done in (["approve", "pay_out"], ["write_note", "pay_out"])


@pytest.mark.parametrize(
    ("book", "message"),
    [
        (
            [rules.never("pay_out"), rules.before("verify", "approve")],
            r"the rule never\(pay_out\) makes every goal unr",
        ),
        ([rules.after("pay_out", "write_note"), CHECKED_FIRST, rules.never("verify", when="order.value < 0")], None),
        (
            [rules.never("verify"), rules.sometime("approve"), CHECKED_FIRST],
            r"never\(verify\), before\(verify, pay_out\)",
        ),
        (
            [rules.sometime("approve"), rules.sometime("write_note"), rules.at_most(1, "approve | write_note")],
            "contrad",
        ),
        ([rules.within(1, "approve"), rules.within(1, "verify")], r"within\(1, approve\), within\(1, verify\) contrad"),
        ([rules.always("approved"), rules.always("not approved")], "contradict each other: no goal"),
    ],
)
async def test_the_smallest_set_of_rules_that_allows_no_goal_is_an_error(
    book: Sequence[Rule], message: str | None
) -> None:
    if message is None:
        await run(build(*book))
        return
    with pytest.raises(DeclarationError, match=message):
        await run(build(*book))
    with pytest.raises(DeclarationError, match=message):
        await run(build(), options=ProcessOptions(rules=tuple(book)))


async def test_an_agent_under_rules_runs_actions_at_once_where_these_allow_it() -> None:
    agent = build(rules.sometime("approve"), rules.sometime("write_note"), CHECKED_FIRST)

    process = await run(agent, options=ProcessOptions(max_parallel=4))

    assert process.status is ProcessStatus.COMPLETED
    assert agent.done.index("verify") < agent.done.index("pay_out")


@pytest.mark.parametrize(("gives_identity", "decisions"), [(True, 1), (False, 2)])
async def test_a_plan_under_rules_is_continued_where_nothing_unforeseen_has_happened(
    gives_identity: bool, decisions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, consult, calls = build(CHECKED_FIRST, gives_identity=gives_identity), AStarPlanner.consult, list[object]()

    def count(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        return consult(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(AStarPlanner, "consult", count)
    process = await run(agent)

    assert (process.status is ProcessStatus.COMPLETED) is gives_identity
    assert len(calls) == decisions


async def test_a_rule_that_time_has_broken_ends_a_continued_plan() -> None:
    clock = FakeClock()

    @planned_agent(description="Takes its time", rules=[rules.within(timedelta(minutes=1), "pay_out")])
    class Slow:
        @action
        async def verify(self, order: Order) -> Identity:
            return Identity(name="Ann")

        @action
        async def approve(self, identity: Identity) -> Approved:
            await clock.sleep(61)
            return Approved(by="boss")

        @achieves_goal("The refund is paid")
        @action
        async def pay_out(self, approved: Approved) -> Refund:
            raise AssertionError

    process = await Platform(ScriptedModel(), clock=clock).start(Slow(), Order(value=5))

    assert (process.status, len(process.history)) == (ProcessStatus.STUCK, 2)


async def test_utility_planners_keep_rules() -> None:
    agent = build(CHECKED_FIRST, planner="utility")

    await run(agent)

    assert "pay_out" not in agent.done[: agent.done.index("verify")]


async def test_a_supervising_model_reads_why_an_action_is_refused() -> None:
    model = ScriptedModel(ToolCall("pay_out"), ToolCall("verify"), ToolCall("pay_out"))
    agent, events = build(CHECKED_FIRST, planner="supervisor"), list[Event]()

    process = await Platform(model).start(agent, Order(value=5), options=ProcessOptions(on_event=events.append))

    assert process.status is ProcessStatus.COMPLETED
    assert agent.done == ["verify", "pay_out"]
    assert "it would break the rule before(verify, pay_out)" in str(model.calls[1].messages)
    refused = [event for event in events if type(event).__name__ == "ActionRefused"]
    assert [getattr(event, "action", "") for event in refused] == ["pay_out"]


@pytest.mark.parametrize("does_it", [True, False])
async def test_a_supervising_model_is_asked_for_what_it_owes(does_it: bool) -> None:
    model = ScriptedModel(ToolCall("pay_out"), *([ToolCall("write_note"), "Done"] if does_it else ["Done", "Done"]))
    agent = build(rules.after("pay_out", "write_note"), planner="supervisor")

    process = await Platform(model).start(agent, Order(value=5))

    assert agent.done == ["pay_out", "write_note"][: 1 + does_it]
    assert process.status is (ProcessStatus.COMPLETED if does_it else ProcessStatus.FAILED)
    assert "these rules are not met yet: after(pay_out, write_note)" in str(model.calls[1].messages)


async def test_conditions_on_expressions_hold_under_a_supervisor() -> None:
    model = ScriptedModel(ToolCall("pay_out"), ToolCall("approve"), ToolCall("pay_out"))
    agent = build(rules.never("pay_out", when="order.value > 100 and not approved"), planner="supervisor")

    process = await Platform(model).start(agent, Order(value=500))

    assert process.status is ProcessStatus.COMPLETED
    assert agent.done == ["approve", "pay_out"]


class Answer(BaseModel):
    yes: bool


ASKING = (CHECKED_FIRST, rules.at_most(1, "verify"))


@planned_agent(description="Asks before it pays", rules=ASKING)
class Asking:
    @action
    async def verify(self, order: Order) -> Identity:
        return Identity(name="Ann")

    @action
    async def ask(self, identity: Identity) -> Answer:
        return await ask_human(Answer, "Pay?")

    @achieves_goal("The refund is paid")
    @action
    async def pay_out(self, order: Order, answer: Answer) -> Refund:
        return Refund(paid=order.value)


async def test_history_counts_after_a_restart(tmp_path: Path) -> None:
    async with Platform(ScriptedModel(), store=SqliteStore(tmp_path / "runs.db")) as platform:
        process = await platform.start(Asking(), Order(value=5))
        assert process.status is ProcessStatus.WAITING, process.failure
        request = process.pending[0].id
    async with Platform(ScriptedModel(), store=SqliteStore(tmp_path / "runs.db")) as platform:
        platform.register(Asking())
        await platform.respond(process.id, request, {"yes": True})
        restored = await platform.process(process.id)

    assert restored.status is ProcessStatus.COMPLETED
    assert [run.action for run in restored.history] == ["verify", "ask", "pay_out"]


async def test_rules_of_a_run_are_kept_after_a_restart(tmp_path: Path) -> None:
    options = ProcessOptions(rules=(rules.prefer(rules.never("ask"), 5), rules.after("verify", "pay_out | note")))
    async with Platform(ScriptedModel(), store=SqliteStore(tmp_path / "runs.db")) as platform:
        process = await platform.start(Asking(), Order(value=5), options=options)
        assert process.status is ProcessStatus.WAITING, process.failure
    async with Platform(ScriptedModel(), store=SqliteStore(tmp_path / "runs.db")) as platform:
        platform.register(Asking())
        restored = await platform.process(process.id)
        assert restored.options.rules == options.rules
        assert restored.agent.rules == (*ASKING, *options.rules)


async def test_time_that_is_over_breaks_a_rule() -> None:
    clock = FakeClock()

    @planned_agent(description="Takes its time", rules=[rules.within(timedelta(minutes=1), "pay_out")])
    class Slow:
        @action
        async def verify(self, order: Order) -> Identity:
            await clock.sleep(120)
            return Identity(name="Ann")

        @achieves_goal("The refund is paid")
        @action
        async def pay_out(self, identity: Identity) -> Refund:
            return Refund(paid=1)

    process = await Platform(ScriptedModel(), clock=clock).start(Slow(), Order(value=5))

    assert process.status is ProcessStatus.STUCK
    assert "within(60 s, pay_out)" in str(process.failure)


def test_names_in_rules_are_checked_with_suggestions() -> None:
    with pytest.raises(DeclarationError, match=r"rule before\(verfy, pay_out\): no action 'verfy'.*verify"):
        asyncio.run(run(build(rules.before("verfy", "pay_out"))))
    with pytest.raises(DeclarationError, match=r"rule never\(pay\): no action 'pay'.*pay_out"):
        asyncio.run(run(build(rules.never("pay"))))
    with pytest.raises(DeclarationError, match="is no action, no condition and no expression"):
        asyncio.run(run(build(rules.never("pay_out", when="import os"))))


@pytest.mark.parametrize(
    ("condition", "mistake"),
    [
        ("oder.value > 3", "nothing is called 'oder'; did you mean 'order'?"),
        ("not (order.value > 3 and aproved)", "nothing is called 'aproved'; did you mean 'approved'?"),
        ("order.valu > 3", "'order' has no 'valu'; did you mean 'value'?"),
        ("any(each.value > 3 for each in orders)", "nothing is called 'orders'; did you mean 'order'?"),
        ("zebra.stripes > 3", "nothing is called 'zebra'; objects are called by their class"),
    ],
)
async def test_names_inside_expressions_are_checked(condition: str, mistake: str) -> None:
    rule = rules.never("pay_out", when=condition)
    with pytest.raises(DeclarationError, match=re.escape(mistake)):
        Platform(ScriptedModel()).register(build(rule))
    with pytest.raises(DeclarationError, match=re.escape(mistake)):
        await run(build(), options=ProcessOptions(rules=(rule,)))
    platform = Platform(ScriptedModel(), rules=[rule])
    if "did you mean" in mistake:
        with pytest.raises(DeclarationError, match=re.escape(mistake)):
            await platform.start(build(), Order(value=50))
    else:  # on another agent of the platform there may be such a thing; here it permits nothing
        assert (await platform.start(build(), Order(value=50))).status is not ProcessStatus.COMPLETED
