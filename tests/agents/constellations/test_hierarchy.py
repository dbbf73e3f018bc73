"""`HierarchicalAgents`."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tactician import Agent, Budget, Department, HierarchicalAgents, LlmOptions, SupervisorAgent, guardrails, handoff
from tactician.errors import AgentNotFoundError, DeclarationError
from tactician.guardrails import GuardrailError, GuardrailResult
from tactician.loop import TurnStarted
from tactician.runs import BudgetError, RunCompleted, RunContext, TurnLimitError
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.agents.constellations.support import prompts_of, says, script_of, surroundings, system_of, told

TO_ENGINEERING = ToolCall("invoke_vp_engineering_supervisor", request="build it")
TO_BACKEND = ToolCall("invoke_backend", request="build the server")


def budgeted(x: int) -> int:
    """Looks up the budget."""
    return x


class Firm:
    """A firm of two departments."""

    def __init__(self, boss: tuple[Step, ...] = (), vp: tuple[Step, ...] = (), max_turns: int = 10) -> None:
        self.backend = Agent("Backend", model=ScriptedModel("a server"), description="Builds servers")
        self.vp = says("VP Engineering", *vp, tools=[budgeted], instructions="Engineer.")
        self.cmo, self.writer = says("CMO", "a campaign", instructions="Sell."), says("Writer", "an ad")
        self.ceo = says("CEO", *boss, instructions="Lead.")
        departments = {
            "Engineering": Department(self.vp, [self.backend]),
            "Marketing": Department(self.cmo, [self.writer]),
        }
        self.hierarchy = HierarchicalAgents(executive=self.ceo, departments=departments, max_turns=max_turns)


async def test_the_executive_lets_managers_work_and_they_let_workers_work() -> None:
    firm = Firm((TO_ENGINEERING, "we have a server"), (TO_BACKEND, "built"))
    result = await firm.hierarchy.run("We need a server", context=surroundings())
    assert result.output == "we have a server"
    assert "We need a server" in prompts_of(firm.ceo)[0]
    assert prompts_of(firm.vp)[0] == "build it"
    assert prompts_of(firm.backend) == ["build the server"]
    assert result.usage.requests == 5


async def test_each_has_its_name() -> None:
    firm = Firm((TO_ENGINEERING, "we have a server"), (TO_BACKEND, "built"))
    events = [event async for event in firm.hierarchy.stream("We need a server", context=surroundings())]
    root = ("CEO_Hierarchy", "CEO_Executive")
    manager = (*root, "VP Engineering_Supervisor")
    assert told(events, TurnStarted) == [root, manager, (*manager, "Backend"), manager, root]
    assert isinstance(last := events[-1], RunCompleted)
    assert last.result.output == "we have a server"


async def test_the_executive_knows_the_departments_and_the_manager_the_workers() -> None:
    firm = Firm((TO_ENGINEERING, "done"), ("built",))
    await firm.hierarchy.run("x", context=surroundings())
    assert system_of(firm.ceo).startswith("Lead.\n\n")
    assert "- invoke_vp_engineering_supervisor: Engineering: Engineer." in system_of(firm.ceo)
    assert "- invoke_cmo_supervisor: Marketing: Sell." in system_of(firm.ceo)
    assert system_of(firm.vp).startswith("Engineer.\n\n")
    assert "- invoke_backend: Builds servers" in system_of(firm.vp)


async def test_managers_keep_their_own_tools() -> None:
    firm = Firm()
    assert [tool.name for tool in firm.hierarchy.find_manager("Engineering").tools] == ["budgeted", "invoke_backend"]
    assert [tool.name for tool in firm.vp.tools] == ["budgeted"]


class Plan(BaseModel):
    steps: int


@guardrails.input_guardrail("no_secrets")
def no_secrets(text: str, context: RunContext) -> GuardrailResult:
    return guardrails.failed("secret") if "secret" in text else guardrails.passed()


async def test_managers_keep_their_guardrails_options_handoffs_and_output_type() -> None:
    model = ScriptedModel(Plan(steps=2))
    vp = Agent(
        "VP",
        model=LlmOptions(temperature=0.3),
        input_guardrails=[no_secrets],
        handoffs=[handoff(says("Lawyer"))],
        output_type=Plan,
        max_attempts=1,
    )
    departments = {"Engineering": Department(manager=vp, workers=[says("Dev")])}
    firm = HierarchicalAgents(executive=says("CEO"), departments=departments)
    result = await firm.send_to_department("Engineering", "plan", context=RunContext.over(model))
    assert result.output == Plan(steps=2)
    assert model.calls[0].options.temperature == 0.3
    assert [spec.name for spec in model.calls[0].tools] == ["invoke_dev", "transfer_to_lawyer"]
    with pytest.raises(GuardrailError, match="secret"):
        await firm.send_to_department("Engineering", "a secret", context=RunContext.over(model))


async def test_a_supervisor_can_manage_or_lead() -> None:
    lead = SupervisorAgent("Lead", model=ScriptedModel("led"), workers={"Writes": says("Writer")})
    firm = HierarchicalAgents(executive=lead, departments={"Dev": Department(lead, [says("Coder")])})
    assert [tool.name for tool in firm.find_manager("Dev").tools] == ["invoke_writer", "invoke_coder"]
    assert (await firm.run("x", context=surroundings())).output == "led"


async def test_the_turns_of_the_hierarchy_hold_for_all() -> None:
    firm = Firm((TO_ENGINEERING, TO_ENGINEERING, TO_ENGINEERING, TO_ENGINEERING), ("built", "built"), max_turns=1)
    with pytest.raises(TurnLimitError, match="CEO_Executive: no answer within 1 turn"):
        await firm.hierarchy.run("x", context=surroundings())
    with pytest.raises(TurnLimitError, match="VP Engineering_Supervisor: no answer within 1 turn"):
        await Firm(vp=(TO_BACKEND,) * 4, max_turns=1).hierarchy.send_to_department(
            "Engineering", "x", context=surroundings()
        )


async def test_a_department_can_be_sent_to() -> None:
    firm = Firm()
    result = await firm.hierarchy.send_to_department("Marketing", "sell it", context=surroundings())
    assert result.output == "a campaign"
    assert script_of(firm.ceo).calls == []


async def test_an_unknown_department_is_an_error_that_names_them() -> None:
    with pytest.raises(
        AgentNotFoundError, match=r"no department 'Enginering'. Did you mean 'Engineering'\? .*Engineering, Marketing"
    ):
        await Firm().hierarchy.send_to_department("Enginering", "x", context=surroundings())
    with pytest.raises(AgentNotFoundError, match=r"'Law'. Departments: Engineering, Marketing"):
        Firm().hierarchy.find_manager("Law")


async def test_all_share_the_budget() -> None:
    firm = Firm((TO_ENGINEERING, "done"), (TO_BACKEND, "built"))
    with pytest.raises(BudgetError):
        await firm.hierarchy.run("x", context=surroundings(), budget=Budget(turns=2))
    with pytest.raises(BudgetError):
        await Firm().hierarchy.send_to_department("Marketing", "x", context=surroundings(), budget=Budget(turns=0))


async def test_the_executives_output_type_is_that_of_the_hierarchy() -> None:
    ceo = Agent("CEO", model=ScriptedModel(Plan(steps=3)), output_type=Plan)
    firm = HierarchicalAgents(executive=ceo, departments={"Dev": Department(says("VP"), [says("Coder")])}, name="Firm")
    result = await firm.run("x", context=surroundings())
    assert result.output.steps == 3
    assert (firm.name, repr(firm)) == ("Firm", "HierarchicalAgents('Firm')")


def test_departments_and_workers_are_needed() -> None:
    with pytest.raises(DeclarationError, match="at least one department"):
        HierarchicalAgents(executive=says("CEO"), departments={})
    with pytest.raises(DeclarationError, match="department 'Dev' has no workers"):
        HierarchicalAgents(executive=says("CEO"), departments={"Dev": Department(says("VP"), [])})


def test_two_managers_of_the_same_name_are_an_error() -> None:
    departments = {"A": Department(says("VP"), [says("X")]), "B": Department(says("VP"), [says("Y")])}
    with pytest.raises(DeclarationError, match="'invoke_vp_supervisor' is used twice"):
        HierarchicalAgents(executive=says("CEO"), departments=departments)
