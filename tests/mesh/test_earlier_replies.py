"""Earlier replies of a node, which it gives to the same caller for the same user."""

from __future__ import annotations

from datetime import timedelta

from tactician import MemoryStore, Platform, runnable
from tactician.conversation import ChatUser
from tactician.events import Event
from tactician.mesh import Mesh, Node, ReplyReused
from tactician.testing import ScriptedModel


async def test_the_node_takes_its_earlier_reply_for_a_caller_that_has_lost_its_own() -> None:
    url = "memory://earlier-replies"
    runs: list[str] = []

    @runnable
    async def forecast(place: str) -> str:
        runs.append(place)
        return f"{place} {len(runs)}"

    async def ask(
        place: str,
        name: str = "desk",
        user: str | None = None,
        max_age: timedelta | None = None,
        cache_key: str | None = None,
    ) -> object:
        heard: list[Event] = []
        platform = Platform(ScriptedModel(), on_event=heard.append)
        context = platform.context() if user is None else platform.context().inside({ChatUser: ChatUser(user)})
        async with Mesh(url, name=name) as mesh:  # a program that has just been started
            result = await mesh.task("forecast", on="kitchen", max_age=max_age, cache_key=cache_key).run(
                place, context=context
            )
        assert not any(isinstance(event, ReplyReused) for event in heard)
        return result.output

    hour = timedelta(hours=1)
    node = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore()), Mesh(url))
    node.offer(forecast)
    async with node:
        first = [await ask("Rome", max_age=hour) for _ in range(2)]
        others = [await ask("Rome"), await ask("Oslo", max_age=hour), await ask("Rome", "bar", max_age=hour)]
        users = [await ask("Rome", user=user, max_age=hour) for user in ("anna", "bert", "anna")]
        keyed = [await ask(place, max_age=hour, cache_key="weather") for place in ("Rome", "Oslo")]
        too_old = await ask("Rome", max_age=timedelta(microseconds=1))
    assert first == ["Rome 1", "Rome 1"]
    assert others == ["Rome 2", "Oslo 3", "Rome 4"]
    assert users == ["Rome 5", "Rome 6", "Rome 5"]
    assert keyed == ["Rome 7", "Rome 7"]
    assert too_old == "Rome 8"


async def test_a_request_without_its_user_in_another_realm_takes_no_reply_for_another_user() -> None:
    url = "memory://earlier-replies-realms"

    @runnable
    async def show_bill(guest: str) -> str:
        return f"the bill of {guest}"

    async def ask(user: str, share: frozenset[str]) -> object:
        context = Platform(ScriptedModel()).context().inside({ChatUser: ChatUser(user)})
        async with Mesh(url, name="desk", realm="downtown") as mesh:
            task = mesh.task("show_bill", on="airport/bar", max_age=timedelta(hours=1), cache_key="bill", share=share)
            return (await task.run(user, context=context)).output

    bar = Node("bar", Platform(ScriptedModel(), store=MemoryStore()), Mesh(url, realm="airport"), shareable=True)
    bar.offer(show_bill)
    async with bar:
        hidden = [await ask(user, frozenset()) for user in ("anna", "bert")]
        shared = [await ask(user, frozenset({"user"})) for user in ("anna", "bert")]
    assert hidden == shared == ["the bill of anna", "the bill of bert"]
