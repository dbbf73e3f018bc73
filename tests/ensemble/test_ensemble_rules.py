"""Rules of ensembles over tasks and delegations: in sequences, groups, hierarchies and ensembles inside, and later."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tactician import Agent, Blueprint, Ensemble, Loop, Platform, RunStatus, Task, Workflow
from tactician.ensemble import EnsembleDefinitionError, TaskFailed, TaskFailedError, TaskInput
from tactician.errors import RuleRefusedError
from tactician.events import Event
from tactician.planning import rules
from tactician.planning.rules import Rule
from tactician.testing import ScriptedModel
from tests.ensemble.support import cashier, durable, over, says
from tests.ensemble.test_hierarchy import delegate


class Check(BaseModel):
    score: int


def note(name: str, done: list[str], fails: bool = False) -> Task:
    def work(task: TaskInput) -> str:
        if fails:
            raise ConnectionError("away")
        done.append(name)
        return name

    return Task(name, id=name, handler=work)


def office(done: list[str], *book: Rule, workflow: Workflow = Workflow.SEQUENTIAL, fails: bool = False) -> Ensemble:
    tasks = [note("check", done, fails), note("pay", done), note("file", done)]
    return Ensemble("Office", tasks, workflow=workflow, rules=book, on_error="continue")


async def test_a_task_that_would_break_a_rule_does_not_start() -> None:
    done, events = list[str](), list[Event]()
    with pytest.raises(TaskFailedError, match=r"'check' was not started.*before\(pay, check\)") as caught:
        await office(done, rules.before("pay", "check")).run(context=over(listener=events.append))

    assert done == []
    assert isinstance(caught.value.failed["check"], RuleRefusedError)
    assert [event.task_id for event in events if isinstance(event, TaskFailed)] == ["check"]


async def test_a_task_that_failed_does_not_count() -> None:
    done = list[str]()
    with pytest.raises(TaskFailedError):
        await office(done, rules.before("check", "pay"), workflow=Workflow.PARALLEL, fails=True).run(context=over())
    assert done == ["file"]


async def test_rules_hold_together_for_tasks_at_once() -> None:
    done = list[str]()
    with pytest.raises(TaskFailedError):
        await office(done, rules.at_most(2, "check | pay | file"), workflow=Workflow.PARALLEL).run(context=over())
    assert len(done) == 2


async def test_what_is_owed_fails_the_ensemble() -> None:
    done = list[str]()
    with pytest.raises(TaskFailedError, match=r"Office: all tasks have ended.*after\(pay, check\)"):
        await office(done, rules.after("pay", "check")).run(context=over())
    assert done == ["check", "pay", "file"]


@pytest.mark.parametrize(("score", "steps"), [(9, ["pay"]), (3, [])])
async def test_a_condition_reads_outputs_of_earlier_tasks(score: int, steps: list[str]) -> None:
    done = list[str]()
    check = Task("check", id="check", output_type=Check, handler=lambda task: Check(score=score))
    ensemble = Ensemble("Office", [check, note("pay", done)], rules=[rules.never("pay", when="check.score < 5")])

    if steps:
        await ensemble.run(context=over())
    else:
        with pytest.raises(TaskFailedError, match="would break the rule never"):
            await ensemble.run(context=over())
    assert done == steps


async def test_tasks_in_loops_and_ensembles_inside_are_guarded() -> None:
    done = list[str]()
    loop = Loop(tasks=[note("pay", done)], max_iterations=3, until=lambda outputs: False)
    with pytest.raises(TaskFailedError, match=r"at_most\(2, pay\)"):
        await Ensemble("Office", [loop], rules=[rules.at_most(2, "pay")]).run(context=over())
    assert done == ["pay", "pay"]

    inner = Ensemble("Inner", [note("pay", done)], rules=[rules.at_most(1, "pay")])
    platform = Platform(rules=[rules.before("check", "pay")])
    with pytest.raises(TaskFailedError, match=r"before\(check, pay\)"):
        await platform.run(Ensemble("Outer", [inner]))


async def test_a_manager_reads_why_a_delegation_is_refused() -> None:
    model = ScriptedModel(delegate("Writer"), delegate("Researcher"), delegate("Writer"), "done")
    agents = [says("Researcher", "facts"), says("Writer", "text")]
    ensemble = Ensemble(
        "Firm", [Task("Report")], workflow=Workflow.HIERARCHICAL, agents=agents, model=model,
        rules=[rules.before("Researcher", "Writer")],
    )  # fmt: skip

    result = await ensemble.run(context=over())

    told = [message.text for message in model.calls[-1].messages if message.role == "tool"]
    assert told[0].startswith("Not delegated: it would break the rule before(Researcher, Writer)")
    assert [delegation.raw for delegation in result.delegations] == [None, "facts", "text"]


async def test_rules_of_a_platform_hold_for_ensembles() -> None:
    done = list[str]()
    with pytest.raises(TaskFailedError, match=r"never\(pay\)"):
        await Platform(rules=[rules.never("pay"), rules.sometime("launch")]).run(office(done))
    assert done == ["check"]


async def test_what_was_done_counts_after_a_restart() -> None:
    done = list[str]()

    def build() -> Ensemble:
        tasks = [note("check", done), Task("pay", id="pay", agent=payer), note("file", done)]
        return Ensemble("Office", tasks, rules=[rules.before("check", "pay"), rules.before("check | pay", "file")])

    payer = cashier("paid")
    context = durable()
    waiting = await build().run(context=context)
    assert waiting.status is RunStatus.WAITING
    result = await build().resume(waiting.run_id, {waiting.pending[0].id: True}, context=context)
    assert result.status is RunStatus.COMPLETED
    assert done == ["check", "file"]


def test_a_blueprint_has_the_rules() -> None:
    agent = Agent("A", model="gpt-5.4")
    ensemble = Ensemble("Office", [Task("pay", id="pay", agent=agent)], rules=[rules.at_most(1, "pay")])
    rebuilt = Blueprint.from_json(ensemble.to_blueprint().to_json()).build()
    assert isinstance(rebuilt, Ensemble)
    assert rebuilt.rules == ensemble.rules


async def test_mistakes_are_errors_with_suggestions() -> None:
    with pytest.raises(EnsembleDefinitionError, match=r"rules\[0\].*no tool or task 'pai'; did you mean 'pay'"):
        await office([], rules.never("pai")).check(context=over())
    with pytest.raises(EnsembleDefinitionError, match=r"nothing is called 'chek'; did you mean 'check'"):
        await office([], rules.never("pay", when="chek.score < 7")).check(context=over())
    with pytest.raises(EnsembleDefinitionError, match=r"rules\[0\].*is not a rule"):
        Ensemble("Office", [note("pay", [])], rules=["never"])  # type: ignore[list-item]
