"""What a file offers: agents, but not those that are part of another one; components, whose actions serve all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import Done, tactician, written

TEAM = """
from tactician import {names}
from tactician.testing import ScriptedModel

orders = Agent("Orders", description="Answers about orders")
bugs = Agent("Bugs", description="Answers about bugs")
{team}

def script():
    return ScriptedModel(*["hello"] * 9)
"""
TEAMS = {
    "ensemble": (
        "Agent, Ensemble, Task",
        'Ensemble("Team", [Task("Add", agent=orders), Task("Check", agent=bugs)])',
    ),
    "handoffs": ("Agent", 'Agent("Team", handoffs=[orders, bugs])'),
    "nested": (
        "Agent, ParallelAgents, RouterAgent",
        'RouterAgent("Team", routes={"all": ParallelAgents("Both", [orders, bugs])})',
    ),
    "parallel": ("Agent, ParallelAgents", 'ParallelAgents("Team", [orders, bugs])'),
    "router": ("Agent, RouterAgent", 'RouterAgent("Team", routes={"orders": orders}, fallback=bugs)'),
    "supervisor": ("Agent, SupervisorAgent", 'SupervisorAgent("Team", workers={"orders": orders, "bugs": bugs})'),
    "tools": ("Agent", 'Agent("Team", tools=[orders.as_tool(), bugs.as_tool()])'),
}
PLACES = """
from dataclasses import dataclass
from tactician import (
    Planned, OperationContext, UserInput, UserMessage, achieves_goal, action, component, planned_agent
)

@dataclass
class Place:
    name: str

@dataclass
class Report:
    text: str

@component
class Maps:
    '''Finds places.'''

    @action
    def find(self, said: UserInput) -> Place:
        return Place(said.content)
"""
GREETER_AND_CLERK = """
from tactician import Agent, UserInput, achieves_goal, action, planned_agent

clerk = Agent("Clerk")

@planned_agent(description="Greets")
class Greeter:
    @achieves_goal("greeted")
    @action
    def greet(self, said: UserInput) -> str:
        return said.content
"""
READER_AND_BILLER = """
from dataclasses import dataclass
from tactician import UserInput, achieves_goal, action, planned_agent

@dataclass
class Order:
    number: int

@dataclass
class Bill:
    total: int

@planned_agent(description="Reads orders")
class Reader:
    @achieves_goal("read")
    @action
    def read(self, said: UserInput) -> Order:
        return Order(int(said.content))

@planned_agent(description="Writes bills")
class Biller:
    @achieves_goal("billed")
    @action
    def bill(self, order: Order) -> Bill:
        return Bill(order.number * 3)
"""
WEATHER = """
@{kind}
class Weather{base}:
    '''Tells the weather.'''

    @achieves_goal(description="A report")
    @action
    def tell(self, place: Place) -> Report:
        return Report(f"sunny in {{place.name}}")
"""
AGENT = PLACES + WEATHER.format(kind='planned_agent(description="Tells the weather")', base="(Planned[Report])")
COMPONENTS = PLACES + WEATHER.format(kind="component", base="")
TALK = """
from tactician import OperationContext, UserMessage, action, component

@component
class Talk:
    '''Talks.'''

    @action(trigger=UserMessage)
    def hear(self, message: UserMessage, context: OperationContext) -> None:
        context.send(f"you said {message.text}")
"""


def team(folder: Path, kind: str) -> str:
    names, made = TEAMS[kind]
    return written(folder, TEAM.format(names=names, team=f"team = {made}"))


def offered(done: Done) -> dict[str, str]:
    """The agents in a table, with their kinds."""
    rows = [line.split("│") for line in done.out.splitlines() if line.startswith("│")]
    return {row[1].strip(): row[2].strip() for row in rows}


@pytest.mark.parametrize("kind", TEAMS)
def test_parts_of_another_agent_do_not_compete_with_it(tmp_path: Path, kind: str) -> None:
    file = team(tmp_path, kind)
    listed = offered(tactician("agents", file, env={"COLUMNS": "200"}))
    assert {name for name, kind in listed.items() if "part of another agent" in kind} == {"Orders", "Bugs"}
    assert "part of another agent" not in listed["Team"]

    run = tactician("run", file, "hi", "--scripted")
    assert "several agents" not in run.err
    assert "chosen" not in run.err


def test_a_part_runs_when_somebody_names_it(tmp_path: Path) -> None:
    file = team(tmp_path, "router")
    assert tactician("run", file, "hi", "--agent", "Orders", "--scripted").out == "hello\n"
    assert tactician("chat", file, "--agent", "Orders", "--scripted", input="hi\n").out == "hello\n"
    assert tactician("shell", file, "--scripted", input="execute -a Orders hi\n").out == "hello\n"


def test_a_part_that_the_file_registers_is_offered(tmp_path: Path) -> None:
    source = Path(team(tmp_path, "router")).read_text(encoding="utf-8")
    file = written(
        tmp_path, f"{source}\nfrom tactician import Platform\nplatform = Platform().register(team, orders)\n"
    )
    run = tactician("run", file, "hi", env={"TACTICIAN_MODEL": "local"})
    assert "several agents: Team, Orders. Choose with --agent NAME." in run.err


def test_an_agent_is_known_as_a_part_by_more_than_its_name(tmp_path: Path) -> None:
    """The task makes an agent of its own, which has the same name."""
    source = """
