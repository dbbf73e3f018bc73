"""`scatter_gather` and `consensus`: concurrent steps whose results are combined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar, cast, get_args

from pydantic_core import to_json
from typing_extensions import TypeForm, override

from tactician.agents.base import BaseRunnable
from tactician.agents.composition import Member
from tactician.agents.flows.steps import Step, StepInput, StepLike, as_step, choose_label, simplify_input
from tactician.agents.results import Attempts, as_own_result, create_failed_result, format_briefing, format_contribution
from tactician.errors import DeclarationError
from tactician.flow.scheduler import gather_or_suspend
from tactician.grammar import format_count
from tactician.runs import Input, NoConsensusError, RunContext, RunError, Runnable, RunResult, RunStatus
from tactician.runs.life.inputs import InputTypes
from tactician.tools.signature import find_caller_namespace, resolve_hints
from tactician.tools.tool import as_text

T = TypeVar("T")


class ScatterGather(BaseRunnable[T], Generic[T]):
    """Concurrent steps on the same input, and a step that consolidates their results; see `scatter_gather`.

    The results of all are `related`, in their order; a tolerated failure has the status `FAILED`.
    """

    def __init__(
        self,
        generators: Sequence[Step[object]],
        consolidator: Step[T],
        returning: TypeForm[T],
        name: str,
        description: str,
        *,
        max_concurrency: int | None,
        tolerate: int,
    ) -> None:
        problems = [] if generators else ["it needs at least one generator"]
        if max_concurrency is not None and max_concurrency < 1:
            problems.append("max_concurrency must be at least 1")
        if not 0 <= tolerate <= max(0, len(generators) - 1):
            problems.append("tolerate must be 0 or more, and less than there are generators")
        if problems:
            raise DeclarationError(name, problems)
        self.output_type = returning
        self.name = name
        self.description = description
        self.generators = tuple(generators)
        self.tolerate = tolerate
        self._consolidator = consolidator
        self._max_concurrency = max_concurrency

    def __repr__(self) -> str:
        return f"ScatterGather({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return *(Member("", generator) for generator in self.generators), Member("consolidator", self._consolidator)

    @property
    @override
    def input_types(self) -> InputTypes:
        return InputTypes.combine(
            (*(generator.find_types(0) for generator in self.generators), self._consolidator.find_types(1))
        )

    async def _work(self, input: Input, context: RunContext) -> RunResult[T]:
        plain = simplify_input(input)
        results = await self._run_generators(plain, context)
        elements = [result.output for result in results if result.status is not RunStatus.FAILED]
        contributions = map(format_contribution, self.generators, results)
        gathered = StepInput((elements, plain), format_briefing(input, contributions))
        return as_own_result(await self._consolidator.run(gathered, context=context), context, results)

    async def _run_generators(self, input: Input, context: RunContext) -> list[RunResult[object]]:
        """Return the results of all generators.

        Raises:
            RunError: when more fail than are allowed to; where none is, what the first to fail raised.
        """
        attempts, step_input = Attempts(context), StepInput((input,), input)

        async def run(key: str, generator: Step[object]) -> RunResult[object]:
            if self.tolerate:
                return await attempts.run(key, generator, step_input)
            return await generator.run(step_input, context=context.as_internal().at(key))

        runs = (run(f"{number}", generator) for number, generator in enumerate(self.generators, start=1))
        results = await gather_or_suspend(*runs, max_concurrency=self._max_concurrency)
        failed = [
            format_contribution(source, result)
            for source, result in zip(self.generators, results, strict=True)
            if result.status is RunStatus.FAILED
        ]
        if len(failed) > self.tolerate:
            reason = f"{len(failed)} of {format_count(len(results), 'generator')} failed, and only {self.tolerate} may"
            raise RunError(
                f"{self.name}: {reason}: {'; '.join(failed)}", create_failed_result(input, context)
            ) from attempts.last_error
        return results


def scatter_gather(
    returning: TypeForm[T],
    generators: Sequence[StepLike[object]],
    consolidate: StepLike[T],
    *,
    elements: type | None = None,
    max_concurrency: int | None = None,
    tolerate: int = 0,
    name: str | None = None,
    description: str | None = None,
) -> ScatterGather[T]:
    """Run several steps concurrently on the same input, and consolidate their results.

    When one fails, all fail, and those that still work are cancelled: a result that lacks something should not come by
    accident. With `tolerate` some may fail, and `consolidate` gets what the others gave.

    Args:
        returning: the type of the result.
        generators: functions of the input, which is optional, or any Runnables; each returns an element.
        consolidate: a function of the list of elements, in the order of the generators, and of the input; or a
            Runnable, which reads what was asked and what everybody gave.
        elements: the type of the elements; as the functions say, or `consolidate` does, by default.
        max_concurrency: number of concurrent steps; no limit, when `None`.
        tolerate: number of generators that may fail.
        name: the name; the name of the type by default.
        description: the purpose.

    Raises:
        DeclarationError: when there is no generator, or a number makes no sense.
    """
    label = choose_label(name, returning)
    namespace = find_caller_namespace(1)
    kind = elements if elements is not None else find_element_type(consolidate, namespace)
    numbered = enumerate(generators, start=1)
    steps = [
        as_step(step, cast("TypeForm[object] | None", kind), f"{label} {n}", namespace, most=1) for n, step in numbered
    ]
    last = as_step(consolidate, returning, "consolidate", namespace, most=2)
    summary = description or f"{label}, from {format_count(len(steps), 'source')}"
    return ScatterGather(steps, last, returning, label, summary, max_concurrency=max_concurrency, tolerate=tolerate)


def find_element_type(consolidate: object, namespace: Mapping[str, object]) -> object | None:
    """Return the element type, from the first parameter of the function that takes a list of elements."""
    if isinstance(consolidate, Runnable) or not callable(consolidate):
        return None
    try:
        hints = resolve_hints(consolidate, namespace)
    except DeclarationError:
        return None
    first = next((hint for name, hint in hints.items() if name != "return"), None)
    members = get_args(first)
    return members[0] if len(members) == 1 and not isinstance(members[0], TypeVar) else None


def consensus(
    returning: TypeForm[T],
    sources: Sequence[StepLike[T]],
    *,
    agree: StepLike[T] | None = None,
    quorum: int | None = None,
    key: Callable[[T], Hashable] | None = None,
    max_concurrency: int | None = None,
    tolerate: int = 0,
    name: str | None = None,
    description: str | None = None,
) -> ScatterGather[T]:
    """Ask several sources concurrently, and return the answer that they agree on.

    At least `quorum` sources give the answer; of equal answers the first counts. When no answer has so many, or
    two have equally many, the run fails and lists the answers: a tie is not a consensus.

    Args:
        returning: the type of each answer, and of the result.
        sources: functions of the input, which is optional, or any Runnables.
        agree: function that combines the list of answers, instead of counting them.
        quorum: number of sources that have to agree; more than half of all by default.
        key: function of an answer that returns the value to compare; the whole answer by default.
        max_concurrency: number of concurrent steps; no limit, when `None`.
        tolerate: number of sources that may fail. They count as sources that do not agree.
        name: the name; the name of the type by default.
        description: the purpose.

    Raises:
        DeclarationError: when there is no source, or a number makes no sense.
    """
    label = choose_label(name, returning)
    namespace = find_caller_namespace(1)
    needed = len(sources) // 2 + 1 if quorum is None else quorum
    if sources and not 1 <= needed <= len(sources):
        raise DeclarationError(label, ["quorum must be from 1 to the number of sources"])
    numbered = enumerate(sources, start=1)
    steps = [as_step(source, returning, f"{label} {number}", namespace, most=1) for number, source in numbered]

    def vote(answers: Sequence[T], question: object, run: RunContext) -> T:
        keys = list(map(key or to_json, answers))
        if (agreed := _find_winner(keys, needed)) is not None:
            return answers[agreed]
        counts = "; ".join(
            f"{votes} x {as_text(answers[keys.index(value)])}" for value, votes in Counter(keys).most_common()
        )
        reason = f"{label}: no answer has {format_count(needed, 'vote')}, and more than any other: {counts}"
        raise NoConsensusError(reason, create_failed_result(question, run))

    last = as_step(vote if agree is None else agree, returning, "agree", namespace, most=2)
    summary = description or f"{label}, as {len(steps)} sources agree on it"
    return ScatterGather(steps, last, returning, label, summary, max_concurrency=max_concurrency, tolerate=tolerate)


def _find_winner(keys: Sequence[Hashable], needed: int) -> int | None:
    """Return the index of the first of the winning answers; `None` when there is no winner."""
    (winner, votes), *others = Counter(keys).most_common()
    is_tie = any(other == votes for _, other in others)
    return None if is_tie or votes < needed else keys.index(winner)
