"""What is seen of a mesh: spans over machines, figures and counters of nodes, and lines for Prometheus."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import cast

import pytest
from opentelemetry.trace import SpanContext

from tactician import MemoryStore, Platform, runnable
from tactician.errors import RequestFailedError, RequestRejectedError
from tactician.mesh import Mesh, Node
from tactician.runs.progress.store import RunStore
from tactician.testing import ScriptedModel
from tests.integrations.otel.traces import Traces, identify
from tests.serve.api.serving import served
from tests.support.waiting import eventually


class Kitchen:
    """Work that a test lets end."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()

    async def cook(self, order: str) -> str:
        """Cook."""
        await self.may_end.wait()
        if order == "toast":
            raise ValueError("burnt")
        return order


async def test_36_the_span_of_the_request_is_the_parent_of_the_providers_span() -> None:
    caller, provider, kitchen = Traces(), Traces(), Kitchen()
    kitchen.may_end.set()
    async with Mesh("memory://seen-36") as mesh:
        platform = Platform(ScriptedModel(), store=MemoryStore(), on_event=provider.listener())
        node = Node("kitchen", platform, mesh)
        node.offer(runnable(kitchen.cook))
        asking = Platform(ScriptedModel(), on_event=caller.listener())
        async with node:
            await asking.run(mesh.task("cook", on="kitchen"), "Wagyu")

    send, handle = caller.only("tactician.mesh.send"), provider.only("tactician.mesh.handle")
    run = provider.only("invoke_agent kitchen/cook")
    assert run.parent is not None
    assert run.parent.span_id == cast("SpanContext", send.context).span_id
    assert (handle.attributes or {})["tactician.mesh.capability"] == "cook"
    assert cast("SpanContext", handle.context).trace_id == cast("SpanContext", send.context).trace_id
    assert caller.still_open == provider.still_open == 0


@pytest.mark.parametrize("is_traced", [False, True])
async def test_36_the_trace_of_the_caller_with_its_state_goes_through_all_nodes(is_traced: bool) -> None:
    traces, store = Traces(), MemoryStore()
    async with Mesh(f"memory://seen-state-{is_traced}") as mesh:
        platform = Platform(ScriptedModel(), store=store, on_event=traces.listener() if is_traced else None)
        kitchen, farm = Node("kitchen", platform, mesh), Node("farm", platform, mesh)

        @runnable
        async def grow(order: str) -> str:
            return f"{order}, grown"

        @runnable
        async def cook(order: str) -> str:
            return str(await mesh.task("grow", on="farm").run(order))

        kitchen.offer(cook)
        farm.offer(grow)
        context = replace(
            Platform(ScriptedModel()).context(), trace_parent=f"00-{'a' * 32}-{'b' * 16}-01 vendor=1,own=2"
        )
        async with kitchen, farm:
            await mesh.task("cook", on="kitchen").run("Wagyu", context=context)

    records = [await RunStore(store).load(run_id) for run_id in await store.list_ids("runs")]
    kept = [record.header.trace_parent or "" for record in records if record is not None]
    assert len(kept) == 2
    assert {trace[3:35] for trace in kept} == {"a" * 32}
    assert {trace.partition(" ")[2] for trace in kept} == {"vendor=1,own=2"}
    spans = [identify(span) for span in traces.spans]
    assert {span.trace_state.to_header() for span in spans} == ({"vendor=1,own=2"} if is_traced else set())
    assert {span.trace_id for span in spans} == ({int("a" * 32, 16)} if is_traced else set())


async def test_counters_tell_the_outcomes_and_gauges_the_load() -> None:
    traces, kitchen = Traces(), Kitchen()
    async with Mesh("memory://seen-figures") as mesh:
        platform = Platform(ScriptedModel(), store=MemoryStore(), on_event=traces.listener())
        node = Node("kitchen", platform, mesh, max_concurrent=1, queue_limit=1)
        node.offer(runnable(kitchen.cook))
        async with node, served(platform) as client:
            first = await mesh.submit("cook", "Wagyu")
            await eventually(lambda: node.running == 1)
            second = await mesh.submit("cook", "toast")
            with pytest.raises(RequestRejectedError):
                await mesh.submit("cook", "Ramen")
            lines = (await client.get("/metrics")).text.splitlines()
            kitchen.may_end.set()
            await first.result(timeout=30)
            with pytest.raises(RequestFailedError):
                await second.result(timeout=30)

    assert f'tactician_mesh_queue_depth{{node="kitchen",instance="{node.instance}"}} 1' in lines
    assert f'tactician_mesh_running{{node="kitchen",instance="{node.instance}"}} 1' in lines
    outcomes = {
        dict(point.attributes or {})["tactician.mesh.outcome"] for point in traces.points("tactician.mesh.requests")
    }
    assert outcomes == {"completed", "failed", "at_capacity"}
    assert traces.points("tactician.mesh.queue.depth")