from tactician import Agent, Ensemble, Task
writer = Agent("Writer", description="Writes letters")
team = Ensemble("Team", [Task("Write about {topic}")])
"""
    listed = offered(tactician("agents", written(tmp_path, source)))
    assert [name for name, kind in listed.items() if "part" in kind] == []


def test_a_run_of_a_part_can_be_answered(tmp_path: Path) -> None:
    source = """
from tactician import Agent, RouterAgent, tool
from tactician.testing import ScriptedModel, ToolCall

@tool(needs_approval=True)
def pay() -> str:
    return "paid"

orders = Agent("Orders", tools=[pay], model=ScriptedModel(ToolCall("pay"), "done"))
desk = RouterAgent("Desk", routes={"orders": orders})
"""
    file, store = written(tmp_path, source), str(tmp_path / "runs.db")
    begun = tactician("run", file, "hi", "--agent", "Orders", "--store", store, "--no-input")
    assert begun.code == 3, begun.err
    [waiting] = json.loads(tactician("ps", "--json", "--store", store).out)
    answered = tactician("respond", waiting["id"], "--approve", file, "--store", store)
    assert answered.code == 3, "the model of the file begins anew, and calls the tool again"
    assert "→ paid" in answered.err, answered.err


def test_components_help_the_agent_of_their_file(tmp_path: Path) -> None:
    file = written(tmp_path, AGENT)
    run = tactician("run", file, "Rome")
    assert json.loads(run.out) == {"text": "sunny in Rome"}, run.err
    assert "chosen" not in run.err
    assert json.loads(tactician("shell", file, input="execute Rome\n").out) == {"text": "sunny in Rome"}
    assert offered(tactician("agents", file)) == {"Weather": "planned agent", "Maps": "component"}
    plan = tactician("plan", file).out
    assert "Maps.find  UserInput → Place" in plan
    assert "the plans start from UserInput\n" in plan
    assert "Place" not in tactician("plan", file, "--agent", "Maps").out.splitlines()[0]


def test_a_named_agent_without_a_plan_does_not_run_the_goal_of_another_agent(tmp_path: Path) -> None:
    rival = """
@dataclass
class Secret:
    text: str

@planned_agent(description="Reports secrets")
class Spy:
    @achieves_goal(description="A secret report")
    @action
    def reveal(self, secret: Secret) -> Report:
        return Report(secret.text)
"""
    done = tactician("run", written(tmp_path, AGENT + rival), "Rome", "--agent", "Spy")
    assert (done.code, done.out) == (1, ""), done.err
    assert "Spy" in done.err.splitlines()[0]


def test_components_alone_work_together(tmp_path: Path) -> None:
    file = written(tmp_path, COMPONENTS)
    assert json.loads(tactician("run", file, "Rome").out) == {"text": "sunny in Rome"}
    assert json.loads(tactician("shell", file, input="execute Rome\n").out) == {"text": "sunny in Rome"}
    planned = tactician("plan", file)
    assert "Maps.find" in planned.out
    assert "Weather.tell" in planned.out


def test_components_talk(tmp_path: Path) -> None:
    file = written(tmp_path, TALK)
    assert tactician("chat", file, input="hi\n\n").out == "you said hi\n"


def test_a_script_that_raises_is_told_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, "from tactician import Agent\na = Agent('A')\n\ndef script():\n    return 1 / 0\n")
    done = tactician("run", file, "hi", "--scripted")
    assert (done.code, done.out) == (2, "")
    assert "line 5: ZeroDivisionError: division by zero" in done.err
    assert "Traceback" not in done.err


def test_plan_says_which_agents_have_plans(tmp_path: Path) -> None:
    file = written(tmp_path, GREETER_AND_CLERK)
    done = tactician("plan", file, "-a", "Clerk")
    assert (done.code, done.out) == (2, "")
    assert f"Clerk is no planned agent, and has no plan. Planned agents in {file}: Greeter." in done.err
    assert (
        "has no agent 'Gretter'. Did you mean 'Greeter'? It has: Greeter."
        in tactician("plan", file, "-a", "Gretter").err
    )


def test_the_goal_of_an_assembled_agent_is_said_once(tmp_path: Path) -> None:
    done = tactician("run", written(tmp_path, READER_AND_BILLER), "7", "-a", "Biller")
    assert (done.code, done.out) == (0, '{"total":21}\n')
    assert done.err.splitlines()[0] == "Platform towards Biller.bill"
