import asyncio
from collections import Counter

import pytest

from tactician.errors import ConfigurationError, ModelServerError
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.backoff import RetryRule
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tests.llm.routing.support import FakeClock, FakeModel, ask, deployed, settled, together, virtual


def three(clock: FakeClock, seconds: float = 0.0) -> dict[str, FakeModel]:
    return {name: FakeModel(clock, seconds=seconds) for name in "abc"}


def counts(models: dict[str, FakeModel]) -> list[int]:
    return [len(model.starts) for model in models.values()]


async def home_of(router: ModelRouter, session: str) -> str:
    return (await router.generate(ask(session=session))).usage.model


@virtual
async def test_round_robin_takes_each_in_its_turn(clock: FakeClock) -> None:
    router = ModelRouter(deployed(**three(clock)), clock=clock)
    served = [(await router.generate(ask())).usage.model for _ in range(6)]
    assert served == ["a:m", "b:m", "c:m"] * 2


@virtual
async def test_each_model_has_its_own_rotation(clock: FakeClock) -> None:
    models = three(clock)
    router = ModelRouter([*deployed("x", **models), *deployed("y", **models)], clock=clock)
    served = [(await router.generate(ask(model=name))).usage.model for name in ["x", "y", "x", "y"]]
    assert served == ["a:x", "a:y", "b:x", "b:y"]


@virtual
async def test_round_robin_goes_round_those_that_a_request_allows(clock: FakeClock) -> None:
    router = ModelRouter(deployed(**three(clock)), clock=clock)
    served = [(await router.generate(ask(instances=("a", "c")))).usage.model for _ in range(4)]
    assert served == ["a:m", "c:m", "a:m", "c:m"]


@pytest.mark.parametrize("policy", ["round_robin", "least_loaded"])
def test_equal_limits_are_used_evenly_under_pressure(policy: str) -> None:
    clock = FakeClock()
    models = three(clock, seconds=0.7)
    router = ModelRouter(deployed(**models), policy=policy, requests_per_second=5, clock=clock)  # type: ignore[arg-type]

    async def main() -> None:
        await together(router.generate(ask()) for _ in range(900))

    clock.run(main())
    assert all(abs(count - 300) <= 15 for count in counts(models))
    # All of what the limits allow is used: 900 calls at 15 a second, and the last one's own time.
    assert clock.monotonic() - 1000.0 < 900 / 15 + 1.0


@virtual
async def test_least_loaded_takes_the_one_with_the_fewest_calls_under_way(clock: FakeClock) -> None:
    slow, quick = FakeModel(clock, seconds=100.0), FakeModel(clock, seconds=1.0)
    router = ModelRouter(deployed(slow=slow, quick=quick), policy="least_loaded", clock=clock)
    calls = []
    for _ in range(10):
        calls.append(asyncio.create_task(router.generate(ask())))
        await asyncio.sleep(2.0)
    await together(calls)
    assert (len(slow.starts), len(quick.starts)) == (1, 9)


@virtual
async def test_least_loaded_goes_round_where_all_have_as_much_to_do(clock: FakeClock) -> None:
    models = three(clock)
    router = ModelRouter(deployed(**models), policy="least_loaded", clock=clock)
    for _ in range(9):
        await router.generate(ask())
    assert counts(models) == [3, 3, 3]


@virtual
async def test_a_session_sticks_to_its_instance_and_sessions_are_spread(clock: FakeClock) -> None:
    router = ModelRouter(deployed(**three(clock)), policy="sticky", clock=clock)
    homes = {session: await home_of(router, session) for session in [*map(str, range(300)), "\ud83d"]}
    for session, home in homes.items():
        assert await home_of(router, session) == home
    assert all(70 <= count <= 130 for count in Counter(homes.values()).values())


@virtual
async def test_when_an_instance_goes_only_its_own_sessions_move(clock: FakeClock) -> None:
    models = three(clock)
    before = ModelRouter(deployed(**models), policy="sticky", clock=clock)
    after = ModelRouter(deployed(a=models["a"], c=models["c"]), policy="sticky", clock=clock)
    for session in map(str, range(100)):
        home = await home_of(before, session)
        assert home == "b:m" or await home_of(after, session) == home


@virtual
async def test_sticky_goes_round_where_there_is_no_session(clock: FakeClock) -> None:
    models = three(clock)
    router = ModelRouter(deployed(**models), policy="sticky", clock=clock)
    for _ in range(6):
        await router.generate(ask())
    assert counts(models) == [2, 2, 2]


@virtual
async def test_a_session_waits_for_its_instance_although_others_are_free(clock: FakeClock) -> None:
    models = three(clock)
    router = ModelRouter(deployed(**models), policy="sticky", requests_per_second=1, clock=clock)
    results = await together(router.generate(ask(session="one")) for _ in range(3))
    assert len({one.usage.model for one in results if not isinstance(one, BaseException)}) == 1
    assert clock.monotonic() == pytest.approx(1002.0)


@virtual
async def test_a_session_leaves_an_instance_with_an_open_circuit_and_comes_back_to_it(clock: FakeClock) -> None:
    models = three(clock)
    router = ModelRouter(
        deployed(**models),
        policy="sticky",
        clock=clock,
        circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=10.0),
    )
    home = await home_of(router, "one")
    models[home[0]]._outcomes.append(ModelServerError("down", status=503))
    elsewhere = await home_of(router, "one")
    assert elsewhere != home
    assert await home_of(router, "one") == elsewhere
    await asyncio.sleep(11.0)
    assert await home_of(router, "one") == home


@virtual
async def test_sessions_that_wait_for_an_instance_move_when_its_circuit_opens(clock: FakeClock) -> None:
    models = {name: FakeModel(clock, seconds=1.0) for name in "ab"}
    router = ModelRouter(
        [Deployment(name, "m", model, max_concurrency=1) for name, model in models.items()],
        policy="sticky", clock=clock, circuit_breaker=CircuitBreakerPolicy(failure_threshold=1, cooldown=1000.0),
        retries=ModelRetryPolicy(server=RetryRule(attempts=1)),
    )  # fmt: skip
    home = await home_of(router, "one")
    models[home[0]]._outcomes.append(ModelServerError("down", status=503))
    failing, *others = [asyncio.create_task(router.generate(ask(session="one"))) for _ in range(3)]
    results = await together([failing, *others])
    assert isinstance(results[0], ModelServerError)
    assert all(not isinstance(one, BaseException) and one.usage.model != home for one in results[1:])
    assert clock.monotonic() < 1010.0


@virtual
async def test_a_policy_of_ones_own_is_asked(clock: FakeClock) -> None:
    from tactician.llm.routing.policies import RoundRobin

    class Last(RoundRobin):
        def pick(self, states, is_ready):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            return next((state for state in reversed(states) if is_ready(state)), None)

    models = three(clock)
    router = ModelRouter(deployed(**models), policy=Last, clock=clock)
    for _ in range(3):
        await router.generate(ask())
    assert counts(models) == [0, 0, 3]


def test_an_unknown_policy_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="'random'; there are round_robin, least_loaded, sticky"):
        ModelRouter([], policy="random")  # type: ignore[arg-type]


@virtual
async def test_retries_do_not_disturb_the_rotation_of_first_attempts(clock: FakeClock) -> None:
    models = three(clock)
    models["a"]._outcomes = [ModelServerError("down", status=500) for _ in range(100)]
    router = ModelRouter(deployed(**models), clock=clock, circuit_breaker=CircuitBreakerPolicy(failure_threshold=0))
    for _ in range(300):
        await router.generate(ask())
    await settled()
    assert counts(models) == [100, 150, 150]
