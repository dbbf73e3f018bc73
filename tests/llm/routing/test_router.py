"""Names, features, status, totals and event loops."""

import asyncio
import gc
import sys
import threading

import pytest

from tactician.clock import SystemClock
from tactician.errors import ConfigurationError, ModelServerError, ModelTimeoutError, UnknownModelError
from tactician.llm import Features, Image, LanguageModel, LlmOptions, ModelRequest, Usage, UserMessage
from tactician.llm.messages import AssistantMessage, SystemMessage, Text, ToolCall, ToolResult
from tactician.llm.routing.deployment import Deployment, DeploymentStatus
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.llm.routing.token_estimate import estimate_tokens
from tests.llm.routing.support import ALL, FakeClock, FakeModel, answer, ask, deployed, settled, together, virtual


def two_models(clock: FakeClock) -> tuple[ModelRouter, FakeModel]:
    model = FakeModel(clock)
    return ModelRouter([*deployed("x", a=model, b=model), *deployed("y:8b", b=model)], clock=clock), model


@pytest.mark.parametrize(("name", "served"), [("x", "a:x"), ("b:x", "b:x"), ("y:8b", "b:y:8b"), ("b:y:8b", "b:y:8b")])
def test_a_model_is_found_by_its_name_or_with_its_instance(name: str, served: str) -> None:
    clock = FakeClock()
    router, _ = two_models(clock)
    assert clock.run(router.generate(ask(model=name))).usage.model == served
    assert clock.run(router.for_model(name).generate(ask(model="ignored"))).usage.model.endswith(served[2:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (LlmOptions(model="X"), r"Nothing serves the model 'X'\. .*Served are: x \(at a, b\); y:8b \(at b\)\."),
        (LlmOptions(model="xx"), r"Nothing serves the model 'xx'\. Did you mean 'x'\?"),
        (LlmOptions(model="a:y:8b"), "Nothing serves the model 'a:y:8b'"),
        (LlmOptions(role="writer"), "Nothing serves the model 'role:writer'"),
        (LlmOptions(), "names no model, and there is no default. Served are: x"),
        (LlmOptions(model="x", instances=("c", "d")), r"'x' at the allowed instances \(c, d\)\. Served are: x"),
        (LlmOptions(model="a:x", instances=("b",)), r"'a:x' at the allowed instances \(b\)"),
    ],
)
def test_a_model_that_nobody_serves_is_an_error_before_any_request(options: LlmOptions, message: str) -> None:
    clock = FakeClock()
    router, model = two_models(clock)
    request = ModelRequest((UserMessage("hi"),), options=options)
    for attempt in (
        lambda: clock.run(router.generate(request)),
        lambda: router.stream(request),
        lambda: router.resolve(options),
    ):
        with pytest.raises(UnknownModelError, match=message):
            attempt()
    assert model.starts == []


def test_a_router_without_deployments_says_so_when_it_is_asked() -> None:
    with pytest.raises(UnknownModelError, match="Served are: none, because no instance is configured"):
        FakeClock().run(ModelRouter([]).generate(ask()))


def test_the_default_model_is_the_one_that_was_chosen_or_the_only_one() -> None:
    clock = FakeClock()
    model = FakeModel(clock)
    assert ModelRouter(deployed("x", a=model), clock=clock).resolve(LlmOptions()).name == "x"
    chosen = ModelRouter([*deployed("x", a=model), *deployed("y", a=model)], default_model="y", clock=clock)
    assert clock.run(chosen.generate(ask(model=None))).usage.model == "a:y"
    assert (chosen.name, two_models(clock)[0].name) == ("y", "router")
    with pytest.raises(UnknownModelError, match="'z'"):
        ModelRouter(deployed(a=model), default_model="z")


def test_the_same_deployment_twice_is_an_error() -> None:
    model = FakeModel(FakeClock())
    with pytest.raises(ConfigurationError, match="a:m is listed twice"):
        ModelRouter([Deployment("a", "m", model), Deployment("a", "m", model)])


def test_a_router_and_its_models_are_language_models() -> None:
    router, _ = two_models(FakeClock())
    assert isinstance(router, LanguageModel)
    assert isinstance(router.for_model("x"), LanguageModel)
    assert repr(router) == "ModelRouter(a:x, b:x, b:y:8b)"
    assert repr(router.for_model("b:x")) == "RoutedModel('b:x')"


def test_features_are_those_that_all_deployments_have() -> None:
    clock = FakeClock()
    full, plain = FakeModel(clock), FakeModel(clock, features=Features(tools=True, images=True))
    router = ModelRouter([Deployment("a", "m", full), Deployment("b", "m", plain)], clock=clock)
    assert router.for_model("m").features == Features(tools=True, images=True)
    assert router.for_model("a:m").features == ALL
    assert router.resolve(LlmOptions(model="m", instances=("a",))).features == ALL
    assert router.features == Features(tools=True, images=True)
    assert ModelRouter([]).features == Features()
    two = ModelRouter([Deployment("a", "x", full), Deployment("a", "y", plain)])
    assert two.features == Features(tools=True, images=True)


@virtual
async def test_only_allowed_instances_are_asked(clock: FakeClock) -> None:
    router = ModelRouter(deployed(a=FakeModel(clock), b=FakeModel(clock), c=FakeModel(clock)), clock=clock)
    served = {(await router.generate(ask(instances=("c", "b", "other")))).usage.model for _ in range(6)}
    assert served == {"b:m", "c:m"}


