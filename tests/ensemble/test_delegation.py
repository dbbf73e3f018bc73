"""Delegations between peers and by managers: requests, responses, guards, policies, depth and durability."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Budget,
    Delegation,
    Ensemble,
    HierarchicalConstraints,
    RunContext,
    RunStatus,
    Task,
    Workflow,
    approve,
    tool,
)
from tactician.ensemble import (
    DelegationCompleted,
    DelegationContext,
    DelegationDecision,
    DelegationFailed,
    DelegationRequest,
    DelegationStarted,
    EnsembleDefinitionError,
    EnsembleResult,
    TaskFailedError,
    TaskInput,
)
from tactician.ensemble.values.delegation import DelegationPriority, DelegationStatus, allow, modify, reject
from tactician.errors import ConfigurationError, DeclarationError
from tactician.events import Event
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, Text
from tactician.runs import RunStarted
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.ensemble.support import durable, over, prompt_of, says, script_of
from tests.support.stored import JsonStore


class Report(BaseModel):
    title: str


def delegate(role: str, task: str = "Do it", **more: object) -> ToolCall:
    """A call of an agent that delegates."""
    return ToolCall("delegate_task", role=role, task=task, **more)


def analyst(*steps: Step, role: str = "Analyst") -> Agent:
    """An agent that may delegate, with a script."""
    return Agent(role=role, allow_delegation=True, model=ScriptedModel(*steps))


def peers(*members: Agent[object], delegation: Delegation | None = None) -> Ensemble:
    """An ensemble whose first member does the task, and may delegate to the others."""
    return Ensemble("Office", [Task("Report", agent=members[0])], agents=members, delegation=delegation)


async def answers_of(ensemble: Ensemble, context: RunContext | None = None) -> list[str]:
    """The results of the delegations that the agent of the first task is told."""
    await ensemble.run(context=context or over())
    agent = ensemble.tasks[0].agent
    assert isinstance(agent, Agent)
    return [message.text for message in script_of(agent).calls[-1].messages if message.role == "tool"]


def delegations_heard(heard: Sequence[Event]) -> list[tuple[str, str, str]]:
    """The events of delegations: their types, and who delegated to whom."""
    kinds = DelegationStarted | DelegationCompleted | DelegationFailed
    return [(event.type, event.delegator, event.role) for event in heard if isinstance(event, kinds)]


class TestRequestsAndResponses:
    def test_a_request_is_immutable_and_has_the_defaults_of_the_domain_model(self) -> None:
        request = DelegationRequest("Writer", "Write")
        assert (request.scope, request.metadata, request.expected_output) == ({}, {}, "")
        assert (request.priority, request.output_type, request.max_output_retries) == ("normal", None, 0)
        with pytest.raises(FrozenInstanceError):
            request.role = "Editor"  # type: ignore[misc]
        with pytest.raises(TypeError):
            request.scope["region"] = "EU"  # type: ignore[index]

    def test_the_id_of_a_request_is_made_and_differs_between_requests(self) -> None:
        first, second = DelegationRequest("A", "a"), DelegationRequest("A", "a")
        assert first.id
        assert first.id != second.id
        assert replace(first, role="B").id == first.id

    def test_the_number_of_output_retries_must_not_be_negative(self) -> None:
        with pytest.raises(DeclarationError, match="max_output_retries must be >= 0, got: -1"):
            DelegationRequest("A", "a", max_output_retries=-1)

    def test_the_priorities_are_low_normal_high_and_critical(self) -> None:
        assert [*DelegationPriority] == ["low", "normal", "high", "critical"]
        assert [*DelegationStatus] == ["success", "failure", "partial"]

    async def test_a_response_is_produced_after_each_attempt_and_correlates_with_its_request(self) -> None:
        seen: list[DelegationRequest] = []

        def note(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            seen.append(request)
            return allow()

        ensemble = peers(
            analyst(delegate("Writer"), delegate("Nobody"), "done"),
            says("Writer", "text"),
            delegation=Delegation(policies=[note]),
        )
        heard: list[Event] = []
        result = await ensemble.run(context=over(listener=heard.append))
        written, blocked = result.delegations
        assert (written.status, written.role, written.raw, written.parsed) == ("success", "Writer", "text", None)
        assert (written.errors, written.id) == ((), seen[0].id)
        assert (blocked.status, blocked.role, blocked.raw) == ("failure", "Nobody", None)
        assert "there is no worker 'Nobody'" in blocked.errors[0]
        started = [event.delegation_id for event in heard if isinstance(event, DelegationStarted)]
        assert started == [written.id, blocked.id]

    async def test_the_errors_of_a_failed_worker_are_in_the_response_and_told(self) -> None:
        ensemble = peers(analyst(delegate("Writer"), "done"), says("Writer", LookupError("no ink")))
        result = await ensemble.run(context=over())
        (failed,) = result.delegations
        assert (failed.status, failed.errors, failed.raw) == (DelegationStatus.FAILURE, ("LookupError: no ink",), None)
        assert "no ink" in prompt_of_tools(ensemble)

    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            (
                ModelResponse(AssistantMessage((Text("half a"),)), finish_reason="length"),
                "half a\n\n[The output of Writer",
            ),
            ("", "[The output of Writer may be incomplete.]"),
        ],
    )
    async def test_partial_is_an_output_that_may_be_incomplete(self, answer: Step, told: str) -> None:
        ensemble = peers(analyst(delegate("Writer"), "done"), says("Writer", answer))
        result = await ensemble.run(context=over())
        assert result.delegations[0].status is DelegationStatus.PARTIAL
        assert prompt_of_tools(ensemble).startswith(told)

    async def test_the_artifacts_of_an_ensemble_are_the_outputs_of_its_tasks(self) -> None:
        inner = Ensemble("Press", [Task("Draft", agent=says("A", "a draft")), Task("Print", agent=says("B", "a book"))])
        lead = analyst(delegate("Press"), "done")
        result = await Ensemble("E", [Task("Go", agent=lead)], agents=[lead, inner]).run(context=over())
        assert result.delegations[0].artifacts == {"Draft": "a draft", "Print": "a book"}
        assert result.delegations[0].raw == "a book"

    async def test_the_metadata_of_a_request_is_that_of_the_response(self) -> None:
        def label(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            return modify(replace(request, metadata={"ticket": 7}))

        ensemble = peers(
            analyst(delegate("Writer"), "done"), says("Writer", "text"), delegation=Delegation(policies=[label])
        )
        assert (await ensemble.run(context=durable())).delegations[0].metadata == {"ticket": 7}


def prompt_of_tools(ensemble: Ensemble) -> str:
    """What the agent of the first task is told by its tools."""
    agent = ensemble.tasks[0].agent
    assert isinstance(agent, Agent)
    return "\n".join(one.text for one in script_of(agent).calls[-1].messages if one.role == "tool")


class TestPeers:
    async def test_an_agent_with_allow_delegation_gives_tasks_to_the_other_agents(self) -> None:
        writer = says("Writer", "a text")
        ensemble = peers(analyst(delegate("Writer", "Write", expected_output="Two lines"), "done"), writer)
        result = await ensemble.run(context=over())
        assert (result.raw, [output.role for output in result.task_outputs]) == ("done", ["Analyst"])
        assert prompt_of(script_of(writer)) == "## Task\n\nWrite\n\n## Expected Output\n\nTwo lines"

    async def test_its_tool_lists_the_others_and_other_agents_do_not_have_it(self) -> None:
        lead, writer = (
            analyst(delegate("Writer"), "done"),
            Agent(role="Writer", goal="Write well", model=ScriptedModel("t")),
        )
        await peers(lead, writer).run(context=over())
        (spec,) = script_of(lead).calls[0].tools
        assert spec.name == "delegate_task"
        assert spec.description == "Give a task to a worker, and get its output. Workers:\n- Writer: Write well"
        assert script_of(writer).calls[0].tools == ()

    async def test_without_agents_the_peers_are_those_of_the_tasks_and_those_made_for_tasks(self) -> None:
        lead = analyst(delegate("Editor"), delegate("Writer"), "done")
        tasks = [Task("Report", agent=lead), Task("Edit", agent=says("Editor", "e", "edited")), Task("Write")]
        result = await Ensemble("E", tasks, model=ScriptedModel("w", "w")).run(context=over())
        assert [(one.role, one.status) for one in result.delegations] == [("Editor", "success"), ("Writer", "success")]

    async def test_an_agent_without_others_has_no_tool(self) -> None:
        lead = analyst("done")
        await Ensemble("E", [Task("Report", agent=lead)]).run(context=over())
        assert script_of(lead).calls[0].tools == ()

    async def test_without_allow_delegation_an_agent_cannot_delegate(self) -> None:
        assert Agent(role="A").spec.allow_delegation is False
        lead = says("Analyst", delegate("Writer"), "done")
        (told,) = await answers_of(peers(lead, says("Writer")))
        assert "There is no tool 'delegate_task'" in told

    async def test_two_agents_of_one_role_are_a_mistake_when_somebody_delegates(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match="2 workers have the role 'Writer'"):
            await peers(analyst(), says("Writer"), says("Writer")).run(context=over())

    async def test_a_worker_of_a_hierarchy_delegates_too_and_that_does_not_count_for_the_manager(self) -> None:
        limits = HierarchicalConstraints(max_delegations=1, required_workers={"Analyst"})
        manager = ScriptedModel(delegate("Analyst"), "done")
        ensemble = Ensemble(
            "Firm",
            [Task("Report")],
            workflow=Workflow.HIERARCHICAL,
            agents=[analyst(delegate("Writer"), delegate("Writer"), "analysed"), says("Writer", "w1", "w2")],
            model=manager,
            constraints=limits,
        )
        result = await ensemble.run(context=over())
        assert [(output.task_id, output.raw) for output in result.task_outputs] == [
            ("Analyst", "analysed"),
            ("Report", "done"),
        ]
        assert [one.role for one in result.delegations] == ["Analyst", "Writer", "Writer"]

    async def test_a_manager_among_the_agents_is_no_worker(self) -> None:
        boss = says("Boss", delegate("Boss"), delegate("Writer"), "done")
        ensemble = Ensemble(
            "Firm", [Task("Go")], workflow=Workflow.HIERARCHICAL, agents=[boss, says("Writer", "text")], manager=boss
        )
        result = await ensemble.run(context=over())
        assert [(one.role, one.status) for one in result.delegations] == [("Boss", "failure"), ("Writer", "success")]

    async def test_a_worker_with_the_role_of_the_manager_is_a_mistake(self) -> None:
        ensemble = Ensemble(
            "Firm", [Task("Go")], workflow=Workflow.HIERARCHICAL, agents=[says("Boss")], manager=says("Boss")
        )
        with pytest.raises(EnsembleDefinitionError, match="a worker has its role 'Boss' too"):
            await ensemble.check(context=over())


class TestScopeAndPriority:
    async def test_the_scope_and_the_priority_are_in_the_prompt_of_the_worker(self) -> None:
        writer = says("Writer", "text")
        call = delegate("Writer", "Write", scope={"region": "EU", "years": [2024, 2025]}, priority="high")
        heard: list[Event] = []
        await peers(analyst(call, "done"), writer).run(context=over(listener=heard.append))
        expected = "## Priority\n\nhigh\n\n## Scope\n\n- region: EU\n- years: [2024,2025]\n\n## Task\n\nWrite"
        assert prompt_of(script_of(writer)) == expected
        assert [event.priority for event in heard if isinstance(event, DelegationStarted)] == ["high"]

    async def test_a_handler_reads_the_scope_as_values(self) -> None:
        seen: list[TaskInput] = []

        def count(task: TaskInput) -> str:
            seen.append(task)
            return "7"

        task = Task("Count", id="count", handler=count)
        model = ScriptedModel(delegate("count", "Count it", scope={"limit": 3}), "done")
        await Ensemble("E", [task, Task("Go")], workflow=Workflow.HIERARCHICAL, model=model).run(context=over())
        assert (seen[0].description, seen[0].values) == ("Count it", {"limit": "3"})

    async def test_arguments_that_do_not_fit_are_told_and_are_no_delegation(self) -> None:
        ensemble = peers(analyst(delegate("Writer", priority="huge"), "done"), says("Writer"))
        result = await ensemble.run(context=over())
        assert result.delegations == ()
        assert "priority" in prompt_of_tools(ensemble)


class TestGuards:
    async def test_blank_arguments_come_before_depth_self_and_an_unknown_role(self) -> None:
        calls = (delegate(" ", "x"), delegate("Analyst", " "), delegate("Nobody", " "))
        told = await answers_of(peers(analyst(list(calls), "done"), says("Writer")))
        assert told == ["Not delegated: the role and the task must not be blank."] * 3

    async def test_depth_comes_before_self_and_an_unknown_role(self) -> None:
        inner = analyst(delegate("Helper"), delegate("Nobody"), "inner done", role="Helper")
        lead = analyst(delegate("Helper"), "done")
        await peers(lead, inner, delegation=Delegation(max_depth=1)).run(context=over())
        told = [message.text for message in script_of(inner).calls[-1].messages if message.role == "tool"]
        limit = "Not delegated: delegations are nested 1 deep, which is the limit: do the task yourself."
        assert told == [limit] * 2

    async def test_an_agent_cannot_delegate_to_itself(self) -> None:
        told = await answers_of(peers(analyst(delegate("Analyst"), "done"), says("Writer")))
        assert told == ["Not delegated: you cannot delegate to yourself."]

    async def test_an_unknown_role_comes_before_the_policies(self) -> None:
        asked: list[str] = []

        def note(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            asked.append(request.role)
            return allow()

        told = await answers_of(
            peers(analyst(delegate("Riter"), "done"), says("Writer"), delegation=Delegation(policies=[note]))
        )
        assert told == ["Not delegated: there is no worker 'Riter'. Did you mean 'Writer'? Workers: 'Writer'."]
        assert asked == []

    async def test_constraints_come_before_the_policies(self) -> None:
        limits = HierarchicalConstraints(allowed_workers={"Writer"})
        ensemble = Ensemble(
            "Firm",
            [Task("Go")],
            workflow=Workflow.HIERARCHICAL,
            agents=[says("Writer", "text"), says("Editor")],
            model=ScriptedModel(delegate("Editor"), "done"),
            constraints=limits,
            delegation=Delegation(policies=[lambda request, context: reject("no")]),
        )
        (blocked,) = (await ensemble.run(context=over())).delegations
        assert "not one of the allowed workers" in blocked.errors[0]

    async def test_a_blocked_delegation_has_its_started_and_failed_event_and_a_text_to_act_on(self) -> None:
        heard: list[Event] = []
        ensemble = peers(analyst(delegate("Nobody"), "done"), says("Writer"))
        result = await ensemble.run(context=over(listener=heard.append))
        assert delegations_heard(heard) == [
            ("DelegationStarted", "Analyst", "Nobody"),
            ("DelegationFailed", "Analyst", "Nobody"),
        ]
        assert result.delegations[0].status is DelegationStatus.FAILURE
        assert prompt_of_tools(ensemble) == "Not delegated: there is no worker 'Nobody'. Workers: 'Writer'."

    async def test_two_calls_at_once_do_not_pass_a_cap_of_one(self) -> None:
        async def wait(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            await asyncio.sleep(0)
            return allow()

        ensemble = Ensemble(
            "Firm",
            [Task("Go")],
            workflow=Workflow.HIERARCHICAL,
            agents=[says("Writer", "text", "text")],
            model=ScriptedModel([delegate("Writer", "a"), delegate("Writer", "b")], "done"),
            constraints=HierarchicalConstraints(max_calls_per_worker={"Writer": 1}),
            delegation=Delegation(policies=[wait]),
        )
        result = await ensemble.run(context=over())
        assert sorted(one.status for one in result.delegations) == ["failure", "success"]


class TestPolicies:
    async def test_a_policy_sees_the_request_and_the_situation(self) -> None:
        seen: list[tuple[DelegationRequest, DelegationContext]] = []

        def note(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            seen.append((request, context))
            return allow()

        ensemble = peers(
            analyst(delegate("Writer", "Write", scope={"a": 1}), "done"),
            says("Writer", "text"),
            delegation=Delegation(max_depth=2, policies=[note]),
        )
        await ensemble.run(context=over())
        ((request, context),) = seen
        assert (request.role, request.task, request.scope) == ("Writer", "Write", {"a": 1})
        assert context == DelegationContext("Analyst", 0, 2, ("Analyst", "Writer"))

    async def test_reject_short_circuits_and_its_reason_is_told(self) -> None:
        asked: list[str] = []

        def refuse(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            asked.append("first")
            return reject("not on Sundays")

        def note(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            asked.append("second")
            return allow()

        writer = says("Writer", "text")
        ensemble = peers(analyst(delegate("Writer"), "done"), writer, delegation=Delegation(policies=[refuse, note]))
        result = await ensemble.run(context=over())
        assert (asked, script_of(writer).calls) == (["first"], [])
        assert result.delegations[0].errors == ("not on Sundays",)
        assert prompt_of_tools(ensemble) == "Not delegated: not on Sundays."

    async def test_modify_replaces_the_request_for_the_next_policies_and_for_the_worker(self) -> None:
        seen: list[str] = []

        def polish(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            return modify(replace(request, role="Editor", task=f"{request.task} politely"))

        def note(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            seen.append(request.task)
            return allow()

        editor = says("Editor", "edited")
        ensemble = peers(
            analyst(delegate("Writer", "Write"), "done"),
            says("Writer"),
            editor,
            delegation=Delegation(policies=[polish, note]),
        )
        result = await ensemble.run(context=over())
        assert seen == ["Write politely"]
        assert prompt_of(script_of(editor)) == "## Task\n\nWrite politely"
        assert (result.delegations[0].role, result.delegations[0].raw) == ("Editor", "edited")

    async def test_a_new_request_keeps_the_id_of_the_first_one(self) -> None:
        def swap(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            ids.append(request.id)
            return modify(DelegationRequest("Writer", "Another task"))

        ids: list[str] = []
        ensemble = peers(
            analyst(delegate("Writer"), "done"), says("Writer", "text"), delegation=Delegation(policies=[swap])
        )
        assert [one.id for one in (await ensemble.run(context=over())).delegations] == ids

    @pytest.mark.parametrize(
        ("role", "told"),
        [
            ("Analyst", "you cannot delegate to yourself"),
            ("Nobody", "there is no worker 'Nobody'"),
            (" ", "the role and the task must not be blank"),
        ],
    )
    async def test_after_modify_the_role_is_resolved_and_guarded_again(self, role: str, told: str) -> None:
        def swap(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            return modify(replace(request, role=role))

        ensemble = peers(analyst(delegate("Writer"), "done"), says("Writer"), delegation=Delegation(policies=[swap]))
        result = await ensemble.run(context=over())
        assert result.delegations[0].status is DelegationStatus.FAILURE
        assert told in prompt_of_tools(ensemble)

    async def test_after_modify_the_constraints_are_checked_again(self) -> None:
        ensemble = Ensemble(
            "Firm",
            [Task("Go")],
            workflow=Workflow.HIERARCHICAL,
            agents=[says("Writer", "text"), says("Editor")],
            model=ScriptedModel(delegate("Writer"), "done"),
            constraints=HierarchicalConstraints(allowed_workers={"Writer"}),
            delegation=Delegation(policies=[lambda request, context: modify(replace(request, role="Editor"))]),
        )
        (blocked,) = (await ensemble.run(context=over())).delegations
        assert (blocked.role, blocked.status) == ("Editor", "failure")

    async def test_policies_decide_on_the_delegations_of_a_manager_too(self) -> None:
        ensemble = Ensemble(
            "Firm",
            [Task("Go")],
            workflow=Workflow.HIERARCHICAL,
            agents=[says("Writer")],
            model=ScriptedModel(delegate("Writer"), "done"),
            delegation=Delegation(policies=[lambda request, context: reject("no budget")]),
        )
        assert (await ensemble.run(context=over())).delegations[0].errors == ("no budget",)

    async def test_a_policy_that_fails_refuses(self) -> None:
        def fail(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            raise LookupError("no list")

        writer = says("Writer")
        ensemble = peers(analyst(delegate("Writer"), "done"), writer, delegation=Delegation(policies=[fail]))
        result = await ensemble.run(context=over())
        assert result.delegations[0].errors == ("the policy 'fail' failed: LookupError: no list",)
        assert script_of(writer).calls == []

    async def test_a_policy_that_does_not_decide_is_an_error_of_the_program(self) -> None:
        def forget(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            return None  # type: ignore[return-value]

        ensemble = peers(analyst(delegate("Writer"), "done"), says("Writer"), delegation=Delegation(policies=[forget]))
        with pytest.raises(TaskFailedError, match=r"the delegation policy 'forget' returned None: return allow\(\)"):
            await ensemble.run(context=over())

    async def test_a_policy_that_modifies_to_something_else_fails_the_run(self) -> None:
        ensemble = peers(
            analyst(delegate("Writer"), "done"),
            says("Writer"),
            delegation=Delegation(policies=[lambda request, context: modify("Editor")]),  # type: ignore[arg-type]
        )
        with pytest.raises(TaskFailedError, match=r"the delegation policy .* returned .*'Editor'"):
            await ensemble.run(context=over())

    def test_mistakes_in_the_settings_are_told_at_once(self) -> None:
        with pytest.raises(DeclarationError) as caught:
            Delegation(max_depth=0, policies=["no"], output_types=[Report, Report])  # type: ignore[list-item]
        assert caught.value.problems == (
            "max_depth must be > 0, got: 0",
            "policies[0]: 'no' is not a function",
            "output_types[1]: two output types have the name 'Report'",
        )


class TestOrderOfTheGuards:
    async def test_blank_arguments_come_before_the_depth_and_that_before_the_agent_itself_and_unknown_roles(
        self,
    ) -> None:
        calls = [delegate("", "Do it"), delegate("Helper"), delegate("Nobody"), delegate("Lead", " ")]
        helper = analyst(*calls, "helped", role="Helper")
        lead = analyst(delegate("Helper"), "done", role="Lead")
        await peers(lead, helper, delegation=Delegation(max_depth=1)).run(context=over())
        told = [message.text for message in script_of(helper).calls[-1].messages if message.role == "tool"]
        blank, deep = "must not be blank", "delegations are nested 1 deep"
        assert [next(reason for reason in (blank, deep) if reason in text) for text in told] == [
            blank, deep, deep, blank
        ]  # fmt: skip

    async def test_policies_are_not_asked_about_what_a_guard_refuses(self) -> None:
        asked: list[str] = []

        def policy(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            asked.append(request.role)
            return allow()

        calls = [delegate(""), delegate("Lead"), delegate("Nobody"), delegate("Helper")]
        lead = analyst(*calls, "done", role="Lead")
        await peers(lead, says("Helper", "help"), delegation=Delegation(policies=[policy])).run(context=over())
        assert asked == ["Helper"]


class TestDepth:
    async def test_the_default_depth_is_three_across_nested_delegations(self) -> None:
        chain = [analyst(delegate(f"A{number + 1}"), f"a{number}", role=f"A{number}") for number in range(5)]
        result = await peers(*chain).run(context=over())
        assert [(one.role, one.status) for one in result.delegations] == [
            ("A1", "success"),
            ("A2", "success"),
            ("A3", "success"),
            ("A4", "failure"),
        ]

    async def test_events_tell_the_depth(self) -> None:
        heard: list[Event] = []
        chain = [analyst(delegate(f"A{number + 1}"), "done", role=f"A{number}") for number in range(3)]
        await peers(*chain).run(context=over(listener=heard.append))
        started = [(event.delegator, event.depth) for event in heard if isinstance(event, DelegationStarted)]
        assert started == [("A0", 1), ("A1", 2), ("A2", 3)]

    async def test_a_nested_ensemble_continues_the_depth_of_the_one_around_it(self) -> None:
        inner_lead = analyst(delegate("Helper"), "inner", role="Inner")
        inner = peers(inner_lead, says("Helper", "help"), delegation=Delegation(max_depth=5))
        lead = analyst(delegate("Office"), "done")
        outer = Ensemble("Outer", [Task("Go", agent=lead)], agents=[lead, inner], delegation=Delegation(max_depth=1))
        result = await outer.run(context=over())
        assert [(one.role, one.status) for one in result.delegations] == [("Office", "success")]
        assert "delegations are nested 1 deep" in prompt_of_tools(inner)

    async def test_an_ensemble_that_is_a_task_begins_at_the_depth_around_it(self) -> None:
        inner = peers(analyst(delegate("Helper"), "inner"), says("Helper", "help"), delegation=Delegation(max_depth=1))
        result = await Ensemble("Outer", [Task("Go", agent=inner)]).run(context=over())
        assert (result.raw, prompt_of_tools(inner)) == ("inner", "help")


class TestOutputTypes:
    async def test_a_delegation_asks_for_one_of_the_declared_output_types(self) -> None:
        lead, writer = analyst(delegate("Writer", output_type="Report"), "done"), says("Writer", Report(title="AI"))
        result = await peers(lead, writer, delegation=Delegation(output_types=[Report])).run(context=over())
        assert result.delegations[0].parsed == Report(title="AI")
        (spec,) = script_of(lead).calls[0].tools
        properties = spec.parameters["properties"]
        assert isinstance(properties, dict)
        assert properties["output_type"]["enum"] == ["Report"]
        assert "## Output Format" in prompt_of(script_of(writer))

    async def test_an_unknown_output_type_is_told(self) -> None:
        ensemble = peers(analyst(delegate("Writer", output_type="Poem"), "done"), says("Writer"))
        (told,) = await answers_of(ensemble)
        assert told == "Not delegated: there is no output type 'Poem'. Output types: none."

    async def test_an_unknown_output_type_is_a_blocked_attempt_with_events_and_a_response(self) -> None:
        asked: list[DelegationRequest] = []
        heard: list[Event] = []

        def policy(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            asked.append(request)
            return allow()

        lead = analyst(delegate("Writer", output_type="Poem"), "done")
        ensemble = peers(lead, says("Writer"), delegation=Delegation(policies=[policy]))
        result = await ensemble.run(context=over(listener=heard.append))
        assert [response.errors for response in result.delegations] == [
            ("there is no output type 'Poem'. Output types: none",)
        ]
        assert [kind for kind, _, _ in delegations_heard(heard)] == ["DelegationStarted", "DelegationFailed"]
        assert asked == []

    @pytest.mark.parametrize(("retries", "status"), [(0, "failure"), (1, "success")])
    async def test_the_retries_of_a_delegation_are_attempts_at_a_valid_output(self, retries: int, status: str) -> None:
        def want_report(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            return modify(replace(request, output_type=Report, max_output_retries=retries))

        ensemble = peers(
            analyst(delegate("Writer"), "done"),
            says("Writer", "no report", Report(title="AI")),
            delegation=Delegation(policies=[want_report]),
        )
        assert (await ensemble.run(context=over())).delegations[0].status == status

    async def test_the_output_of_a_handler_is_validated_as_the_output_type(self) -> None:
        task = Task("Count", id="count", handler=lambda task: {"title": "AI"})
        model = ScriptedModel(delegate("count", output_type="Report"), "done")
        ensemble = Ensemble(
            "E", [task], workflow=Workflow.HIERARCHICAL, model=model, delegation=Delegation(output_types=[Report])
        )
        assert (await ensemble.run(context=over())).delegations[0].parsed == Report(title="AI")

    async def test_a_worker_with_another_output_type_of_its_own_refuses(self) -> None:
        writer = Agent(role="Writer", output_type=Report, model=ScriptedModel())
        office = peers(
            analyst(delegate("Writer", output_type="int"), "done"), writer, delegation=Delegation(output_types=[int])
        )
        (told,) = await answers_of(office)
        assert told == "Not delegated: 'Writer' answers with an output type of its own: leave out the output type."

    async def test_a_saved_run_needs_the_output_types_of_policies_declared(self) -> None:
        def want_report(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            return modify(replace(request, output_type=Report))

        settings = Delegation(policies=[want_report])
        with pytest.raises(TaskFailedError, match="its output type Report cannot be stored") as caught:
            await peers(analyst(delegate("Writer")), says("Writer"), delegation=settings).run(context=durable())
        assert isinstance(caught.value.__cause__, ConfigurationError)
        declared = replace(settings, output_types=[Report])
        members = analyst(delegate("Writer"), "done"), says("Writer", Report(title="AI"))
        result = await peers(*members, delegation=declared).run(context=durable())
        assert result.delegations[0].parsed == Report(title="AI")


class TestRuns:
    async def test_a_delegated_run_is_a_child_of_the_run_that_delegates(self) -> None:
        heard: list[Event] = []
        await peers(analyst(delegate("Writer"), "done"), says("Writer", "text")).run(
            context=over(listener=heard.append)
        )
        runs = {event.path: event for event in heard if isinstance(event, RunStarted)}
        assert list(runs) == [("Office",), ("Office", "Analyst"), ("Office", "Analyst", "Writer")]
        delegated = runs["Office", "Analyst", "Writer"]
        assert delegated.parent_id == runs["Office", "Analyst"].run_id

    async def test_its_usage_is_counted(self) -> None:
        result = await peers(analyst(delegate("Writer"), "done"), says("Writer", "text")).run(context=over())
        assert result.usage.requests == 3
        assert result.task_outputs[0].usage.requests == 3

    async def test_the_budget_of_the_ensemble_limits_it(self) -> None:
        writer = says("Writer", "text")
        office = peers(analyst(delegate("Writer"), "done"), writer)
        with pytest.raises(TaskFailedError, match="the budget of 1 turn is used up") as caught:
            await office.run(context=over(), budget=Budget(turns=1))
        assert script_of(writer).calls == []
        result = caught.value.result
        assert isinstance(result, EnsembleResult)
        assert [one.status for one in result.delegations] == [DelegationStatus.FAILURE]

    async def test_runs_at_once_do_not_mix_their_delegations(self) -> None:
        async def run(number: int) -> EnsembleResult:
            model = ScriptedModel()
            model.when(prompt_contains=f"No. {number}").reply(f"text {number}")
            lead = analyst(delegate("Writer", f"No. {number}"), "done")
            return await peers(lead, Agent(role="Writer", model=model)).run(context=over())

        results = await asyncio.gather(*map(run, range(20)))
        assert [one.delegations[0].raw for one in results] == [f"text {number}" for number in range(20)]


class CallsThenText(ScriptedModel):
    """Model that answers with tool calls first, and with text once their results are there, in any process."""

    def __init__(self, first: Step, last: str) -> None:
        super().__init__()
        self._answers = first, last

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the calls, or the text."""
        self.script(self._answers[request.messages[-1].role == "tool"])
        return await super().generate(request)


