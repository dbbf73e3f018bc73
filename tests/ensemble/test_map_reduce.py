"""Map-reduces: a task for each item, and tasks that combine the outputs until one is left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tactician import Ensemble, Loop, MapReduce, RunStatus, Task, approve
from tactician.ensemble import (
    EnsembleDefinitionError,
    EnsembleResult,
    MapReduceError,
    TaskFailedError,
    TaskInput,
    TaskOutput,
)
from tactician.ensemble.groups.bins import pack_bins
from tactician.ensemble.tasks.task import TaskLike
from tactician.testing import ScriptedModel
from tests.ensemble.support import cashier, durable, note, numbered, over, places_of, prompt_of


def join(task: TaskInput) -> str:
    """Join the outputs that a task sees."""
    return "+".join(output.raw for output in task.context_outputs)


def echo(item: object) -> Task:
    """The task that gives an item."""
    return Task(f"Read {item}", handler=lambda task: str(item))


def combine(outputs: Sequence[TaskOutput]) -> Task:
    """The task that joins outputs."""
    return Task("Combine", handler=join)


async def run(*tasks: TaskLike) -> EnsembleResult:
    """Run tasks one after another."""
    return await Ensemble("E", tasks).run({}, context=over())


async def fail(*tasks: TaskLike) -> Exception:
    """The error of the map-reduce with the id "m"."""
    with pytest.raises(TaskFailedError) as caught:
        await run(*tasks)
    return caught.value.failed["m"]


class TestTemplates:
    async def test_tasks_may_be_templates_with_the_item_and_the_values_of_the_run(self) -> None:
        read = Task("Read {item} for {who}", handler=lambda task: task.description)
        reduce = MapReduce(["a {b}", {"c": 1}], map=read, reduce=Task("Combine for {who}", handler=join), id="m")
        result = await Ensemble("E", [reduce]).run({"who": "Ann"}, context=over())
        assert result.raw == 'Read a {b} for Ann+Read {"c":1} for Ann'
        assert [part.task_id for part in result["m"].parts] == [
            "Read a {b} for Ann", 'Read {"c":1} for Ann', "Combine for Ann"
        ]  # fmt: skip

    async def test_a_template_for_all_items_names_them(self) -> None:
        read = Task("Read {items}", handler=lambda task: task.description)
        whole = MapReduce(["a", "b"], map=echo, reduce=combine, direct=read, id="m")
        assert (await run(whole)).raw == 'Read ["a","b"]'

    async def test_other_names_need_values(self) -> None:
        tasks = [MapReduce(["a"], map=Task("{item} {items} {who}"), reduce=Task("{item}"), id="m")]
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", tasks).check({})
        assert [(problem.path, problem.message[:30]) for problem in caught.value.problems] == [
            ("tasks[0].map.description", "no value for 'items', 'who' (g"),
            ("tasks[0].reduce.description", "no value for 'item' (given: no"),
        ]

    async def test_a_model_chooses_the_agent_of_a_template_once(self) -> None:
        profile = {"role": "Reader", "goal": "Read", "background": "You read."}
        chosen = {"agents": [{"task": 1, **profile}, {"task": 2, **profile}]}
        model = ScriptedModel(json.dumps(chosen), "A", "B", "AB")
        reduce = MapReduce(["a", "b"], map=Task("Read {item}"), reduce=Task("Combine"), id="m")
        result = await Ensemble("E", [reduce], synthesize="maker").run({}, context=over(model))
        assert (result.raw, {part.role for part in result["m"].parts}) == ("AB", {"Reader"})

    async def test_a_template_waits_for_the_tasks_in_its_context(self) -> None:
        before = Task("Before", handler=lambda task: "0")
        read = Task("Read {item}", context=[before], handler=lambda task: join(task) + task.description[-1])
        result = await run(before, MapReduce("ab", map=read, reduce=combine, id="m"))
        assert result.raw == "0a+0b"


class TestChunks:
    async def test_a_task_for_each_item_and_one_that_combines(self) -> None:
        result = await run(MapReduce(["a", "b", "c"], map=echo, reduce=combine, id="m"))
        assert (result.raw, result["m"].role) == ("a+b+c", "(map-reduce)")

    async def test_the_chunk_size_is_5_by_default_and_outputs_are_combined_level_by_level(self) -> None:
        sizes: list[int] = []

        def count(outputs: Sequence[TaskOutput]) -> Task:
            sizes.append(len(outputs))
            return combine(outputs)

        result = await run(MapReduce(range(11), map=echo, reduce=count, id="m"))
        assert sizes == [5, 5, 1, 3]
        assert result.raw == "+".join(map(str, range(11)))

    async def test_the_outputs_of_all_levels_are_kept(self) -> None:
        result = await run(MapReduce("abc", map=echo, reduce=combine, chunk_size=2, id="m"))
        raw = [part.raw for part in result["m"].parts]
        assert raw == ["a", "b", "c", "a+b", "c", "a+b+c"]
        assert [part.task_id for part in result["m"].parts][3:] == ["Combine", "Combine#2", "Combine#3"]
        assert result["Read b"].raw == "b"

    async def test_a_single_item_is_reduced_too(self) -> None:
        result = await run(MapReduce("a", map=echo, reduce=combine, id="m"))
        assert [part.task_id for part in result["m"].parts] == ["Read a", "Combine"]

    async def test_a_reducing_task_that_names_a_context_sees_that_alone(self) -> None:
        def write(outputs: Sequence[TaskOutput]) -> Task:
            return Task(f"Sum up {len(outputs)}", context=[], handler=lambda task: len(task.context_outputs))

        assert (await run(MapReduce("abc", map=echo, reduce=write))).output == 0

    async def test_equal_tasks_of_a_level_get_ids_of_their_own(self) -> None:
        result = await run(MapReduce("ab", map=lambda item: Task("Read", handler=lambda task: item), reduce=combine))
        assert (result["Read"].raw, result["Read#2"].raw) == ("a", "b")

    async def test_max_parallel_limits_the_tasks_that_run_at_once(self) -> None:
        running, most = 0, 0

        async def work(task: TaskInput) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return ""

        await run(MapReduce(range(9), map=lambda n: Task(str(n), handler=work), reduce=combine, max_parallel=3))
        assert most == 3


class TestTokens:
    async def test_outputs_are_packed_by_their_tokens(self) -> None:
        sizes: list[list[int]] = []

        def note(outputs: Sequence[TaskOutput]) -> Task:
            sizes.append([len(output.raw) for output in outputs])
            return Task("Shorten", handler=lambda task: "x" * 4)

        items = ["x" * 4 * tokens for tokens in (6, 5, 4, 3, 2)]
        by_length = MapReduce(
            items, map=lambda item: Task("Read", handler=lambda task: item), reduce=note, max_tokens=10
        )
        await run(by_length)
        assert sizes == [[24, 16], [20, 12, 8], [4, 4]]

    async def test_the_count_of_the_provider_comes_before_the_estimate(self) -> None:
        asked: list[str] = []

        def estimate(text: str) -> int:
            asked.append(text)
            return 1

        model = ScriptedModel()
        model.when(prompt_contains="Read").reply("from the model")
        by_model = lambda item: Task("Read", model=model)  # noqa: E731
        items = MapReduce("ab", map=by_model, reduce=combine, max_tokens=100, estimate=estimate)
        await run(items)
        assert asked == []
        await run(MapReduce("ab", map=echo, reduce=combine, max_tokens=100, estimate=estimate))
        assert asked == ["a", "b"]

    async def test_an_estimate_is_rounded_up_so_that_many_short_outputs_do_not_exceed_the_budget(self) -> None:
        sizes: list[int] = []

        def note(outputs: Sequence[TaskOutput]) -> Task:
            sizes.append(len(outputs))
            return combine(outputs[:1])

        await run(MapReduce(["yes"] * 12, map=echo, reduce=note, max_tokens=4, max_levels=1))
        assert sizes == [4, 4, 4, 3]

    async def test_when_the_levels_are_used_up_one_last_task_combines_what_is_left(self) -> None:
        result = await run(
            MapReduce(["a" * 40, "b" * 40], map=echo, reduce=combine, max_tokens=1, max_levels=3, id="m")
        )
        assert result.raw == "a" * 40 + "+" + "b" * 40
        assert len(result["m"].parts) == 2 + 3 * 2 + 1


class TestDirect:
    async def test_items_that_fit_go_to_one_task(self) -> None:
        def direct(items: Sequence[str]) -> Task:
            return Task(f"Read all of {len(items)}", handler=lambda task: "".join(items))

        result = await run(MapReduce("abc", map=echo, reduce=combine, max_tokens=10, direct=direct, id="m"))
        assert (result.raw, len(result["m"].parts)) == ("abc", 1)
        by_number = MapReduce("abc", map=echo, reduce=combine, chunk_size=3, direct=direct)
        assert (await run(by_number)).raw == "abc"

    async def test_items_that_do_not_fit_are_mapped(self) -> None:
        direct = pytest.fail
        many = MapReduce("abcd", map=echo, reduce=combine, chunk_size=3, direct=direct)  # type: ignore[arg-type]
        assert (await run(many)).raw == "a+b+c+d"
        large = MapReduce(["a" * 50], map=echo, reduce=combine, max_tokens=10, direct=direct)  # type: ignore[arg-type]
        assert (await run(large)).raw == "a" * 50


class TestItems:
    async def test_items_may_follow_from_the_output_of_a_task(self) -> None:
        listing = Task("List", handler=lambda task: "x y z")
        words = MapReduce(lambda task: task.context_outputs[0].raw.split(), map=echo, reduce=combine)
        assert (await run(listing, words)).raw == "x+y+z"

    async def test_braces_of_items_are_text_and_no_templates(self) -> None:
        model = ScriptedModel()
        model.when(prompt_contains="Read").reply("read")
        texts = ["{topic}", "{{topic}}", "{"]
        tasks = MapReduce(texts, map=lambda item: Task(f"Read {item}"), reduce=combine)
        await Ensemble("E", [tasks], model=model).run({}, context=over())
        assert sorted(prompt_of(model, n).rpartition(" ")[2] for n in range(3)) == sorted(texts)

    async def test_no_items_are_a_mistake_or_an_error(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match="there must be at least one item"):
            MapReduce([], map=echo, reduce=combine)
        error = await fail(MapReduce(lambda task: [], map=echo, reduce=combine, id="m"))
        assert str(error) == "MapReduce 'm': `items` returned none"


class TestErrors:
    @pytest.mark.parametrize(
        ("make", "place", "message"),
        [
            (lambda: MapReduce("a", map="x", reduce=combine), "map", "not a function"),  # type: ignore[arg-type]
            (lambda: MapReduce("a", map=echo, reduce=combine, chunk_size=1), "chunk_size", "must be >= 2, got: 1"),
            (lambda: MapReduce("a", map=echo, reduce=combine, max_tokens=0), "max_tokens", "must be > 0, got: 0"),
            (lambda: MapReduce("a", map=echo, reduce=combine, max_levels=0), "max_levels", "must be > 0, got: 0"),
            (lambda: MapReduce("a", map=echo, reduce=combine, max_parallel=0), "max_parallel", "must be > 0"),
            (
                lambda: MapReduce("a", map=echo, reduce=combine, max_tokens=9, chunk_size=2),
                "max_tokens",
                "there is a chunk_size too",
            ),
        ],
    )
    def test_a_map_reduce_names_the_place_and_the_mistake(
        self, make: Callable[[], MapReduce[str]], place: str, message: str
    ) -> None:
        with pytest.raises(EnsembleDefinitionError, match=message) as caught:
            make()
        assert places_of(caught.value.problems) == [place]

    async def test_a_function_that_raises_is_named_with_its_step(self) -> None:
        def broken(outputs: Sequence[TaskOutput]) -> Task:
            raise ValueError("no")

        error = await fail(MapReduce("ab", map=echo, reduce=broken, id="m"))
        assert isinstance(error, MapReduceError)
        assert str(error) == "MapReduce 'm': reduce-1[0] failed: ValueError: no"
        assert [output.raw for output in error.outputs] == ["a", "b"]

    @pytest.mark.parametrize("direct", [None, combine])
    async def test_an_estimate_that_raises_is_named(self, direct: Callable[..., Task] | None) -> None:
        def broken(text: str) -> int:
            raise ValueError(text)

        error = await fail(
            MapReduce("ab", map=echo, reduce=combine, direct=direct, max_tokens=9, estimate=broken, id="m")
        )
        assert isinstance(error, MapReduceError)
        assert str(error) == "MapReduce 'm': `estimate` failed: ValueError: a"
        assert len(error.outputs) == (2 if direct is None else 0)

    async def test_a_function_that_returns_no_task_is_named_with_its_step(self) -> None:
        error = await fail(MapReduce("ab", map=str, reduce=combine, id="m"))  # type: ignore[arg-type]
        assert str(error) == "MapReduce 'm': map[0] returned 'a', which is not a Task"

    async def test_mistakes_of_tasks_that_are_made_are_named_with_their_places(self) -> None:
        unknown = Task("outside")
        error = await fail(MapReduce("ab", map=lambda item: Task(item, context=[unknown]), reduce=combine, id="m"))
        assert isinstance(error, EnsembleDefinitionError)
        assert places_of(error.problems) == ["map[0].context[0]", "map[1].context[0]"]

    async def test_what_tasks_that_are_made_learn_with_has_to_be_there(self) -> None:
        def learn(item: str) -> Task:
            inside = Task("inside", handler=join, reflect=True)
            return Task(item, handler=Loop([inside], max_iterations=1), memory=["diary"])

        error = await fail(MapReduce("a", map=learn, reduce=combine, id="m"))
        assert isinstance(error, EnsembleDefinitionError)
        assert places_of(error.problems) == ["map[0].memory[0]", "map[0].tasks[0].reflect"]


class TestDurability:
    async def test_a_map_reduce_that_waits_goes_on_without_completed_tasks(self) -> None:
        runs: list[str] = []
        payer = cashier("paid")

        def make(item: str) -> Task:
            if item == "pay":
                return Task("Pay", agent=payer)
            return Task(f"Read {item}", handler=note(runs, item))

        context = durable()
        ensemble = Ensemble("E", [MapReduce(["a", "pay", "b"], map=make, reduce=combine, chunk_size=2, id="m")])
        waiting = await ensemble.run({}, context=context)
        assert (waiting.status, sorted(runs)) == (RunStatus.WAITING, ["a", "b"])
        result = await ensemble.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert (result.raw, sorted(runs)) == ("a+paid+b", ["a", "b"])

    async def test_items_may_be_loops(self) -> None:
        def make(item: str) -> Loop:
            return Loop(numbered(item), max_iterations=2, id=f"loop {item}")

        assert (await run(MapReduce("ab", map=make, reduce=combine))).raw == "a2+b2"


sizes = st.lists(st.integers(0, 60), max_size=40)


@given(sizes, st.integers(1, 50))
def test_bins_never_exceed_the_budget_unless_one_item_alone_does(sizes: list[int], capacity: int) -> None:
    bins = pack_bins(sizes, capacity)
    assert sorted(number for items in bins for number in items) == list(range(len(sizes)))
    assert all(len(items) == 1 or sum(sizes[number] for number in items) <= capacity for items in bins)
    assert bins == sorted(bins)


@given(sizes, st.integers(1, 50))
def test_bins_are_those_of_first_fit_decreasing(sizes: list[int], capacity: int) -> None:
    bins: list[list[int]] = []
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        fitting = (items for items in bins if sum(sizes[one] for one in items) + sizes[number] <= capacity)
        if (first := next(fitting, None)) is None:
            bins.append([number])
        else:
            first.append(number)
    assert pack_bins(sizes, capacity) == sorted(sorted(items) for items in bins)


@given(st.integers(1, 30), st.integers(2, 6) | st.none(), st.integers(1, 12), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_every_output_is_combined_exactly_once_and_the_levels_end(
    count: int, chunk_size: int | None, max_tokens: int, max_levels: int
) -> None:
    combined: list[str] = []

    def note(outputs: Sequence[TaskOutput]) -> Task:
        combined.extend(output.task_id for output in outputs)
        return combine(outputs)

    budget = None if chunk_size else max_tokens
    tasks = MapReduce(
        range(count), map=echo, reduce=note, chunk_size=chunk_size, max_tokens=budget, max_levels=max_levels, id="m"
    )
    result = asyncio.run(run(tasks))
    ids = [part.task_id for part in result["m"].parts]
    assert sorted(combined) == sorted(ids[:-1])
    assert sorted(result.raw.split("+")) == sorted(map(str, range(count)))
