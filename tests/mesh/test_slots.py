"""A task on another machine stands in every slot of a Runnable, and its blueprint comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import pytest

from tactician import (
    Agent,
    AgentNetwork,
    Blueprint,
    Department,
    Ensemble,
    HierarchicalAgents,
    MemoryStore,
    ParallelAgents,
    Platform,
    RouterAgent,
    SupervisorAgent,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    runnable,
    tool,
)
from tactician.agents import BaseRunnable
from tactician.agents.planned.specs import as_runnable
from tactician.errors import BlueprintError
from tactician.llm import CircuitBreakerPolicy
from tactician.mesh import Mesh, Node, Priority, Retries, sticky
from tactician.testing import ScriptedModel, ToolCall

MEAL = "Wagyu, ready"
ORDER = ToolCall("prepare_meal", request="Wagyu")


async def prepare_meal(order: str) -> str:
    """Prepare a meal."""
    return f"{order.split()[-1]}, ready"


@tool
def check_inventory(item: str) -> dict[str, int]:
    """Return how much of an item there is."""
    return {item: 40}


@pytest.fixture
async def mesh(request: pytest.FixtureRequest) -> AsyncIterator[Mesh]:
    async with Mesh(f"memory://{request.node.name}") as mesh:
        kitchen = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore()), mesh)
        kitchen.offer(runnable(prepare_meal), name="prepare-meal")
        kitchen.offer(check_inventory, tags={"stock"})
        async with kitchen:
            yield mesh


@dataclass
class Meal:
    text: str


def plan(meal: BaseRunnable[object]) -> BaseRunnable[object]:
    @planned_agent(name="Waiter", description="Serves")
    class Waiter:
        @achieves_goal("served")
        @action
        async def order(self, wish: UserInput) -> Meal:
            return Meal(str((await meal.run(wish.content)).output))

    return cast("BaseRunnable[object]", as_runnable(Waiter()))


Script = Callable[..., ScriptedModel | str]
Slot = Callable[[BaseRunnable[object], Script], BaseRunnable[Any]]
INVOKE = ToolCall("invoke_prepare_meal", request="Wagyu")
SLOTS: dict[str, Slot] = {
    "alone": lambda meal, script: meal,
    "tool": lambda meal, script: Agent("Waiter", model=script(ORDER, MEAL), tools=[meal]),
    "route": lambda meal, script: RouterAgent("Desk", model=script("1"), routes={"meals": meal}),
    "worker": lambda meal, script: SupervisorAgent("Head", model=script(INVOKE, MEAL), workers={"cooks": meal}),
    "agent of a task": lambda meal, script: Ensemble("Dinner", [Task("Wagyu", agent=meal)]),
    "handoff": lambda meal, script: Agent("Desk", model=script(ToolCall("transfer_to_prepare_meal")), handoffs=[meal]),
    "member of a panel": lambda meal, script: ParallelAgents("Panel", [meal, meal]).as_first_of(),
    "peer": lambda meal, script: AgentNetwork("Debate", [Agent("B", model=script("hm")), meal], max_rounds=1),
    "department": lambda meal, script: HierarchicalAgents(
        executive=Agent("CEO", model=script(ToolCall("invoke_chef_supervisor", request="Wagyu"), MEAL)),
        departments={"Food": Department(Agent("Chef", model=script(INVOKE, MEAL)), [meal])},
    ),
    "step of a plan": lambda meal, script: plan(meal),
    "typed": lambda meal, script: meal.with_output_type(str),
}


@pytest.mark.parametrize("slot", SLOTS.values(), ids=SLOTS.keys())
async def test_a_task_of_a_mesh_stands_in_every_slot(slot: Slot, mesh: Mesh) -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore())

    result = await platform.run(slot(mesh.task("prepare-meal", on="kitchen"), ScriptedModel), "Wagyu")

    assert "ready" in (result.output.text if isinstance(result.output, Meal) else str(result.output))


@pytest.mark.parametrize("slot", [name for name in SLOTS if name not in ("step of a plan", "typed")])
def test_a_task_of_a_mesh_is_a_node_of_a_blueprint(slot: str) -> None:
    meal = Mesh("nats://broker:4222").task("prepare-meal", on="kitchen")
    text = SLOTS[slot](meal, lambda *_: "gpt-5").to_blueprint().to_yaml()

    assert "type: mesh_task" in text
    assert Blueprint.from_yaml(text).build(hosts=["broker"]).to_blueprint().to_yaml() == text


async def test_a_blueprint_keeps_the_options_of_a_task_and_runs(mesh: Mesh) -> None:
    options: dict[str, object] = {"priority": Priority.HIGH, "wait": timedelta(minutes=5), "late": "partial"}
    options |= {"retries": Retries(1), "breaker": CircuitBreakerPolicy(window=30), "choose": sticky("guest")}
    options |= {"fallback": mesh.task("other"), "fallback_on": "any", "max_age": timedelta(hours=1), "share": {"user"}}
    task = mesh.task("prepare-meal", on="kitchen", description="Cooks.", **options)

    built = Blueprint.from_json(task.to_blueprint().to_json()).build(hosts=[mesh.url.partition("//")[2]])
    async with Platform(ScriptedModel(), store=MemoryStore()) as platform:
        result = await platform.run(built, "Wagyu")

    assert (built.description, result.output) == ("Cooks.", MEAL)
    assert built.to_blueprint() == task.to_blueprint()


async def test_a_blueprint_without_an_address_uses_the_mesh_of_the_platform(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
type: agent
name: Waiter
model: gpt-5
instructions: ""
maxTurns: 10
builtInTools:
- {tool: mesh_tools, tags: [stock]}
agentTools:
- {name: prepare_meal, description: Cooks, target: {type: mesh_task, capability: prepare-meal}}
"""
    platform = Platform(ScriptedModel(ORDER, ToolCall("check_inventory", item="beer"), MEAL), store=MemoryStore())
    waiter = Blueprint.from_yaml(text).build()
    async with platform, Node("desk", platform, mesh):
        result = await platform.run(waiter, "Wagyu, please")
    assert [message.text for message in result.messages if message.role == "tool"] == [MEAL, '{"beer":40}']

    monkeypatch.setenv("TACTICIAN_MESH", mesh.url)
    async with Platform(ScriptedModel(ORDER, ToolCall("check_inventory", item="beer"), MEAL)) as other:
        assert (await other.run(waiter, "Wagyu, please")).output == MEAL


def test_an_address_of_a_blueprint_needs_permission_and_has_no_secret() -> None:
    with pytest.raises(BlueprintError, match="the host broker is not allowed"):
        Blueprint.from_yaml("{type: mesh_task, capability: x, url: 'nats://broker:4222'}").build()
    with pytest.raises(BlueprintError, match="secret"):
        Mesh("memory://user:hunter2hunter2@broker").task("x").to_blueprint()