class TestDurability:
    def office(self, runs: list[str]) -> Ensemble:
        """An analyst that delegates to a writer and to a payer, which needs an approval."""

        @tool(needs_approval=True)
        def pay(amount: int) -> str:
            """Pay."""
            return f"paid {amount}"

        @tool
        def write() -> str:
            """Write."""
            runs.append("write")
            return "written"

        def note(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
            runs.append(f"policy {request.role}")
            return modify(replace(request, metadata={"seen": True}))

        calls = [delegate("Writer", scope={"a": 1}), delegate("Payer", priority="critical"), delegate("Nobody")]
        lead = Agent(role="Analyst", allow_delegation=True, model=self.model(calls, "done"))
        writer = Agent(role="Writer", tools=[write], model=self.model(ToolCall("write"), "text"))
        payer = Agent(role="Payer", tools=[pay], model=self.model(ToolCall("pay", amount=7), "Paid."))
        return peers(lead, writer, payer, delegation=Delegation(policies=[note]))

    def model(self, first: Step, last: str) -> ScriptedModel:
        """A model that answers with tool calls first, and with text once their results are there."""
        return CallsThenText(first, last)

    @pytest.mark.parametrize("is_elsewhere", [False, True])
    async def test_a_worker_that_waits_suspends_the_run_and_no_completed_delegation_runs_again(
        self, is_elsewhere: bool
    ) -> None:
        runs: list[str] = []
        heard: list[Event] = []
        store = JsonStore()
        context = RunContext.over(ScriptedModel(), heard.append, store=store)
        ensemble = self.office(runs)
        waiting = await ensemble.run(context=context)
        assert waiting.status is RunStatus.WAITING
        if is_elsewhere:
            ensemble, context = self.office(runs), RunContext.over(ScriptedModel(), heard.append, store=store)
        result = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert runs == ["policy Writer", "policy Payer", "write"]
        assert [(one.role, one.status, one.raw) for one in result.delegations] == [
            ("Writer", "success", "text"),
            ("Payer", "success", "Paid."),
            ("Nobody", "failure", None),
        ]
        assert [one.metadata for one in result.delegations] == [{"seen": True}, {"seen": True}, {}]
        kinds = [kind for kind, _, role in delegations_heard(heard) if role == "Payer"]
        assert kinds == ["DelegationStarted", "DelegationCompleted"]
