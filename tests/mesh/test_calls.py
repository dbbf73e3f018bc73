"""What travels with a request, and what comes back: usage, budget, deadline, cancellation, user and rights."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tactician import Agent, Budget, MemoryStore, Platform, RunContext, runnable
from tactician.conversation import ChatUser
from tactician.errors import MeshUnavailableError, RequestFailedError, RequestRejectedError, RequestTimeoutError
from tactician.mesh import Delivery, Mesh, Node, Retries
from tactician.mesh.messages.codec import MessageCodec
from tactician.mesh.messages.replies import MeshReply, StatusReport
from tactician.mesh.messages.requests import MAX_HOPS, MeshRequest
from tactician.notifications.webhooks import create_webhook_secret, sign_webhook
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.support.waiting import eventually

KEY, NEXT_KEY = "k" * 32, "n" * 32


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


@pytest.fixture
async def mesh(url: str) -> AsyncIterator[Mesh]:
    async with Mesh(url, name="waiter") as mesh:
        yield mesh


def create_node(mesh: Mesh, *offered: object, model: ScriptedModel | None = None, **options: int) -> Node:
    node = Node(
        "kitchen",
        Platform(model or ScriptedModel(), store=MemoryStore()),
        mesh,
        queue_limit=options.get("queue_limit", 1000),
        max_concurrent=options.get("max_concurrent", 10),
    )
    for work in offered:
        node.offer(work)
    return node


async def test_usage_of_the_provider_counts_in_the_run_and_the_budget_of_the_caller(mesh: Mesh) -> None:
    cook = Agent("cook", model=ScriptedModel("ready", "ready"))
    async with create_node(mesh, cook):
        result = await mesh.task("cook").run("Wagyu")
        local = await Agent("cook", model=ScriptedModel("ready")).run("Wagyu")

        assert (result.usage.total_tokens, result.cost) == (local.usage.total_tokens, local.cost)
        assert result.usage.total_tokens > 0

        @runnable
        async def order(text: str) -> str:
            return str((await mesh.task("cook").run(text)).output)

        whole = await order.run("Wagyu", budget=Budget(tokens=10_000))
        assert whole.usage.total_tokens == result.usage.total_tokens


async def test_the_rest_of_the_budget_bounds_the_provider(mesh: Mesh) -> None:
    def taste() -> str:
        """Taste the meal."""
        return "salty"

    model = ScriptedModel(ToolCall("taste"), "ready")
    async with create_node(mesh, Agent("cook", model=model, tools=[taste])):
        with pytest.raises(RequestFailedError, match="budget of 1 token is used up"):
            await mesh.task("cook").run("Wagyu", budget=Budget(tokens=1))
    assert len(model.calls) == 1


async def test_the_user_travels(mesh: Mesh) -> None:
    users: list[str] = []

    @runnable
    async def greet(text: str, context: RunContext) -> str:
        users.append(context.get(ChatUser).id)
        return text

    async with create_node(mesh, greet):
        context = Platform(ScriptedModel()).context().inside({ChatUser: ChatUser("alice")})
        await mesh.task("greet").run("hello", context=context)

    assert users == ["alice"]


class Slow:
    """Work that takes as long as the test lasts."""

    def __init__(self) -> None:
        self.events: list[str] = []

    async def cook(self, text: str) -> str:
        """Cook for ever."""
        self.events.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            self.events.append("ended")
        return text


async def test_cancelling_the_caller_cancels_the_provider(mesh: Mesh) -> None:
    slow = Slow()
    async with create_node(mesh, runnable(slow.cook)) as kitchen:
        calling = asyncio.create_task(mesh.task("cook").run("Wagyu"))
        await eventually(lambda: slow.events == ["begun"])

        calling.cancel()

        await eventually(lambda: slow.events == ["begun", "ended"])
        await eventually(lambda: kitchen.running == 0)
    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_a_ticket_cancels_its_request(mesh: Mesh) -> None:
    slow = Slow()
    async with create_node(mesh, runnable(slow.cook)):
        ticket = await mesh.submit("cook", "Wagyu")
        await eventually(lambda: slow.events == ["begun"])
        assert (await ticket.status()).status == "running"

        await ticket.cancel("the guest has left")

        with pytest.raises(RequestFailedError, match="the guest has left") as failure:
            await ticket.result(timeout=30)
    assert failure.value.error_type == "RunKilled"
    assert slow.events == ["begun", "ended"]


async def test_a_caller_that_has_waited_long_enough_gets_an_error_and_the_work_ends(mesh: Mesh) -> None:
    slow = Slow()
    async with create_node(mesh, runnable(slow.cook)):
        with pytest.raises(RequestTimeoutError) as timeout:
            await mesh.task("cook", wait=timedelta(seconds=1)).run("Wagyu")
        await eventually(lambda: slow.events == ["begun", "ended"])
    assert timeout.value.ticket is None


async def test_a_full_node_says_when_to_come_back(mesh: Mesh) -> None:
    slow = Slow()
    async with create_node(mesh, runnable(slow.cook), queue_limit=1, max_concurrent=1):
        first = await mesh.submit("cook", "1")
        await eventually(lambda: slow.events == ["begun"])
        second = await mesh.submit("cook", "2")
        with pytest.raises(RequestRejectedError) as refusal:
            await mesh.submit("cook", "3")
        await second.cancel()
        await first.cancel()

    assert (refusal.value.reason, refusal.value.queue_depth) == ("at_capacity", 1)
    assert refusal.value.retry_after is not None


async def test_a_circle_of_nodes_ends_with_an_error_that_shows_it(mesh: Mesh) -> None:
    around = mesh.task("go-around", on="kitchen")

    @runnable
    async def go(text: str) -> str:
        return str((await around.run(text)).output)

    node = create_node(mesh)
    node.offer(go, name="go-around")
    async with node:
        with pytest.raises(RequestFailedError, match="kitchen → kitchen"):
            await around.run("x")
    assert MAX_HOPS == 8


async def test_typed_input_is_checked_and_its_places_are_named(mesh: Mesh) -> None:
    def cook(dish: str, minutes: int) -> str:
        """Cook a dish."""
        return f"{dish} in {minutes} min"

    async with create_node(mesh, cook):
        assert (await mesh.task("cook").run({"dish": "Ramen", "minutes": 5})).output == "Ramen in 5 min"
        with pytest.raises(RequestFailedError, match="minutes"):
            await mesh.task("cook").run({"dish": "Ramen", "minutes": "five"})
        with pytest.raises(RequestRejectedError, match="JSON object") as refusal:
            await mesh.task("cook").run("Ramen")
    assert refusal.value.reason == "invalid_input"


async def test_a_node_with_a_key_hears_only_signed_messages(url: str) -> None:
    @runnable
    async def cook(text: str) -> str:
        return text

    async with (
        Mesh(url, key=KEY) as own,
        Mesh(url, key=[KEY, NEXT_KEY]) as changing,
        Mesh(url, name="stranger") as stranger,
        create_node(own, cook),
    ):
        assert (await changing.task("cook", on="kitchen").run("x")).output == "x"
        with pytest.raises(MeshUnavailableError, match="has not accepted"):
            await stranger.task("cook", on="kitchen", accept_within=0.2, retries=Retries(0)).run("x")


async def test_a_misspelt_node_is_told_after_the_first_look(url: str) -> None:
    @runnable
    async def cook(text: str) -> str:
        return text

    clock = FakeClock()
    async with Mesh(url, clock=clock) as mesh, create_node(mesh, cook):
        asked = asyncio.ensure_future(mesh.task("cook", on="kitchn").run("x"))
        other = asyncio.ensure_future(mesh.task("cook", on="kitchen-2", retries=Retries(0)).run("x"))
        await clock.run_for(3)
        with pytest.raises(
            MeshUnavailableError, match=r"The mesh has no node 'kitchn'. Did you mean 'kitchen'\?"
        ) as told:
            await asked
        assert told.value.reason == "not_found"
        assert not other.done()  # a node of another number may be about to start
        await clock.run_for(8)
        with pytest.raises(MeshUnavailableError, match="has not accepted"):
            await other


async def test_a_hostile_message_is_refused_and_the_node_works_on(mesh: Mesh) -> None:
    @runnable
    async def cook(text: str) -> str:
        return text

    codec = MessageCodec("stranger")
    request = MeshRequest(id="old", sender="stranger", capability="cook", reply_to=mesh.reply_queue)
    future = codec.encode(request).replace(b"request.v1", b"request.v9")
    async with create_node(mesh, cook):
        queue = mesh.name_queue("kitchen")
        with mesh.calls.listen("old") as call:
            for body in (b"", b"\x00\xff", b"[" * 10_000, b"x" * 2_000_000, future):
                await mesh.transport.send(queue, body)
            await asyncio.wait_for(call.is_answered.wait(), 30)

        assert (await mesh.task("cook").run("x")).output == "x"
    assert isinstance(call.reply, MeshReply)
    assert call.reply.rejection is not None
    assert call.reply.rejection.reason == "unsupported_version"


async def test_a_stranger_cannot_cancel_or_see_the_request_of_another(url: str, mesh: Mesh) -> None:
    slow = Slow()
    async with Mesh(url, name="stranger") as stranger, create_node(mesh, runnable(slow.cook)):
        ticket = await mesh.submit("cook", "Wagyu")
        await eventually(lambda: slow.events == ["begun"])
        other = stranger.ticket(ticket.request_id, on="kitchen")

        await other.cancel()
        report: StatusReport = await other.status()

        assert report.status == "unknown"
        assert slow.events == ["begun"]
        await ticket.cancel()


async def test_a_reply_is_posted_to_a_webhook_with_a_signature(url: str) -> None:
    secret = create_webhook_secret()
    posted: asyncio.Queue[tuple[dict[str, str], bytes]] = asyncio.Queue()

    async def take(request: web.Request) -> web.Response:
        posted.put_nowait((dict(request.headers), await request.read()))
        return web.Response()

    @runnable
    async def cook(text: str) -> str:
        return text

    application = web.Application()
    application.router.add_post("/hook", take)
    async with TestServer(application) as server, Mesh(url, webhook_secrets={"orders": secret}) as mesh:
        platform = Platform(ScriptedModel(), store=MemoryStore())
        node = Node("kitchen", platform, mesh, allows_private_webhooks=True)
        node.offer(cook)
        async with node:
            deliver = Delivery.webhook(str(server.make_url("/hook")), secret="orders")
            await mesh.submit("cook", "Wagyu", deliver=deliver, request_id="order-17")
            headers, body = await posted.get()

    signed = sign_webhook(secret, "msg_order-17", int(headers["webhook-timestamp"]), body)
    assert headers["webhook-signature"] == signed["webhook-signature"]
    assert json.loads(body)["output"] == "Wagyu"
    assert secret not in deliver.model_dump_json()


async def test_a_reply_goes_to_a_queue_of_the_mesh(mesh: Mesh) -> None:
    async with create_node(mesh, runnable(create_reply)):
        await mesh.submit("create_reply", "Wagyu", on="kitchen", deliver=Delivery.queue("default/waiters"))
        (leased,) = await mesh.transport.receive("default/waiters", limit=1, lease=30, wait=30)
    reply = mesh.decode(leased.body).message
    assert isinstance(reply, MeshReply)
    assert (reply.status, reply.output) == ("completed", "Ready: Wagyu")


async def create_reply(order: str) -> str:
    """Prepare a meal."""
    return f"Ready: {order}"
