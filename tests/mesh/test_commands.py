"""Commands to nodes: each takes effect at once and on all instances, is kept over restarts, and ends by `withdraw`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tactician import Agent, MemoryStore, Platform, runnable
from tactician.errors import ConfigurationError, RequestRejectedError
from tactician.llm import LanguageModel, LlmOptions
from tactician.mesh import Mesh, Node, directives
from tactician.testing import ScriptedModel
from tests.support.waiting import eventually


class Models:
    """Source of models by their names."""

    def __init__(self, **models: LanguageModel) -> None:
        self.models = models

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the model of a name."""
        try:
            return self.models[options.requested_model or "big"]
        except KeyError as error:
            raise ConfigurationError(f"There is no model {options.requested_model!r}.") from error


class Kitchen:
    """Node whose work a test lets end, as often as a test starts it."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh, self.store = mesh, MemoryStore()
        self.big, self.small = ScriptedModel(*["big"] * 20), ScriptedModel(*["small"] * 20)
        self.begun: list[str] = []
        self.may_end = asyncio.Event()

    async def prepare(self, order: str) -> str:
        """Prepare a meal."""
        self.begun.append(order)
        await self.may_end.wait()
        return f"{order}, ready"

    async def plan(self, wish: str) -> str:
        """Ask a model twice, and wait in between."""
        first = (await Agent("chef").run(wish)).output
        await self.prepare(wish)
        return f"{first} {(await Agent('chef').run(wish)).output}"

    def create(self, **options: int) -> Node:
        platform = Platform(Models(big=self.big, small=self.small), store=self.store)
        node = Node("kitchen", platform, self.mesh, tiers={"fallback": "small"}, **options)  # type: ignore[arg-type]
        node.offer(runnable(self.prepare), tags={"food"})
        node.offer(runnable(self.plan))
        node.offer(Agent("cook"))
        return node


@pytest.fixture
async def mesh(request: pytest.FixtureRequest) -> AsyncIterator[Mesh]:
    async with Mesh(f"memory://{request.node.name}") as mesh:
        yield mesh


@pytest.fixture
def kitchen(mesh: Mesh) -> Kitchen:
    return Kitchen(mesh)


async def test_a_tier_changes_the_models_of_new_work_until_it_is_withdrawn_and_over_restarts(
    mesh: Mesh, kitchen: Kitchen
) -> None:
    cook, outputs = mesh.task("cook", on="kitchen"), []
    async with kitchen.create():
        outputs.append((await cook.run("1")).output)
        tier = await mesh.direct("kitchen", directives.SetTier("fallback"), by="cost-policy")
        outputs.append((await cook.run("2")).output)
        await eventually(lambda: _is_kept(kitchen.store))
    async with Mesh(mesh.url) as another:
        kitchen.mesh = another
        async with kitchen.create():
            outputs.append((await cook.run("3")).output)
            assert [each.text for each in await another.directives()] == ["SetTier('fallback', False)"]
            await another.withdraw(tier.id)
            await eventually(lambda: _is_withdrawn(mesh, tier.id))
            outputs.append((await cook.run("4")).output)

    assert outputs == ["big", "small", "small", "big"]


async def _is_kept(store: MemoryStore) -> bool:
    return len(await store.find("mesh-directives")) == 1


async def _is_withdrawn(mesh: Mesh, directive_id: str) -> bool:
    return all(each.id != directive_id for each in await mesh.directives())


@pytest.mark.parametrize(("running", "output"), [(False, "big big"), (True, "big small")])
async def test_work_that_has_begun_keeps_its_model_unless_asked(
    mesh: Mesh, kitchen: Kitchen, running: bool, output: str
) -> None:
    async with kitchen.create():
        ticket = await mesh.submit("plan", "dinner", on="kitchen")
        await eventually(lambda: bool(kitchen.begun))
        await mesh.direct("kitchen", directives.SetTier("fallback", running=running), by="cost-policy")
        kitchen.may_end.set()
        assert await ticket.result(timeout=30) == output


@pytest.mark.parametrize("target", ["kitchen", "capability:prepare", "tag:food", "realm:default"])
async def test_a_pause_lets_requests_wait_until_the_node_continues(mesh: Mesh, kitchen: Kitchen, target: str) -> None:
    kitchen.may_end.set()
    async with kitchen.create() as node:
        await mesh.direct(target, directives.Pause(), by="manager")
        ticket = await mesh.submit("prepare", "soup", on="kitchen")
        assert (await ticket.status()).status == "queued"
        assert (node.queue_depth, kitchen.begun) == (1, [])
        await mesh.direct(target, directives.Continue(), by="manager")
        assert await ticket.result(timeout=30) == "soup, ready"


async def test_a_disabled_capability_refuses_and_is_shown_as_such(mesh: Mesh, kitchen: Kitchen) -> None:
    kitchen.may_end.set()
    async with kitchen.create():
        disabled = await mesh.direct("kitchen", directives.Disable("prepare"), by="manager")
        with pytest.raises(RequestRejectedError, match="prepare is disabled at kitchen"):
            await mesh.submit("prepare", "soup", on="kitchen")
        await eventually(lambda: _is_enabled(mesh, False))
        await mesh.withdraw(disabled.id)
        await (await mesh.submit("prepare", "soup", on="kitchen")).result(timeout=30)
        await eventually(lambda: _is_enabled(mesh, True))


async def _is_enabled(mesh: Mesh, is_enabled: bool) -> bool:
    return {each.name: each.is_enabled for each in (await mesh.nodes())[0].capabilities}["prepare"] is is_enabled


async def test_limits_of_the_queue_and_of_the_work_change_while_all_places_are_taken(
    mesh: Mesh, kitchen: Kitchen
) -> None:
    async with kitchen.create(max_concurrent=1) as node:
        tickets = [await mesh.submit("prepare", f"{number}", on="kitchen") for number in range(3)]
        await eventually(lambda: node.queue_depth == 2)
        await mesh.direct("kitchen", directives.SetQueueLimit(2), by="manager")
        with pytest.raises(RequestRejectedError) as refused:
            await mesh.submit("prepare", "late", on="kitchen")
        assert refused.value.reason == "at_capacity"
        await mesh.direct("kitchen", directives.SetConcurrency(3), by="manager")
        await eventually(lambda: len(kitchen.begun) == 3)
        kitchen.may_end.set()
        assert [await ticket.result(timeout=30) for ticket in tickets] == [f"{number}, ready" for number in range(3)]


async def test_a_weight_brings_requests_forward(mesh: Mesh, kitchen: Kitchen) -> None:
    kitchen.may_end.set()
    async with kitchen.create(max_concurrent=1):
        pause = await mesh.direct("kitchen", directives.Pause(), by="manager")
        tickets = [await mesh.submit("prepare", "first", on="kitchen")]
        await mesh.direct("tag:food", directives.SetWeight(90), by="manager", ttl=timedelta(hours=1))
        tickets.append(await mesh.submit("prepare", "second", on="kitchen"))
        assert tickets[1].position == 0
        await mesh.withdraw(pause.id)
        for ticket in tickets:
            await ticket.result(timeout=30)
    assert kitchen.begun == ["second", "first"]


async def test_a_drain_ends_the_instances_that_run_and_not_the_next(mesh: Mesh, kitchen: Kitchen) -> None:
    kitchen.may_end.set()
    node = kitchen.create()
    running = asyncio.create_task(node.run())
    await eventually(lambda: str(node.state) == "READY")
    await mesh.direct("kitchen", directives.Drain(), by="manager")
    await running
    async with kitchen.create():
        await (await mesh.submit("prepare", "soup", on="kitchen")).result(timeout=30)


async def test_every_node_acknowledges_or_refuses_what_is_for_it(mesh: Mesh, kitchen: Kitchen) -> None:
    bar = Node("bar", Platform(ScriptedModel(), store=MemoryStore()), mesh)
    bar.offer(runnable(kitchen.prepare, name="mix"))
    async with kitchen.create(), bar:
        guidance = await mesh.direct("realm:default", "The guest in 801 is a VIP", by="manager")
        tier = await mesh.direct("realm:default", directives.SetTier("fallback"), by="manager")
        food = await mesh.direct("tag:food", "No nuts", by="manager")
        receipts = {each.id: await mesh.receipts(each.id) for each in (guidance, tier, food)}

    assert [(each.node, each.status) for each in receipts[guidance.id]] == [("bar", "applied"), ("kitchen", "applied")]
    assert [(each.node, each.status) for each in receipts[tier.id]] == [("bar", "refused"), ("kitchen", "applied")]
    assert receipts[tier.id][0].message == "No tier 'fallback'. The tiers: none."
    assert [each.node for each in receipts[food.id]] == ["kitchen"]


@pytest.mark.parametrize(
    ("target", "command", "problem"),
    [
        ("kitchen", directives.SetTier("falback"), "No tier 'falback'. Did you mean 'fallback'"),
        ("kitchen", directives.Disable("cok"), "No capability 'cok'. Did you mean 'cook'"),
        ("kitchen", directives.SetConcurrency(0), "requests: Input should be greater than or equal to 1"),
        ("tag:food", directives.SetQueueLimit(3), "SetQueueLimit is for a whole node"),
        ("bar", directives.SetConcurrency(-1), "requests: Input should be greater than or equal to 1"),
    ],
)
async def test_a_command_that_makes_no_sense_is_refused(
    mesh: Mesh, kitchen: Kitchen, target: str, command: directives.Command, problem: str
) -> None:
    async with kitchen.create():
        with pytest.raises(ConfigurationError, match=problem):
            await mesh.direct(target, command, by="manager")
        assert await mesh.directives() == []


async def test_a_tier_without_a_model_is_an_error_at_the_start(mesh: Mesh) -> None:
    platform = Platform(Models(big=ScriptedModel()), store=MemoryStore())
    with pytest.raises(ConfigurationError, match="kitchen: the tier 'fallback': There is no model 'small'"):
        await Node("kitchen", platform, mesh, tiers={"fallback": "small"}).start()
