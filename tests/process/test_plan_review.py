"""Reviews of plans: a person approves, rejects, forbids, demands or edits, also after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from tactician import (
    Agent,
    Ensemble,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunStatus,
    SqliteStore,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    reject,
)
from tactician.errors import ConfigurationError, Replan, ResponseError
from tactician.planning import rules
from tactician.platform import Worker
from tactician.process import AgentProcess, PlanReview
from tactician.stores import MemoryStore
from tactician.testing import FakeClock, ScriptedModel
from tests.process.test_rules import CHECKED_FIRST, Asking, Ledger, Note, Order, build

REVIEWED = ProcessOptions(plan_review=PlanReview())


async def start(agent: Ledger, options: ProcessOptions = REVIEWED) -> AgentProcess:
    process = await Platform(ScriptedModel()).start(agent, Order(value=5), options=options)
    assert process.status is ProcessStatus.WAITING, process.failure
    return process


async def decide(process: AgentProcess, decision: object) -> AgentProcess:
    return await process.respond(process.pending[0].id, decision)


async def test_nothing_runs_before_the_plan_is_approved() -> None:
    agent = build(CHECKED_FIRST)

    process = await start(agent)

    request = process.pending[0]
    assert "verify, then pay_out" in request.prompt
    assert "Rules: before(verify, pay_out)" in request.prompt
    assert "Expected: " in request.prompt
    assert (request.kind, request.key, agent.done) == ("form", "plan_review", [])
    await decide(process, {"approved": True})
    assert (process.status, agent.done) == (ProcessStatus.COMPLETED, ["verify", "pay_out"])


async def test_each_field_of_the_form_says_what_it_does() -> None:
    request = (await start(build())).pending[0]
    fields: dict[str, dict[str, str]] = request.schema["properties"]  # type: ignore[index,assignment]
    assert list(fields) == ["approved", "reason", "forbid", "demand", "rule", "steps"]
    assert "may not run" in fields["forbid"]["description"]
    assert all(field["description"] for field in fields.values())


@planned_agent(name="Parcels", description="Packs what has just come")
class Parcels:
    @achieves_goal("It is packed")
    @action(trigger=UserInput)
    def pack(self, order: UserInput) -> str:
        return f"packed {order.content}"


async def test_a_review_leaves_the_newest_object_as_it_is() -> None:
    process = await Platform(ScriptedModel()).start(Parcels(), "tea", options=REVIEWED)

    await decide(process, {"approved": True})

    assert (process.status, process.result) == (ProcessStatus.COMPLETED, "packed tea"), process.failure
    assert [(run.action, run.outputs) for run in process.history] == [
        ("plan review", ("PlanDecision",)),
        ("pack", ("str",)),
    ]


async def test_nothing_starts_beside_a_review() -> None:
    agent = build(rules.sometime("approve"), rules.sometime("verify"))

    process = await start(agent, ProcessOptions(plan_review=PlanReview(), max_parallel=3))

    assert agent.done == []
    await decide(process, {"approved": True})
    assert process.status is ProcessStatus.COMPLETED


async def test_a_rejected_plan_ends_the_process_with_the_reason() -> None:
    agent = build()

    process = await decide(await start(agent), {"approved": False, "reason": "too early"})

    assert (process.status, agent.done) == (ProcessStatus.STUCK, [])
    assert process.failure is not None
    assert "the plan pay_out was rejected: too early" in process.failure


async def test_a_rejection_by_the_usual_means_counts_too() -> None:
    process = await decide(await start(build()), reject("not today"))
    assert "rejected: not today" in (process.failure or "")


@pytest.mark.parametrize(
    ("decision", "steps"),
    [
        ({"approved": False, "rule": "before('verify', 'pay_out')"}, ["verify", "pay_out"]),
        ({"approved": False, "demand": ["write_note"]}, ["write_note", "pay_out"]),
        ({"approved": True, "steps": ["approve", "verify", "pay_out"]}, ["approve", "verify", "pay_out"]),
    ],
)
async def test_a_person_adds_rules_or_edits(decision: Mapping[str, object], steps: list[str]) -> None:
    agent = build()

    process = await decide(await start(agent), decision)
    while process.status is ProcessStatus.WAITING:
        assert "Rules: " in process.pending[0].prompt
        await decide(process, {"approved": True})

    assert process.status is ProcessStatus.COMPLETED, process.failure
    assert sorted(agent.done) == sorted(steps)
    assert agent.done == steps or "steps" not in decision


async def test_forbidding_the_only_way_leaves_no_plan() -> None:
    agent = build()
    process = await decide(await start(agent), {"approved": False, "forbid": ["pay_out"]})
    assert (process.status, agent.done) == (ProcessStatus.STUCK, [])
    assert (process.failure or "").startswith("No plan that keeps the rules reaches 'pay_out'. The rule never(pay_out)")


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        ({"approved": False, "forbid": ["pay_ot"]}, "no action 'pay_ot'. Did you mean 'pay_out'?"),
        ({"approved": False, "rule": "import os"}, "'import os' is no rule"),
        ({"approved": True, "rule": "before('verify', 'pay_ot')"}, "no action 'pay_ot'. Did you mean 'pay_out'?"),
        ({"approved": True, "rule": "at_most(1, pay_out)"}, "write 'pay_out', in quotation marks"),
        (
            {"approved": False, "rule": "never('pay_out', when='oder.value > 3')"},
            "nothing is called 'oder'; did you mean 'order'?",
        ),
        (
            {"approved": False, "rule": "never('pay_out', when='order.valu > 3')"},
            "'order' has no 'valu'; did you mean 'value'?",
        ),
        ({"approved": True, "steps": ["verify", "verify"]}, "each action can be among the steps once"),
    ],
)
async def test_a_decision_that_makes_no_sense_is_asked_for_again(decision: Mapping[str, object], problem: str) -> None:
    process = await decide(await start(build()), decision)
    assert process.status is ProcessStatus.WAITING
    assert problem in process.pending[0].prompt


@pytest.mark.parametrize(("replans", "asked"), [("ask", True), ("allow", False)])
async def test_later_plans_are_reviewed_as_the_terms_say(replans: str, asked: bool) -> None:
    agent = build(rules.sometime("verify | approve"), gives_identity=False)
    terms = PlanReview(replans=replans)  # type: ignore[arg-type]
    process = await start(agent, ProcessOptions(plan_review=terms))

    await decide(process, {"approved": True})

    assert (process.status is ProcessStatus.WAITING) is asked


async def test_an_action_that_was_declined_is_not_planned_again_after_the_review() -> None:
    @planned_agent(description="Answers from one of two sources")
    class Sources:
        @action
        def ask_archive(self, order: Order) -> Note:
            raise Replan("it is closed")

        @action(cost=5)
        def ask_web(self, order: Order) -> Note:
            return Note(text="web")

        @achieves_goal("It is answered")
        @action
        def answer(self, note: Note) -> str:
            return note.text

    process = await Platform(ScriptedModel()).start(Sources(), Order(value=5), options=REVIEWED)
    await decide(process, {"approved": True})
    assert "ask_web, then answer" in process.pending[0].prompt

    await decide(process, {"approved": True})

    assert (process.status, process.result) == (ProcessStatus.COMPLETED, "web")


async def test_roles_and_deadlines_hold_as_for_any_request() -> None:
    clock = FakeClock()
    terms = PlanReview(required_role="lead", deadline=timedelta(hours=1), default="approve")
    platform = Platform(ScriptedModel(), clock=clock)
    process = await platform.start(build(), Order(value=5), options=ProcessOptions(plan_review=terms))

    assert process.pending[0].required_role == "lead"
    with pytest.raises(ResponseError):
        await decide(process, {"approved": True})
    clock.advance(3_700)
    await process.run()
    assert process.status is ProcessStatus.COMPLETED


async def test_a_review_continues_after_a_restart(tmp_path: Path) -> None:
    async with Platform(ScriptedModel(), store=SqliteStore(tmp_path / "runs.db")) as platform:
        process = await platform.start(Asking(), Order(value=5), options=REVIEWED)
        request = process.pending[0].id
    async with Platform(ScriptedModel(), store=SqliteStore(tmp_path / "runs.db")) as platform:
        platform.register(Asking())
        await platform.respond(process.id, request, {"approved": False, "rule": "prefer", "demand": []})
        restored = await platform.process(process.id)
        assert "is no rule" in restored.pending[0].prompt
        await platform.respond(process.id, restored.pending[0].id, {"approved": True})
    async with Platform(ScriptedModel(), store=SqliteStore(tmp_path / "runs.db")) as platform:
        platform.register(Asking())
        again = await platform.process(process.id)
        assert again.pending[0].prompt == "Pay?"
        await platform.respond(process.id, again.pending[0].id, {"yes": True})
        done = await platform.process(process.id)
    assert [run.action for run in done.history if run.action != "plan review"] == ["verify", "ask", "pay_out"]


@pytest.mark.parametrize("way", ["start", "run", "enqueue", "ensemble"])
async def test_a_platform_has_the_plans_of_all_runs_reviewed(way: str) -> None:
    """The terms are kept with the run, so that a platform without reviews continues it as it began."""
    store = MemoryStore()
    platform = Platform(ScriptedModel(), store=store, plan_review=PlanReview()).register(Parcels())
    ensemble = Ensemble("Office", [Task("pack tea", id="pack", agent=Parcels())])
    match way:
        case "start":
            run_id = (await platform.start("Parcels", "tea")).id
        case "run":
            run_id = (await platform.run("Parcels", "tea")).run_id
        case "enqueue":
            run_id = await platform.enqueue("Parcels", "tea")
            assert await Worker(platform).run_once()
        case _:
            platform.register(ensemble)
            run_id = (await platform.run(ensemble)).run_id
    (request,) = [request for run in await platform.list_waiting_runs() for request in run.pending]
    assert (request.key, request.prompt.splitlines()[0]) == ("plan_review", "Plan of Parcels: pack")

    other = Platform(ScriptedModel(), store=store).register(Parcels()).register(ensemble)
    done = await other.respond(run_id, request.id, {"approved": True})

    assert done.status in ("completed", RunStatus.COMPLETED)


async def test_a_runnable_without_plans_is_not_reviewed() -> None:
    platform = Platform(ScriptedModel("Hello"), plan_review=PlanReview())

    assert (await platform.start(Agent("Talker"), "Hi")).result == "Hello"


def test_terms_are_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"PlanReview.above_dollars is -1"):
        PlanReview(above_dollars=-1)
    with pytest.raises(ConfigurationError, match=r"Platform: plan_review is True; write plan_review=PlanReview"):
        Platform(plan_review=True)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"PlanReview.replans is 'never'"):
        PlanReview(replans="never")  # type: ignore[arg-type]
