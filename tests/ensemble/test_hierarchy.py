"""Hierarchies: a manager, its workers, and the constraints on whom it delegates to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest
from pydantic import BaseModel

from tactician import Agent, Ensemble, HierarchicalConstraints, RunContext, RunStatus, Task, Workflow, approve, tool
from tactician.config import Settings
from tactician.ensemble import (
    ConstraintViolationError,
    DelegationCompleted,
    DelegationFailed,
    DelegationStarted,
    EnsembleDefinitionError,
    EnsembleResult,
    TaskFailedError,
)
from tactician.events import Event
from tactician.llm import ModelCatalog
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tactician.tools import Tool
from tests.ensemble.support import durable, over, prompt_of, says, script_of, system_of


class Report(BaseModel):
    title: str


def delegate(role: str, task: str = "Do it", **more: str) -> ToolCall:
    """A call of the manager."""
    return ToolCall("delegate_task", role=role, task=task, **more)


def firm(
    *steps: Step,
    constraints: HierarchicalConstraints | None = None,
    workers: Sequence[Agent] | None = None,
    task: Task | None = None,
) -> tuple[Ensemble, ScriptedModel]:
    """A firm with a researcher and a writer, and the script of its manager."""
    manager = ScriptedModel(*steps)
    agents = [says("Researcher", *["facts"] * 5), says("Writer", *["text"] * 5)] if workers is None else workers
    tasks = [task or Task("Report on {topic}", expected_output="A report")]
    hierarchy = Workflow.HIERARCHICAL
    return Ensemble("Firm", tasks, workflow=hierarchy, agents=agents, model=manager, constraints=constraints), manager


async def refusals_of(*steps: Step, constraints: HierarchicalConstraints) -> list[str]:
    """What the manager is told about delegations that are refused."""
    ensemble, manager = firm(*steps, "done", constraints=constraints)
    await ensemble.run({"topic": "AI"}, context=over())
    results = [message.text for message in manager.calls[-1].messages if message.role == "tool"]
    return [text.removeprefix("Not delegated: ") for text in results if text.startswith("Not delegated: ")]


class TestManager:
    async def test_a_manager_agent_delegates_tasks_to_worker_agents(self) -> None:
        ensemble, _manager = firm(
            delegate("Researcher", "Find out", expected_output="Five"), delegate("Writer"), "done"
        )
        result = await ensemble.run({"topic": "AI"}, context=over())
        assert (result.raw, result.total_tool_calls) == ("done", 2)
        assert [(output.task_id, output.role, output.raw) for output in result.task_outputs] == [
            ("Researcher", "Researcher", "facts"),
            ("Writer", "Writer", "text"),
            ("Report on {topic}", "Manager", "done"),
        ]
        assert isinstance(ensemble.agents, tuple)
        assert isinstance(ensemble.agents[0], Agent)
        assert prompt_of(script_of(ensemble.agents[0])) == "## Task\n\nFind out\n\n## Expected Output\n\nFive"

    async def test_the_worker_list_is_in_its_background_and_the_tasks_in_the_user_prompt(self) -> None:
        ensemble, manager = firm("done")
        await ensemble.run({"topic": "AI"}, context=over())
        system = system_of(manager)
        assert system.startswith("You are Manager.\nThese work for you")
        assert "- Writer: Writer\n" in system
        assert prompt_of(manager) == "## Tasks\n\n1. Report on AI\n   Expected output: A report"

    async def test_a_manager_that_is_given_leads_with_its_own_model_and_instructions(self) -> None:
        model = ScriptedModel(delegate("Writer"), "done")
        boss = Agent("Boss", instructions="Be kind.", model=model)
        writer = says("Writer", "text")
        tasks = [Task("Write", agent=writer)]
        result = await Ensemble("Firm", tasks, workflow=Workflow.HIERARCHICAL, manager=boss).run(context=over())
        assert [output.role for output in result.task_outputs] == ["Writer", "Boss"]
        assert system_of(model) == "Be kind."
        assert prompt_of(model) == "## Workers\n\n- Writer: Writer\n\n## Tasks\n\n1. Write\n   Meant for: Writer"

    async def test_its_answer_has_the_output_type_of_the_last_task(self) -> None:
        ensemble, _ = firm(Report(title="AI"), task=Task("Report", output_type=Report))
        assert (await ensemble.run(context=over())).output == Report(title="AI")

    async def test_handlers_run_as_workers(self) -> None:
        model = ScriptedModel(delegate("count", "a b c"), "done")
        task = Task("Count words", id="count", handler=lambda task: len(task.description.split()))
        ensemble = Ensemble("Firm", [task, Task("Report")], workflow=Workflow.HIERARCHICAL, model=model)
        result = await ensemble.run(context=over())
        assert result.task_outputs[0].parsed == 3
        assert "- count: does this task: Count words" in system_of(model)

    async def test_the_failure_of_a_worker_is_told_to_the_manager(self) -> None:
        ensemble, manager = firm(delegate("Writer"), "done", workers=[says("Writer", LookupError("no ink"))])
        result = await ensemble.run({"topic": "AI"}, context=over())
        assert "no ink" in manager.calls[1].prompt
        assert [output.role for output in result.task_outputs] == ["Manager"]

    async def test_the_failure_of_a_manager_carries_the_outputs_of_its_workers(self) -> None:
        ensemble, _ = firm(delegate("Writer"), delegate("Writer"), LookupError("gone"))
        with pytest.raises(TaskFailedError, match="the manager failed after 2 delegations") as caught:
            await ensemble.run({"topic": "AI"}, context=over())
        assert list(caught.value.completed) == ["Writer", "Writer#2"]

    @pytest.mark.parametrize("make", [over, durable])
    async def test_a_completed_delegation_does_not_run_again_after_a_suspension(self, make: object) -> None:
        @tool(needs_approval=True)
        def pay(amount: int) -> str:
            """Pay."""
            return f"paid {amount}"

        payer = Agent(role="Payer", model=ScriptedModel(ToolCall("pay", amount=7), "Paid."), tools=[pay])
        limits = HierarchicalConstraints(max_calls_per_worker={"Payer": 1, "Writer": 1}, stages=[["Writer"], ["Payer"]])
        steps = (delegate("Writer"), delegate("Payer"), "done")
        ensemble, _ = firm(*steps, workers=[says("Writer", "text"), payer], constraints=limits)
        assert callable(make)
        context = make()
        waiting = await ensemble.run({"topic": "AI"}, context=context)
        assert isinstance(waiting, EnsembleResult)
        assert waiting.status is RunStatus.WAITING
        result = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert [output.raw for output in result.task_outputs] == ["text", "Paid.", "done"]


class TestRuntimeEnforcement:
    async def test_delegation_to_a_worker_not_in_allowed_workers_is_blocked(self) -> None:
        limits = HierarchicalConstraints(allowed_workers={"Writer"})
        refused = await refusals_of(delegate("Researcher"), delegate("Writer"), constraints=limits)
        assert refused == ["'Researcher' is not one of the allowed workers: 'Writer'."]

    async def test_once_the_global_limit_is_reached_every_delegation_is_blocked(self) -> None:
        limits = HierarchicalConstraints(max_delegations=2)
        steps = (delegate("Researcher"), delegate("Writer"), delegate("Writer", "more"), delegate("Researcher", "more"))
        assert await refusals_of(*steps, constraints=limits) == [
            "the limit of 2 delegations is used up: answer with what you have."
        ] * 2  # fmt: skip

    async def test_a_limit_of_zero_delegations_means_unlimited(self) -> None:
        steps = [delegate("Writer", f"{number}") for number in range(5)]
        assert await refusals_of(*steps, constraints=HierarchicalConstraints(max_delegations=0)) == []

    async def test_attempts_beyond_the_cap_of_a_worker_are_blocked_and_others_are_uncapped(self) -> None:
        limits = HierarchicalConstraints(max_calls_per_worker={"Writer": 1})
        steps = (delegate("Writer"), delegate("Writer", "more"), delegate("Researcher"), delegate("Researcher", "more"))
        refused = await refusals_of(*steps, constraints=limits)
        assert refused == ["the limit of 1 delegation to 'Writer' is used up: use its answers, or ask another worker."]

    async def test_a_later_stage_is_blocked_before_all_agents_of_the_earlier_ones_have_completed(self) -> None:
        limits = HierarchicalConstraints(stages=[["Researcher"], ["Writer"]])
        steps = (delegate("Writer"), delegate("Researcher"), delegate("Writer", "now"))
        refused = await refusals_of(*steps, constraints=limits)
        assert refused == ["'Writer' is in a later stage: delegate to 'Researcher' first."]

    async def test_caps_count_attempts_that_were_allowed_and_stages_count_completions(self) -> None:
        limits = HierarchicalConstraints(max_calls_per_worker={"Researcher": 1}, stages=[["Researcher"], ["Writer"]])
        workers = [says("Researcher", LookupError("no")), says("Writer", "text")]
        steps = (delegate("Researcher"), delegate("Researcher", "again"), delegate("Writer"), "done")
        ensemble, manager = firm(*steps, constraints=limits, workers=workers)
        await ensemble.run({"topic": "AI"}, context=over())
        told = [message.text for message in manager.calls[-1].messages if message.role == "tool"]
        assert "the limit of 1 delegation to" in told[1]
        assert "'Writer' is in a later stage" in told[2]

    async def test_required_workers_are_verified_after_execution_completes(self) -> None:
        limits = HierarchicalConstraints(required_workers={"Researcher", "Writer"})
        ensemble, _ = firm(delegate("Writer"), "done", constraints=limits)
        with pytest.raises(ConstraintViolationError) as caught:
            await ensemble.run({"topic": "AI"}, context=over())
        assert caught.value.violations == ("the required worker 'Researcher' has completed no delegation",)
        assert [output.raw for output in caught.value.completed.values()] == ["text"]
        assert caught.value.skipped.keys() == {"Researcher"}

    async def test_required_workers_that_were_delegated_to_satisfy_the_constraint(self) -> None:
        limits = HierarchicalConstraints(required_workers={"Writer"})
        ensemble, _ = firm(delegate("Writer"), "done", constraints=limits)
        assert (await ensemble.run({"topic": "AI"}, context=over())).raw == "done"

    @pytest.mark.parametrize(
        ("role", "task", "told"),
        [
            (" ", "Do it", "must not be blank"),
            ("Writer", " ", "must not be blank"),
            ("Manager", "Do it", "you cannot delegate to yourself"),
            ("Riter", "Do it", "there is no worker 'Riter'. Did you mean 'Writer'? Workers: 'Researcher', 'Writer'"),
        ],
    )
    async def test_a_delegation_that_makes_no_sense_is_blocked_with_a_text_to_act_on(
        self, role: str, task: str, told: str
    ) -> None:
        (refused,) = await refusals_of(delegate(role, task), constraints=HierarchicalConstraints())
        assert told in refused

    async def test_the_constraints_are_checked_in_their_order(self) -> None:
        limits = HierarchicalConstraints(
            allowed_workers={"Researcher", "Writer"},
            max_delegations=1,
            max_calls_per_worker={"Researcher": 1},
            stages=[["Writer"], ["Researcher"]],
        )
        workers = [says("Researcher"), says("Writer", LookupError("no ink")), says("Editor")]
        steps = [delegate("Writer"), delegate("Editor"), delegate("Researcher"), delegate("Nobody"), "done"]
        ensemble, manager = firm(*steps, constraints=limits, workers=workers)
        await ensemble.run({"topic": "AI"}, context=over())
        told = [message.text for message in manager.calls[-1].messages if message.role == "tool"][1:]
        reasons = [
            "is not one of the allowed workers",
            "the limit of 1 delegation is used up",
            "there is no worker 'Nobody'",
        ]
        assert [reason in text for reason, text in zip(reasons, told, strict=True)] == [True, True, True]

    async def test_the_cap_of_a_worker_is_checked_before_the_stages(self) -> None:
        limits = HierarchicalConstraints(max_calls_per_worker={"Writer": 1}, stages=[["Writer"], ["Researcher"]])
        workers = [says("Researcher"), says("Writer", LookupError("no ink"))]
        steps = [delegate("Writer"), delegate("Writer"), delegate("Researcher"), "done"]
        ensemble, manager = firm(*steps, constraints=limits, workers=workers)
        await ensemble.run({"topic": "AI"}, context=over())
        told = [message.text for message in manager.calls[-1].messages if message.role == "tool"][1:]
        assert "the limit of 1 delegation to 'Writer' is used up" in told[0]
        assert "'Researcher' is in a later stage" in told[1]

    async def test_each_delegation_has_events_and_a_blocked_one_too(self) -> None:
        heard: list[Event] = []
        ensemble, _ = firm(delegate("Writer"), delegate("Nobody"), "done")
        await ensemble.run({"topic": "AI"}, context=over(listener=heard.append))
        own = [one for one in heard if isinstance(one, DelegationStarted | DelegationCompleted | DelegationFailed)]
        assert [(event.type, event.role) for event in own] == [
            ("DelegationStarted", "Writer"), ("DelegationCompleted", "Writer"),
            ("DelegationStarted", "Nobody"), ("DelegationFailed", "Nobody"),
        ]  # fmt: skip
        assert own[0].delegation_id == own[1].delegation_id != own[2].delegation_id == own[3].delegation_id
        assert "no worker 'Nobody'" in own[3].describe()

    async def test_constraints_are_ignored_for_all_other_workflows(self) -> None:
        limits = HierarchicalConstraints(required_workers={"Nobody"}, max_delegations=-1)
        result = await Ensemble("E", [Task("Go", agent=says("A", "a"))], constraints=limits).run(context=over())
        assert result.raw == "a"


class TestCrossValidation:
    @pytest.mark.parametrize(
        ("limits", "message"),
        [
            ({"allowed_workers": ["X"]}, "constraints.allowed_workers: it references unknown agent 'X'"),
            (
                {"allowed_workers": ["Writer"], "required_workers": ["Researcher"]},
                "constraints.required_workers: it contains 'Researcher', which is not in allowed_workers",
            ),
            ({"required_workers": ["X"]}, "constraints.required_workers: it references unknown agent 'X'"),
            ({"max_calls_per_worker": {"X": 1}}, "constraints.max_calls_per_worker: it references unknown agent 'X'"),
            (
                {"max_calls_per_worker": {"Writer": 0}},
                "constraints.max_calls_per_worker['Writer']: it must be > 0, got: 0",
            ),
            ({"max_delegations": -1}, "constraints.max_delegations: it must be >= 0, got: -1"),
            (
                {"required_workers": "Writer"},
                "constraints.required_workers: it is a list of roles: write required_workers={'Writer'}",
            ),
            ({"allowed_workers": "Writer"}, "constraints.allowed_workers: it is a list of roles"),
            ({"stages": ["Researcher", "Writer"]}, "constraints.stages[1]: it is a list of roles: write ['Writer']"),
            ({"stages": [["X"]]}, "constraints.stages: it references unknown agent 'X'"),
            (
                {"stages": [["Writer"], ["Researcher", "Writer"]]},
                "constraints.stages: the role 'Writer' is in multiple stages",
            ),
        ],
    )
    async def test_all_fields_are_validated_before_execution_begins(
        self, limits: Mapping[str, object], message: str
    ) -> None:
        ensemble, manager = firm(constraints=HierarchicalConstraints(**limits))  # type: ignore[arg-type]
        with pytest.raises(EnsembleDefinitionError, match=re.escape(message)):
            await ensemble.run({"topic": "AI"}, context=over())
        assert manager.calls == []

    async def test_two_workers_of_one_role_are_a_mistake(self) -> None:
        ensemble, _ = firm(workers=[says("Writer"), says("Writer")])
        with pytest.raises(EnsembleDefinitionError, match="2 workers have the role 'Writer'"):
            await ensemble.check({"topic": "AI"}, context=over())

    def test_a_manager_of_another_workflow_is_a_mistake(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match="only the hierarchical workflow has a manager"):
            Ensemble("E", [Task("Go")], manager=says("Boss"))


class TestSettingsOfWorkers:
    """A worker uses its own model and tools first, then those of its task, then those of the ensemble."""

    @staticmethod
    def secret(name: str) -> Tool:
        """Return a tool with a name."""
        return tool(name=name)(lambda: "42")

    @pytest.mark.parametrize("is_given", [True, False])
    async def test_the_model_and_the_tools_of_a_task_are_those_of_its_worker(self, is_given: bool) -> None:
        working, manager = ScriptedModel("text"), ScriptedModel(delegate("Writer"), "done")
        agent = Agent(role="Writer") if is_given else None
        task = Task("Write a text", agent=agent, model=working, tools=[self.secret("own")], max_tool_calls=1)
        tools = [self.secret("common")]
        ensemble = Ensemble("Firm", [task], workflow=Workflow.HIERARCHICAL, model=manager, tools=tools)
        result = await ensemble.run(context=over())
        assert [output.raw for output in result.task_outputs] == ["text", "done"]
        assert sorted(spec.name for spec in working.calls[0].tools) == ["common", "own"]

    async def test_tasks_whose_agents_are_made_alike_have_the_same_worker(self) -> None:
        working = ScriptedModel("text")
        tasks = [Task("Write a", tools=[self.secret("a")], model=working), Task("Draft b", tools=[self.secret("b")])]
        manager = ScriptedModel(delegate("Writer"), "done")
        await Ensemble("Firm", tasks, workflow=Workflow.HIERARCHICAL, model=manager).run(context=over())
        assert sorted(spec.name for spec in working.calls[0].tools) == ["a", "b"]

    async def test_agents_that_are_made_with_the_same_role_and_other_goals_are_a_mistake(self) -> None:
        tasks = [Task("Write a", goal="Be short"), Task("Write b", goal="Be long")]
        with pytest.raises(EnsembleDefinitionError, match="2 workers have the role 'Writer'"):
            await Ensemble("Firm", tasks, workflow=Workflow.HIERARCHICAL).check(context=over())

    async def test_settings_of_an_agent_that_nobody_makes_are_a_mistake(self) -> None:
        task = Task("Write", role="Poet", tools=[self.secret("own")])
        ensemble, _ = firm("done", task=task)
        with pytest.raises(EnsembleDefinitionError, match="name the agent of the task") as caught:
            await ensemble.check(context=over())
        assert [problem.path for problem in caught.value.problems] == ["tasks[0].role", "tasks[0].tools"]

    async def test_the_model_of_a_worker_that_is_an_ensemble_is_that_of_its_task(self) -> None:
        working, manager = ScriptedModel("text"), ScriptedModel(delegate("Desk"), "done")
        task = Task("Write", agent=Ensemble("Desk", [Task("Draft {input}")]), model=working)
        ensemble = Ensemble("Firm", [task], workflow=Workflow.HIERARCHICAL, model=manager)
        assert (await ensemble.run(context=over())).raw == "done"
        assert len(working.calls) == 1

    async def test_a_manager_has_as_many_attempts_at_its_answer_as_the_last_task_says(self) -> None:
        answers = ["no", "not yet", Report(title="AI")]
        for retries, is_enough in ((2, True), (1, False)):
            ensemble, _ = firm(*answers, task=Task("Report", output_type=Report, max_output_retries=retries))
            if is_enough:
                assert (await ensemble.run(context=over())).output == Report(title="AI")
            else:
                with pytest.raises(TaskFailedError, match="in 2 attempts"):
                    await ensemble.run(context=over())


class TestModels:
    """Models that nobody serves are found before a manager is asked."""

    @staticmethod
    async def find_places(ensemble: Ensemble) -> list[str]:
        """Return the places of the mistakes that a check finds with the models of nobody."""
        with pytest.raises(EnsembleDefinitionError) as caught:
            await ensemble.check(context=RunContext.over(ModelCatalog(Settings(), {})))
        return [problem.path for problem in caught.value.problems]

    async def test_the_models_of_the_manager_and_of_all_workers_are_checked(self) -> None:
        idle = Agent(role="Idle", model="nobody:nothing")
        inner = Ensemble("Inner", [Task("a", model="nobody:nothing")])
        boss = Agent(role="Boss", model="nobody:nothing")
        task = Task("Report", agent=says("Writer"))
        agents = [boss, task.agent, idle, inner]
        ensemble = Ensemble("Firm", [task], agents=agents, manager=boss, workflow=Workflow.HIERARCHICAL)
        assert await self.find_places(ensemble) == ["manager.model", "agents[2].model", "agents[3].tasks[0].model"]

    async def test_the_models_of_peers_are_checked(self) -> None:
        lead = Agent(role="Lead", model=ScriptedModel(), allow_delegation=True)
        agents = [lead, Agent(role="Idle", model="nobody:nothing")]
        assert await self.find_places(Ensemble("Firm", [Task("Go", agent=lead)], agents=agents)) == ["agents[1].model"]