@virtual
async def test_status_and_usage_tell_how_each_deployment_does(clock: FakeClock) -> None:
    a = FakeModel(clock, answer(tokens=3), ModelServerError("down", status=500), seconds=2.0)
    b = FakeModel(clock, answer(tokens=4))
    deployments = [*deployed("x", a=a), *deployed("y", a=b)]
    router = ModelRouter(deployments, clock=clock, retries=ModelRetryPolicy(deadline=3.0))
    await router.generate(ask(model="x"))
    await together([router.generate(ask(model="x")), router.generate(ask(model="y"))])
    running = asyncio.create_task(router.generate(ask(model="x")))
    await settled()
    assert router.status() == (
        DeploymentStatus(
            instance="a",
            model="x",
            in_flight=1,
            max_concurrency=100,
            requests=4,
            answers=1,
            failures=1,
            failure="server",
            usage=Usage(3, requests=1),
            latency=2.0,
            average_latency=2.0,
        ),
        DeploymentStatus(
            instance="a",
            model="y",
            max_concurrency=100,
            requests=1,
            answers=1,
            usage=Usage(4, requests=1),
            latency=0.0,
            average_latency=0.0,
        ),
    )
    assert router.usage() == Usage(7, requests=2)
    assert router.usage(model="x") == Usage(3, requests=1)
    assert router.usage(model="y", instance="b") == Usage()
    running.cancel()
    await together([running])


def test_a_router_serves_one_event_loop_after_another() -> None:
    """Also when the first one ended in the middle of everything: running calls, queued calls, and in a pause."""
    clock = FakeClock()
    model = FakeModel(clock, seconds=5.0)
    router = ModelRouter([Deployment("a", "m", model, requests_per_second=1, max_concurrency=2)], clock=clock)

    async def begin_and_go() -> None:
        for _ in range(6):
            asyncio.create_task(router.generate(ask()))  # noqa: RUF006
        await asyncio.sleep(2.5)

    async def all_of(count: int) -> list[object]:
        return await asyncio.gather(*(router.generate(ask()) for _ in range(count)))

    clock.run(begin_and_go())
    assert router.status()[0].in_flight == 0
    assert len(clock.run(all_of(4))) == 4
    assert len(clock.run(all_of(4))) == 4
    assert model.peak == 2
    assert all(b - a >= 1 - 1e-6 for a, b in zip(model.starts, model.starts[1:], strict=False)), "across loops, too"


def test_the_places_of_a_loop_that_was_closed_in_the_middle_come_back_with_its_garbage() -> None:
    clock = FakeClock()
    router = ModelRouter([Deployment("a", "m", FakeModel(clock, seconds=5.0), max_concurrency=2)], clock=clock)
    loop = asyncio.new_event_loop()
    task = loop.create_task(router.generate(ask()))
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert router.status()[0].in_flight == 1
    assert clock.run(router.generate(ask())).usage.model == "a:m"
    del task, loop
    gc.collect()
    assert router.status()[0].in_flight == 0


def test_threads_with_loops_of_their_own_share_limits_and_wake_each_other() -> None:
    class Slow(FakeModel):
        async def generate(self, request):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            await asyncio.sleep(0)
            return answer()

    router = ModelRouter([Deployment("a", "m", Slow(FakeClock()), max_concurrency=1)], clock=SystemClock())
    answers: list[object] = []

    async def many() -> None:
        answers.extend(await together(router.generate(ask()) for _ in range(50)))

    threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert len(answers) == 200
    assert not any(isinstance(one, BaseException) for one in answers)
    assert router.status()[0].in_flight == 0


def test_a_thread_may_look_while_another_adds_models() -> None:
    model, interval = FakeModel(FakeClock()), sys.getswitchinterval()
    router = ModelRouter([Deployment("here", "first", model)])
    is_done = threading.Event()

    def add_models() -> None:
        for number in range(1_000):
            router.add(Deployment("here", f"model-{number}", model))
        is_done.set()

    adding = threading.Thread(target=add_models)
    sys.setswitchinterval(1e-6)
    try:
        adding.start()
        while not is_done.is_set():
            assert router.status()[0].model == "first"
            assert router.usage() == Usage()
            with pytest.raises(UnknownModelError, match="first"):
                router.for_model("unknown")
    finally:
        sys.setswitchinterval(interval)
        adding.join()
    assert len(router.status()) == 1_001


async def test_the_system_clock_is_real_time() -> None:
    clock, rang = SystemClock(), asyncio.Event()
    before = clock.monotonic()
    clock.call_later(0.0, rang.set)
    await rang.wait()
    await clock.sleep(0.0)
    assert clock.monotonic() >= before


async def test_a_router_works_by_real_time_too() -> None:
    clock = FakeClock()
    deployment = Deployment("a", "m", FakeModel(clock), requests_per_second=500.0)
    router = ModelRouter([deployment], retries=ModelRetryPolicy(deadline=0.05))
    assert len(await together(router.generate(ask()) for _ in range(3))) == 3
    stuck = ModelRouter([Deployment("a", "m", FakeModel(clock, seconds=60.0))], retries=ModelRetryPolicy(deadline=0.01))
    with pytest.raises(ModelTimeoutError):
        await stuck.generate(ask())


def test_tokens_are_estimated_from_the_length_of_the_text() -> None:
    messages = (
        SystemMessage("x" * 40),
        UserMessage((Text("y" * 20), Image(url="http://a/b.png"))),
        AssistantMessage((Text("z" * 8), ToolCall("1", "find", "{}  "))),
        ToolResult("1", "find", "w" * 24),
        UserMessage("v" * 4),
    )
    assert estimate_tokens(ModelRequest(messages)) == 10 + 5 + 765 + 2 + 2 + 6 + 1 + 5 * 4
    assert estimate_tokens(ModelRequest(())) == 1
