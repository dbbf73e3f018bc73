"""Every Runnable draws itself and those inside it, as Mermaid and in a notebook."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    AgentNetwork,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    PlannedAgent,
    Platform,
    RouterAgent,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    handoff,
    planned_agent,
    tool,
)
from tactician.agents import BaseRunnable
from tactician.agents.flows import repeat_until, scatter_gather, simple_agent
from tactician.planning import Action, AStarPlanner, Goal, WorldState
from tactician.runs import RunContext
from tactician.testing import ScriptedModel


@tool
def search(text: str) -> str:
    """Search the web."""
    return text


class Report(BaseModel):
    text: str


@planned_agent(description="writes reports")
class Reporter:
    @achieves_goal("a report is written")
    @action
    def write(self, user_input: UserInput) -> Report:
        return Report(text=user_input.content)


ann, bob, cleo = Agent("Ann", tools=[search]), Agent("Bob"), Agent("Cleo")
DRAWN: dict[str, tuple[BaseRunnable[object], set[str]]] = {
    "agent with a handoff and an agent as a tool": (
        Agent("Boss", tools=[search, bob.as_tool()], handoffs=[handoff(cleo)]),
        {"Boss", "tools: search", "Bob", "Cleo", "handoff"},
    ),
    "router": (RouterAgent("Desk", routes={"bills": ann}, fallback=bob), {"Desk", "bills", "Ann", "fallback", "Bob"}),
    "supervisor": (SupervisorAgent("Chief", workers={"finds": ann}), {"Chief", "Ann", "worker"}),
    "parallel": (ParallelAgents("All", [ann, bob]), {"All", "Ann", "Bob"}),
    "first": (ParallelAgents("All", [ann, bob]).as_first_of(), {"Ann", "Bob"}),
    "synthesis": (ParallelAgents("All", [ann]).as_synthesis(cleo), {"Ann", "Cleo", "synthesizer"}),
    "network": (AgentNetwork("Talk", [ann, bob], synthesizer=cleo), {"Talk", "Ann", "Bob", "Cleo", "synthesizer"}),
    "hierarchy": (
        HierarchicalAgents(executive=cleo, departments={"sales": Department(manager=ann, workers=[bob])}),
        {"Cleo_Hierarchy", "Cleo_Executive", "Bob"},
    ),
    "flows": (
        scatter_gather(str, [simple_agent(str, ann), repeat_until(str, bob, lambda text: True)], cleo, name="Flow"),
        {"Flow", "Ann", "Bob", "Cleo", "consolidator", "until"},
    ),
    "typed": (ann.with_output_type(int), {"Ann"}),
}


@pytest.mark.parametrize(("runnable", "texts"), DRAWN.values(), ids=DRAWN)
def test_a_composition_is_drawn_with_all_inside_it(runnable: BaseRunnable[object], texts: set[str]) -> None:
    chart = runnable.to_mermaid()
    assert [text for text in texts if text not in chart] == []


def test_what_is_shared_is_drawn_once_and_a_circle_ends() -> None:
    first = Agent("First", handoffs=[handoff(bob)])
    second = ParallelAgents("Second", [first, bob, bob])
    chart = second.to_mermaid()
    assert chart.count('["Bob<br/>Agent"]') == 1
    assert chart.count("-->") == 4


def test_a_planned_agent_draws_its_actions() -> None:
    reporter = Reporter()
    assert 'action_write[["write"]]' in PlannedAgent(reporter).to_mermaid()
    assert "text/vnd.mermaid" in reporter._repr_mimebundle_()  # type: ignore[attr-defined]  # @planned_agent adds it


async def test_notebooks_show_agents_processes_plans_and_results() -> None:
    assert "<svg" in ann._repr_mimebundle_()["text/html"]
    result = await ann.run("What is <b>this</b>?", context=RunContext.over(ScriptedModel("An answer.")))
    shown = result._repr_html_()
    assert "An answer." in shown
    assert "&lt;b&gt;this" in shown
    process = await Platform(models=ScriptedModel()).start(Reporter(), "Lynda")
    card = process._repr_mimebundle_()["text/html"]
    assert "completed" in card
    assert "ran 1" in card


def test_a_plan_draws_its_steps() -> None:
    boil, steep = Action("boil", effects={"hot": True}), Action("steep", pre={"hot": True}, effects={"tea": True})
    plan = AStarPlanner().plan(WorldState({"hot": False, "tea": False}), [boil, steep], Goal("drink", {"tea": True}))
    assert plan is not None
    bundle = plan._repr_mimebundle_()
    assert [line.strip() for line in bundle["text/vnd.mermaid"].splitlines() if "-->" in line] == [
        "step_0 --> step_1",
        "step_1 --> goal",
    ]
    assert "optimal" in bundle["text/html"]
