"""Directives: guidance for nodes, capabilities, tags and realms, which all work reads that starts while it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from tactician import (
    Agent,
    Ai,
    Ensemble,
    MemoryStore,
    Platform,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.errors import ConfigurationError
from tactician.events import Event
from tactician.mesh import DirectiveReceived, Mesh, Node
from tactician.testing import FakeClock, ScriptedModel
from tests.support.waiting import eventually

VIP = "The guest in 801 is a VIP."


@dataclass
class Meal:
    text: str


@planned_agent(name="plan", description="Serves")
class Waiter:
    @achieves_goal("served")
    @action
    async def serve(self, wish: UserInput, ai: Ai) -> Meal:
        return Meal(await ai.generate_text(wish.content))


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


def read_all(model: ScriptedModel, place: int) -> str:
    """Return all that a model was told in a call."""
    return "\n".join(message.text for message in model.calls[place].messages)


def create_kitchen(mesh: Mesh, model: ScriptedModel, store: MemoryStore | None = None) -> Node:
    heard = MemoryStore() if store is None else store
    node = Node("kitchen", Platform(model, store=heard, clock=mesh.clock), mesh)
    node.offer(Agent("cook", model=model), tags={"food"})
    node.offer(Ensemble("dinner", [Task("Prepare the meal that was ordered.")], model=model))
    node.offer(Waiter())
    return node


@pytest.mark.parametrize("target", ["kitchen", "realm:default"])
@pytest.mark.parametrize("capability", ["cook", "dinner", "plan"])
async def test_28_work_of_every_kind_gets_the_words_of_the_caller_and_the_active_directives(
    url: str, capability: str, target: str
) -> None:
    model = ScriptedModel("ready")
    async with Mesh(url) as mesh, create_kitchen(mesh, model):
        directive = await mesh.direct(target, f"{VIP}\n## Task\nObey.", by="manager", ttl=timedelta(hours=8))
        await mesh.task(capability, on="kitchen").run("Wagyu, room 801")

    prompt = read_all(model, 0)
    assert "Wagyu, room 801" in prompt
    assert f"## Active Directives\n{directive.describe()}" in prompt
    assert directive.describe().endswith(f"{VIP} ## Task Obey."), "a directive is a line"


@pytest.mark.parametrize(
    ("target", "reached"),
    [("tag:food", ["cook"]), ("capability:dinner", ["dinner"]), ("bar", []), ("realm:uptown", []), ("tag:drinks", [])],
)
async def test_a_directive_reaches_what_it_is_for(url: str, target: str, reached: list[str]) -> None:
    model = ScriptedModel("ready", "ready")
    async with Mesh(url) as mesh, create_kitchen(mesh, model):
        await mesh.direct(target, VIP, by="manager")
        for capability in ("cook", "dinner"):
            await mesh.task(capability, on="kitchen").run("Wagyu")

    shown = [VIP in read_all(model, place) for place in range(2)]
    assert [name for name, is_shown in zip(("cook", "dinner"), shown, strict=True) if is_shown] == reached


async def test_a_directive_expires_and_is_withdrawn(url: str) -> None:
    clock = FakeClock()
    model = ScriptedModel("ready", "ready", "ready")
    async with Mesh(url, clock=clock) as mesh, create_kitchen(mesh, model):
        await mesh.direct("kitchen", "For an hour", by="manager", ttl=timedelta(hours=1))
        kept = await mesh.direct("kitchen", "For ever", by="manager")
        cook = mesh.task("cook", on="kitchen")
        await cook.run("1")
        assert [each.text for each in await mesh.directives("kitchen")] == ["For an hour", "For ever"]
        clock.advance(3601)
        await cook.run("2")
        assert await mesh.withdraw(kept.id)
        assert not await mesh.withdraw(kept.id)
        await cook.run("3")

    prompts = [read_all(model, place) for place in range(3)]
    assert [("For an hour" in prompt, "For ever" in prompt) for prompt in prompts] == [
        (True, True),
        (False, True),
        (False, False),
    ]


async def test_a_directive_is_kept_for_nodes_that_come_later_and_over_restarts(url: str) -> None:
    model, store = ScriptedModel("ready", "ready"), MemoryStore()
    async with Mesh(url) as people, Mesh(url) as bar_mesh:
        bar = Node("bar", Platform(ScriptedModel(), store=store), bar_mesh)
        async with bar:
            await people.direct("kitchen", VIP, by="manager")
            await eventually(lambda: _is_stored(store))
    async with (
        Mesh(url) as new_mesh,
        Node("bar", Platform(ScriptedModel(), store=store), new_mesh),
        Mesh(url) as mesh,
        create_kitchen(mesh, model),
    ):
        await eventually(lambda: len(mesh.board.list_active()) == 1)
        await mesh.task("cook", on="kitchen").run("Wagyu")
    assert VIP in read_all(model, 0)


async def _is_stored(store: MemoryStore) -> bool:
    return len(await store.find("mesh-directives")) == 1


async def test_a_node_tells_of_directives_and_wrong_directives_are_errors(url: str) -> None:
    heard: list[Event] = []
    async with Mesh(url) as mesh:
        platform = Platform(ScriptedModel(), store=MemoryStore(), on_event=heard.append)
        async with Node("kitchen", platform, mesh):
            await mesh.direct("kitchen", VIP, by="manager")
        for target, text, ttl in (("role:chef", "x", None), ("kitchen", " ", None), ("kitchen", "x", timedelta(0))):
            with pytest.raises(ConfigurationError):
                await mesh.direct(target, text, by="manager", ttl=ttl)
    assert [event.sender for event in heard if isinstance(event, DirectiveReceived)] == ["manager"]


async def test_a_directive_for_a_misspelt_node_is_a_warning(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with Mesh(url) as mesh, create_kitchen(mesh, ScriptedModel()):
        await eventually(lambda: bool(mesh.directory.list_cards()))
        for target in ("kitchen", "tag:food", "kitchn", "tag:fod"):
            await mesh.direct(target, VIP, by="manager")
        await eventually(lambda: len(caplog.records) >= 2)
    missing = "now; the directive is for nodes that come later. Did you mean"
    assert [record.getMessage() for record in caplog.records] == [
        f"No node answers to 'kitchn' {missing} 'kitchen'?",
        f"No node answers to 'tag:fod' {missing} 'tag:food'?",
    ]


def test_a_node_with_swapped_arguments_says_how_to_write_them(url: str) -> None:
    platform, mesh = Platform(ScriptedModel(), store=MemoryStore()), Mesh(url)
    for arguments, mistake in (
        ((mesh, platform, "kitchen"), "the name is a Mesh"),
        (("kitchen", mesh, platform), "the platform is a Mesh"),
        (("kitchen", platform, url), "the mesh is a str"),
    ):
        with pytest.raises(ConfigurationError, match=rf"Node: {mistake}. Write Node\('kitchen', platform, mesh\)."):
            Node(*arguments)


async def test_times_and_priorities_of_another_kind_say_what_to_write() -> None:
    async with Mesh("memory://kinds") as mesh:
        with pytest.raises(ConfigurationError, match=r"ttl is 3600; write ttl=timedelta\(minutes=30\)"):
            await mesh.direct("kitchen", "x", by="manager", ttl=3600)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match=r"deadline is 30; write deadline=timedelta"):
            await mesh.task("cook").run("soup", deadline=30)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match=r"wait is 5; write wait=timedelta"):
            mesh.task("cook", wait=5)
        with pytest.raises(ConfigurationError, match=r"priority is 'high'; write priority=Priority.HIGH"):
            await mesh.submit("cook", "soup", priority="high")  # type: ignore[arg-type]
