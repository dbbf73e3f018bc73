"""Choice among realms and providers: the own realm first, then shareable nodes; round robin, sticky and cheapest."""

from __future__ import annotations

from collections import Counter

import pytest

from tactician import MemoryStore, Platform, RunContext, runnable
from tactician.conversation import ChatUser
from tactician.errors import MeshUnavailableError, RequestRejectedError
from tactician.mesh import Mesh, Node, sticky
from tactician.mesh.calls.choice import ChoiceQuery, ProviderChoice
from tactician.mesh.circuits import Circuits
from tactician.mesh.directory import Directory
from tactician.mesh.messages.cards import CapabilityCard, NodeCard
from tactician.testing import FakeClock, ScriptedModel
from tests.support.waiting import eventually


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


def create_node(name: str, mesh: Mesh, *, shareable: bool = False, queue_limit: int = 1000) -> Node:
    platform = Platform(ScriptedModel(), store=MemoryStore())
    node = Node(name, platform, mesh, shareable=shareable, max_concurrent=1, queue_limit=queue_limit)

    @runnable
    async def cook(order: str, context: RunContext) -> str:
        user = context.find(ChatUser)
        return f"{order} from {name} for {'nobody' if user is None else user.id}"

    node.offer(cook)
    return node


async def ask(mesh: Mesh, order: str = "x", **options: object) -> str:
    context = Platform(ScriptedModel()).context().inside({ChatUser: ChatUser("alice")})
    return str((await mesh.task("cook", **options).run(order, context=context)).output)  # type: ignore[arg-type]


async def test_scenario_25_a_node_that_is_not_shareable_is_never_chosen_by_another_realm(url: str) -> None:
    async with (
        Mesh(url, realm="downtown") as downtown,
        Mesh(url, realm="airport") as airport,
        create_node("kitchen", airport),
        create_node("bar", airport),
    ):
        with pytest.raises(MeshUnavailableError, match="No node"):
            await ask(downtown)
        with pytest.raises(RequestRejectedError, match="takes no requests of the realm downtown"):
            await ask(downtown, on="airport/kitchen")


async def test_a_shareable_node_is_asked_when_the_own_realm_has_none_and_the_user_stays_home(url: str) -> None:
    async with (
        Mesh(url, realm="downtown") as downtown,
        Mesh(url, realm="airport") as airport,
        create_node("bar", airport, shareable=True),
    ):
        await eventually(lambda: bool(downtown.directory.list_providers("downtown", "cook")))
        assert await ask(downtown) == "x from bar for nobody"
        assert await ask(downtown, share=["user"]) == "x from bar for alice"
        async with create_node("kitchen", downtown):
            assert await ask(downtown) == "x from kitchen for alice"


CARD = NodeCard(node="kitchen", instance="1", state="READY", sent_at=0, capabilities=(), max_concurrent=1)


def offer(realm: str, node: str, *, price: float | None = None, seconds: float = 1.0, depth: int = 0) -> NodeCard:
    return CARD.model_copy(
        update={
            "node": node,
            "realm": realm,
            "capabilities": (CapabilityCard(name="cook", kind="task", price=price),),
            "queue_depth": depth,
            "queue_limit": 5,
            "seconds_per_request": seconds,
            "is_shareable": True,
        }
    )


def create_choice(*cards: NodeCard) -> ProviderChoice:
    clock = FakeClock()
    directory = Directory(clock)
    for card in cards:
        directory.note(card)
    return ProviderChoice("downtown", directory, Circuits(clock), clock)


def choose(choice: ProviderChoice, **query: object) -> tuple[str, str]:
    chosen = choice.choose(ChoiceQuery(capability="cook", **query))  # type: ignore[arg-type]
    assert chosen is not None
    return chosen[0].node, chosen[1]


def test_the_least_loaded_node_of_the_own_realm_wins() -> None:
    choice = create_choice(offer("downtown", "a", depth=3), offer("downtown", "b", depth=1), offer("airport", "c"))
    assert choose(choice) == ("b", "soonest of 2")


@pytest.mark.parametrize(
    ("own", "deadline", "reason"),
    [
        (offer("downtown", "a", depth=5), None, "full"),
        (offer("downtown", "a", seconds=600.0), 60.0, "too slow for the deadline"),
    ],
)
def test_a_request_spills_with_the_reason(own: NodeCard, deadline: float | None, reason: str) -> None:
    choice = create_choice(own, offer("airport", "b"))
    ends_at = None if deadline is None else FakeClock().time() + deadline
    node, why = choose(choice, deadline=ends_at)
    assert node == "b"
    assert reason in why


def test_round_robin_takes_turns_cheapest_tries_what_is_unmeasured_and_sticky_stays() -> None:
    cards = [offer("downtown", name, price=price) for name, price in (("a", 0.3), ("b", 0.1), ("c", 0.2))]
    choice = create_choice(*cards)
    assert [choose(choice, choose="round_robin")[0] for _ in range(4)] == ["a", "b", "c", "a"]
    assert choose(choice, choose="cheapest")[0] == "b"
    assert choose(create_choice(*cards, offer("downtown", "d")), choose="cheapest")[0] == "d"

    guests = [{"guest": f"guest {number}"} for number in range(300)]
    before = [choose(choice, choose=sticky("guest"), input=guest)[0] for guest in guests]
    less = create_choice(*cards[:2])
    after = [choose(less, choose=sticky("guest"), input=guest)[0] for guest in guests]
    assert all(now == then for now, then in zip(after, before, strict=True) if then != "c")
    assert min(Counter(before).values()) > 60


def test_a_choice_among_50_nodes_and_1000_capabilities_looks_at_the_providers_only() -> None:
    directory, clock = Directory(FakeClock()), FakeClock()
    names = [tuple(CapabilityCard(name=f"c{node}-{n}", kind="task") for n in range(20)) for node in range(50)]
    for number, cards in enumerate(names):
        directory.note(CARD.model_copy(update={"node": f"n{number}", "realm": "downtown", "capabilities": cards}))
    choice = ProviderChoice("downtown", directory, Circuits(clock), clock)
    first = directory.list_providers("downtown", "c7-3")
    assert [offering.node for offering in first] == ["n7"]
    directory.note(CARD.model_copy(update={"node": "n8", "realm": "downtown", "capabilities": names[8]}))
    assert directory.list_providers("downtown", "c7-3") is first  # no other node's card costs this choice anything
    assert choice.choose(ChoiceQuery(capability="c7-3")) is not None


async def test_a_cost_that_was_measured_is_on_the_card(url: str) -> None:
    async with Mesh(url) as mesh, create_node("kitchen", mesh) as kitchen:
        assert kitchen.capabilities[0].price is None
        await ask(mesh)
        await eventually(lambda: kitchen.capabilities[0].price == 0.0)
