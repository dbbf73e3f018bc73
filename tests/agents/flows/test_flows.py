"""The ready-made flows: chapter 3.7 of the guide, sentence by sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pytest

from tactician import (
    Agent,
    Ai,
    Budget,
    OperationContext,
    Platform,
    RouterAgent,
    RunContext,
    RunStatus,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.agents import BaseRunnable
from tactician.agents.flows import (
    Feedback,
    Scored,
    consensus,
    repeat_until,
    repeat_until_acceptable,
    scatter_gather,
    simple_agent,
)
from tactician.errors import ConfigurationError, DeclarationError, InvalidArgumentsError, StoredStateError
from tactician.llm import UserMessage
from tactician.loop import TurnStarted
from tactician.runs import (
    BudgetError,
    NoConsensusError,
    OutputError,
    RepeatLimitError,
    RunCompleted,
    RunError,
    Runnable,
)
from tactician.testing import ScriptedModel, ToolCall
from tests.agents.constellations.support import says, surroundings, told


@dataclass(frozen=True)
class Joke:
    text: str


@dataclass(frozen=True)
class Topic:
    name: str


@dataclass(frozen=True)
class FactCheck:
    claim: str
    is_true: bool


@dataclass(frozen=True)
class FactChecks:
    checks: list[FactCheck]
    about: str = ""


T = TypeVar("T")


class Opaque:
    """Something that has no JSON form."""


def gathered(checks: list[FactCheck]) -> FactChecks:
    return FactChecks(checks)


def checker(claim: str, verdict: bool = True) -> Callable[[], FactCheck]:
    def check() -> FactCheck:
        return FactCheck(claim, verdict)

    return check


async def output_of(flow: BaseRunnable[T], given: object = "") -> T:
    return (await flow.run(given, context=surroundings())).output


class TestSimpleAgent:
    async def test_it_returns_the_type_has_a_name_and_a_description_and_reaches_the_models(self) -> None:
        joker = simple_agent(
            Joke,
            lambda ai: ai.create(Joke, "Tell me a joke"),
            name="joker",
            description="This is guaranteed to return a dreadful joke",
        )
        model = ScriptedModel(Joke("ha"))
        result = await joker.run("", context=RunContext.over(model))
        assert (joker.name, joker.description) == ("joker", "This is guaranteed to return a dreadful joke")
        assert result.output == Joke("ha")
        assert result.usage.requests == 1
        assert model.calls[0].prompt == "Tell me a joke"
        assert repr(joker) == "SimpleAgent('joker')"

    async def test_it_is_called_like_its_type_when_nothing_else_is_said(self) -> None:
        joker = simple_agent(Joke, lambda: Joke("ha"))
        assert (joker.name, joker.description) == ("Joke", "gives a Joke")

    async def test_parameters_are_the_input_and_what_their_types_say(self) -> None:
        async def tell(topic: Topic, run: RunContext, *, ai: Ai, mood: str = "good") -> Joke:
            return Joke(f"{topic.name} {run.path} {ai.context is run} {mood}")

        result = await simple_agent(Joke, tell).run(Topic("cats"), context=surroundings())
        assert result.output == Joke("cats ('Joke', 'tell') True good")

    async def test_a_parameter_called_context_is_the_context(self) -> None:
        result = await simple_agent(str, lambda topic, context: context.path[0]).run("x", context=surroundings())
        assert result.output == "str"

    @pytest.mark.parametrize("given", ["cats", UserMessage("cats"), [UserMessage("cats")], UserInput("cats")])
    async def test_text_comes_as_the_type_that_is_declared(self, given: object) -> None:
        def spoken(topic: UserInput) -> str:
            return topic.content

        assert (await simple_agent(str, spoken).run(given, context=surroundings())).output == "cats"

    @pytest.mark.parametrize("given", ["cats", UserMessage("cats"), [UserMessage("cats")]])
    async def test_a_message_of_text_is_its_text(self, given: object) -> None:
        assert (
            await simple_agent(Joke, lambda text: Joke(text)).run(given, context=surroundings())
        ).output.text == "cats"

    async def test_a_longer_conversation_stays_one(self) -> None:
        talk = [UserMessage("a"), UserMessage("b")]
        result = await simple_agent(int, lambda messages: len(messages)).run(talk, context=surroundings())
        assert result.output == 2

    async def test_json_becomes_the_type_that_is_declared(self) -> None:
        def tell(topic: Topic) -> Joke:
            return Joke(topic.name)

        agent = simple_agent(Joke, tell)
        for given in ('{"name": "cats"}', {"name": "cats"}):
            assert (await agent.run(given, context=surroundings())).output == Joke("cats")
        with pytest.raises(InvalidArgumentsError, match="tell: the parameter 'topic' does not fit: it: Invalid JSON"):
            await agent.run("cats", context=surroundings())

    async def test_what_is_not_of_the_type_is_refused(self) -> None:
        with pytest.raises(OutputError, match="Joke gave no valid Joke: text: Field required") as caught:
            await simple_agent(Joke, lambda: {"txt": "ha"}).run("", context=surroundings())  # type: ignore[arg-type, return-value]
        assert caught.value.result.status is RunStatus.FAILED
        assert (await simple_agent(Joke, lambda: {"text": "a"}).run("", context=surroundings())).output == Joke("a")  # type: ignore[arg-type, return-value]

    async def test_types_without_a_json_form_go_through_and_are_checked(self) -> None:
        one, context = Opaque(), RunContext.over(ScriptedModel())
        assert (await simple_agent(Opaque, lambda: one).run("", context=context)).output is one
        with pytest.raises(OutputError, match="it is an int"):
            await simple_agent(Opaque, lambda: 3).run("", context=context)  # type: ignore[arg-type, return-value]
        several: type[list[Opaque]] = list[Opaque]
        assert (await simple_agent(several, lambda: [one]).run("", context=context)).output == [one]

    async def test_types_without_a_json_form_are_refused_where_the_run_is_saved(self) -> None:
        with pytest.raises(StoredStateError, match=r"`Opaque` cannot be stored: .* Make Opaque a dataclass"):
            await simple_agent(Opaque, Opaque).run("", context=surroundings())

    async def test_the_step_may_be_any_runnable(self) -> None:
        agent = says("Joker", Joke("ha"))
        assert (await simple_agent(Joke, agent).run("", context=surroundings())).output == Joke("ha")

    async def test_it_may_be_a_partial_a_method_a_callable_object_or_built_in(self) -> None:
        class Teller:
            def __call__(self, topic: Topic) -> Joke:
                return Joke(topic.name)

            def tell(self, topic: Topic) -> Joke:
                return Joke(topic.name)

        def tell(mood: str, topic: Topic) -> Joke:
            return Joke(f"{mood} {topic.name}")

        for step, expected in ((Teller(), "cats"), (Teller().tell, "cats"), (partial(tell, "good"), "good cats")):
            result = await simple_agent(Joke, step).run({"name": "cats"}, context=surroundings())
            assert result.output == Joke(expected)
        assert (await simple_agent(int, len).run("four", context=surroundings())).output == 4
        assert (await simple_agent(str, min).run(["b", "a"], context=surroundings())).output == "a"

    def test_a_function_that_needs_more_is_refused(self) -> None:
        with pytest.raises(DeclarationError, match="'more' gets nothing: the step receives 1 value"):
            simple_agent(Joke, lambda topic, more: Joke(topic))


class TestPlaces:
    async def test_a_flow_is_a_route_a_tool_a_stream_and_a_step_of_another(self) -> None:
        joker = simple_agent(Joke, lambda topic: Joke(topic), name="Joker")
        desk = RouterAgent("Desk", model=ScriptedModel("1"), routes={"jokes": joker})
        assert (await desk.run("cats", context=surroundings())).output == Joke("cats")
        boss = Agent("Boss", model=ScriptedModel(ToolCall("joker", request="cats"), "done"), tools=[joker.as_tool()])
        assert '{"text":"cats"}' in str((await boss.run("go", context=surroundings())).messages)
        *_, last = [event async for event in joker.stream("cats", context=surroundings())]
        assert isinstance(last, RunCompleted)
        outer = simple_agent(Joke, joker)
        assert (await outer.run("cats", context=surroundings())).output == Joke("cats")
        assert isinstance(joker, Runnable)

    async def test_an_action_runs_it_as_a_part_of_its_process_and_it_reaches_the_process(self) -> None:
        def tell(topic: UserInput, context: OperationContext) -> Joke:
            return Joke(f"{topic.content} {context.process.name} {context.run.path}")

        joker = simple_agent(Joke, tell)

        @planned_agent(description="jokes")
        class Comedian:
            @achieves_goal("a joke")
            @action
            async def joke(self, user_input: UserInput, context: OperationContext) -> Joke:
                return (await joker.run(user_input, context=context.run)).output

        platform = Platform(models=ScriptedModel()).register(Comedian())
        expected = "cats Comedian ('Comedian', 'joke', 'Joke', 'tell')"
        assert await platform.invoke(Joke, "cats") == Joke(expected)
        with pytest.raises(ConfigurationError, match="no OperationContext is here; only actions"):
            await joker.run("cats", context=surroundings())

    async def test_it_can_be_registered_and_run_by_its_name(self) -> None:
        platform = Platform(models=ScriptedModel()).register(simple_agent(Joke, lambda: Joke("ha"), name="joker"))
        joker = platform.agents["joker"]
        assert (await joker.run("", context=platform.context())).output == Joke("ha")


class TestScatterGather:
    async def test_each_generates_an_element_and_a_function_consolidates_the_list(self) -> None:
        flow = scatter_gather(FactChecks, [checker("a"), checker("b", False)], gathered)
        result = await flow.run("", context=surroundings())
        assert result.output == FactChecks([FactCheck("a", True), FactCheck("b", False)])
        assert [one.output for one in result.related] == result.output.checks
        assert (flow.name, flow.description) == ("FactChecks", "FactChecks, from 2 sources")
        assert repr(flow) == "ScatterGather('FactChecks')"

    async def test_they_work_at_once(self) -> None:
        barrier = asyncio.Barrier(3)

        async def check() -> FactCheck:
            async with asyncio.timeout(30):
                return FactCheck(str(await barrier.wait()), True)

        result = await scatter_gather(FactChecks, [check] * 3, gathered).run("", context=surroundings())
        assert {check.claim for check in result.output.checks} == {"0", "1", "2"}

    @pytest.mark.parametrize(("limit", "most"), [(2, 2), (None, 5)])
    async def test_no_more_work_at_once_than_is_allowed(self, limit: int | None, most: int) -> None:
        at_work: list[int] = [0]

        async def check() -> FactCheck:
            at_work.append(at_work[-1] + 1)
            await asyncio.sleep(0)
            at_work.append(at_work[-1] - 1)
            return FactCheck("x", True)

        flow = scatter_gather(FactChecks, [check] * 5, gathered, max_concurrency=limit)
        await flow.run("", context=surroundings())
        assert max(at_work) == most

    async def test_generators_and_consolidator_see_the_input(self) -> None:
        def check(topic: Topic) -> FactCheck:
            return FactCheck(topic.name, True)

        async def consolidate(checks: Sequence[FactCheck], topic: Topic, ai: Ai) -> FactChecks:
            return FactChecks(list(checks), await ai.generate_text(topic.name))

        context = RunContext.over(ScriptedModel("about cats"))
        result = await scatter_gather(FactChecks, [check], consolidate).run(Topic("cats"), context=context)
        assert result.output == FactChecks([FactCheck("cats", True)], "about cats")

    async def test_agents_generate_and_consolidate_by_what_they_read(self) -> None:
        judge = says("Judge", FactChecks([], "both"))
        panel = [says("A", FactCheck("a", True)), says("B", FactCheck("b", True))]
        result = await scatter_gather(FactChecks, panel, judge, elements=FactCheck).run("true?", context=surroundings())
        assert result.output.about == "both"
        assert [one.output for one in result.related] == [FactCheck("a", True), FactCheck("b", True)]
        assert isinstance(judge.model, ScriptedModel)
        assert '[A]: {"claim":"a","is_true":true}' in judge.model.calls[0].prompt
        assert "true?" in judge.model.calls[0].prompt

    async def test_the_elements_are_what_the_consolidator_says_they_are(self) -> None:
        result = await output_of(scatter_gather(FactChecks, [says("A", FactCheck("a", True))], gathered))
        assert result == FactChecks([FactCheck("a", True)])

    async def test_a_consolidator_that_reads_takes_anything(self) -> None:
        judge = says("Judge", FactChecks([]))
        assert await output_of(scatter_gather(FactChecks, [says("A", "text"), checker("b")], judge)) == FactChecks([])
        assert isinstance(judge.model, ScriptedModel)
        assert "[A]: text" in judge.model.calls[0].prompt

    async def test_a_consolidator_may_be_a_callable_object(self) -> None:
        class Gatherer:
            def __call__(self, checks: list[FactCheck]) -> FactChecks:
                return FactChecks(checks)

        assert await output_of(scatter_gather(FactChecks, [checker("a")], Gatherer())) == gathered(
            [FactCheck("a", True)]
        )

    async def test_one_that_fails_fails_all_and_the_others_are_cancelled(self) -> None:
        cancelled: list[bool] = []
        begun = asyncio.Event()

        async def slow() -> FactCheck:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(True)
                raise
            return FactCheck("never", False)

        async def fail() -> FactCheck:
            await begun.wait()
            raise LookupError("gone")

        with pytest.raises(LookupError, match="gone"):
            await scatter_gather(FactChecks, [slow, fail], gathered).run("", context=surroundings())
        assert cancelled == [True]

    async def test_some_may_fail_when_that_is_tolerated(self) -> None:
        def fail() -> FactCheck:
            raise LookupError("gone")

        flow = scatter_gather(FactChecks, [checker("a"), fail, checker("b")], gathered, tolerate=1)
        result = await flow.run("", context=surroundings())
        assert [check.claim for check in result.output.checks] == ["a", "b"]
        assert [one.status for one in result.related] == [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.COMPLETED]
        assert result.related[1].output == "[ERROR: LookupError: gone]"

        flow = scatter_gather(FactChecks, [checker("a"), fail, fail], gathered, tolerate=1)
        with pytest.raises(
            RunError, match=r"2 of 3 generators failed, and only 1 may: \[fail\]: .*gone.*; \[fail\]"
        ) as caught:
            await flow.run("", context=surroundings())
        assert isinstance(caught.value.__cause__, LookupError)

    async def test_they_share_the_budget(self) -> None:
        flow = scatter_gather(Joke, [lambda ai: ai.generate_text("x")] * 2, lambda texts: Joke(texts[0]))
        with pytest.raises(BudgetError):
            await flow.run("", context=RunContext.over(ScriptedModel("a", "b")), budget=Budget(turns=1))

    async def test_a_stream_has_the_events_of_all(self) -> None:
        flow = scatter_gather(Joke, [lambda ai: ai.generate_text("x")] * 2, lambda texts: Joke(texts[0]), name="F")
        context = RunContext.over(ScriptedModel("a", "b"))
        events = [event async for event in flow.stream("", context=context)]
        assert sorted(told(events, TurnStarted)) == [("F", "F 1"), ("F", "F 2")]

    @pytest.mark.parametrize(
        ("count", "limit", "tolerate", "problem"),
        [
            (0, None, 0, "at least one generator"),
            (2, 0, 0, "max_concurrency must be at least 1"),
            (2, None, 2, "tolerate must be 0 or more"),
            (2, None, -1, "tolerate must be 0 or more"),
        ],
    )
    def test_numbers_have_to_make_sense(self, count: int, limit: int | None, tolerate: int, problem: str) -> None:
        with pytest.raises(DeclarationError, match=problem):
            scatter_gather(FactChecks, [checker("a")] * count, gathered, max_concurrency=limit, tolerate=tolerate)


def jokes(*texts: str) -> list[Callable[[], Joke]]:
    return [partial(Joke, text) for text in texts]


class TestConsensus:
    async def test_what_most_sources_say_is_the_answer(self) -> None:
        flow = consensus(Joke, jokes("a", "b", "b"))
        result = await flow.run("", context=surroundings())
        assert result.output == Joke("b")
        assert [one.output for one in result.related] == [Joke("a"), Joke("b"), Joke("b")]
        assert flow.description == "Joke, as 3 sources agree on it"

    @pytest.mark.parametrize("texts", [("a", "b"), ("a", "b", "c"), ("a", "a", "b", "b")])
    async def test_without_a_majority_there_is_no_consensus_and_it_says_who_said_what(
        self, texts: Sequence[str]
    ) -> None:
        with pytest.raises(
            NoConsensusError, match=r'Joke: no answer has \d votes.*: \d x {"text":"a"}; \d x {"text":"b"}'
        ):
            await consensus(Joke, jokes(*texts)).run("", context=surroundings())

    async def test_the_quorum_can_be_smaller_but_a_tie_is_none(self) -> None:
        assert (
            await consensus(Joke, jokes("a", "b", "c", "b", "d"), quorum=2).run("", context=surroundings())
        ).output == Joke("b")
        with pytest.raises(NoConsensusError):
            await consensus(Joke, jokes("a", "a", "b", "b", "c"), quorum=2).run("", context=surroundings())

    async def test_the_quorum_can_be_all(self) -> None:
        with pytest.raises(NoConsensusError, match="no answer has 3 votes"):
            await consensus(Joke, jokes("b", "b", "a"), quorum=3).run("", context=surroundings())

    async def test_what_has_to_be_the_same_can_be_said(self) -> None:
        flow = consensus(Joke, jokes("A", "a", "b"), key=lambda joke: joke.text.lower())
        assert (await flow.run("", context=surroundings())).output == Joke("A")

    async def test_agreement_can_be_made_otherwise(self) -> None:
        def longest(jokes: list[Joke]) -> Joke:
            return max(jokes, key=lambda joke: len(joke.text))

        assert (
            await consensus(Joke, jokes("a", "bbb", "cc"), agree=longest).run("", context=surroundings())
        ).output == Joke("bbb")

    async def test_one_that_fails_counts_as_one_that_does_not_agree(self) -> None:
        def fail() -> Joke:
            raise LookupError("gone")

        sources = [*jokes("a"), fail, fail]
        with pytest.raises(NoConsensusError, match="no answer has 2 votes"):
            await consensus(Joke, sources, tolerate=2).run("", context=surroundings())
        assert (
            await consensus(Joke, [*jokes("a", "a"), fail], tolerate=1).run("", context=surroundings())
        ).output == Joke("a")

    @pytest.mark.parametrize("quorum", [0, 4])
    def test_the_quorum_has_to_make_sense(self, quorum: int) -> None:
        with pytest.raises(DeclarationError, match="quorum must be from 1 to the number of sources"):
            consensus(Joke, jokes("a", "b", "c"), quorum=quorum)
        with pytest.raises(DeclarationError, match="at least one generator"):
            consensus(Joke, [])


class TestRepeatUntil:
    async def test_a_step_is_repeated_until_the_condition_is_met(self) -> None:
        def longer(topic: str, last: Joke | None, all_of_them: list[Joke]) -> Joke:
            assert [joke.text for joke in all_of_them] == [topic * n for n in range(1, len(all_of_them) + 1)]
            return Joke(topic + (last.text if last else ""))

        flow = repeat_until(Joke, longer, lambda joke: len(joke.text) == 3)
        result = await flow.run("x", context=surroundings())
        assert result.output == Joke("xxx")
        assert [one.output for one in result.related] == [Joke("x"), Joke("xx"), Joke("xxx")]
        assert repr(flow) == "RepeatUntil('Joke')"

    async def test_the_condition_sees_the_input_and_the_models(self) -> None:
        async def enough(joke: Joke, topic: str, ai: Ai) -> bool:
            return await ai.evaluate_condition(f"about {topic}", joke.text)

        context = RunContext.over(ScriptedModel({"value": False}, {"value": True}))
        result = await repeat_until(Joke, lambda topic: Joke(topic), enough).run("cats", context=context)
        assert len(result.related) == 2

    async def test_when_it_is_never_met_it_fails_with_all_attempts(self) -> None:
        flow = repeat_until(Joke, lambda: Joke("a"), lambda joke: False, max_iterations=2)
        with pytest.raises(RepeatLimitError, match=r'not as it should be after 2 attempts, .*: {"text":"a"}') as caught:
            await flow.run("", context=surroundings())
        assert [one.output for one in caught.value.result.related] == [Joke("a"), Joke("a")]

    async def test_an_agent_reads_its_last_attempt(self) -> None:
        writer = says("Writer", Joke("a"), Joke("bb"))
        result = await repeat_until(Joke, writer, lambda joke: len(joke.text) > 1).run(
            "be long", context=surroundings()
        )
        assert result.output == Joke("bb")
        assert isinstance(writer.model, ScriptedModel)
        first, second = writer.model.calls
        assert first.prompt == "be long"
        assert 'This was asked:\nbe long\n\nThe last attempt:\n{"text":"a"}\n\nMake a better one.' in second.prompt

    def test_it_has_to_be_run_at_least_once(self) -> None:
        with pytest.raises(DeclarationError, match="max_iterations must be at least 1"):
            repeat_until(Joke, lambda: Joke("a"), lambda joke: True, max_iterations=0)


class Detailed(Feedback):
    """Feedback that says more."""

    typos: int


class TestRepeatUntilAcceptable:
    async def test_a_separate_evaluator_gives_feedback_until_the_score_is_acceptable(self) -> None:
        heard: list[Feedback | None] = []

        def generate(topic: str, last: Joke | None, feedback: Feedback | None) -> Joke:
            heard.append(feedback)
            return Joke(topic + (last.text if last else ""))

        def evaluate(joke: Joke, topic: str) -> Feedback:
            return Feedback(score=min(1, len(joke.text) / 3), comments=f"more {topic}")

        result = await repeat_until_acceptable(Joke, generate, evaluate).run("x", context=surroundings())
        assert result.output == Scored(Joke("xxx"), Feedback(score=1, comments="more x"), acceptable=True)
        assert result.output.score == 1
        assert str(result.output) == '{"text":"xxx"}'
        assert [one and one.score for one in heard] == [None, 1 / 3, 2 / 3]
        assert heard[1] is not None
        assert heard[1].comments == "more x"

    async def test_the_best_is_kept_when_none_is_acceptable_and_it_says_so(self) -> None:
        scores = iter([0.2, 0.7, 0.7, 0.1])
        numbers = iter("abcd")
        flow = repeat_until_acceptable(
            Joke, lambda: Joke(next(numbers)), lambda joke: Feedback(score=next(scores)), max_iterations=4
        )
        result = await flow.run("", context=surroundings())
        assert (result.output.value, result.output.acceptable, result.output.score) == (Joke("b"), False, 0.7)
        history = [one.output for one in result.related if isinstance(one.output, Scored)]
        assert [(one.value.text, one.score) for one in history] == [("a", 0.2), ("b", 0.7), ("c", 0.7), ("d", 0.1)]
        assert repr(flow) == "RepeatUntilAcceptable('Joke')"

    @pytest.mark.parametrize(("threshold", "attempts"), [(0.5, 1), (0.51, 5), (0, 1)])
    async def test_the_threshold_and_the_number_of_attempts(self, threshold: float, attempts: int) -> None:
        flow = repeat_until_acceptable(Joke, lambda: Joke("a"), lambda joke: Feedback(score=0.5), threshold=threshold)
        assert len((await flow.run("", context=surroundings())).related) == attempts

    async def test_the_feedback_may_say_more(self) -> None:
        def evaluate(joke: Joke) -> Detailed:
            return Detailed(score=1, typos=3)

        flow = repeat_until_acceptable(Joke, lambda: Joke("a"), evaluate, feedback=Detailed)
        assert (await flow.run("", context=surroundings())).output.feedback == Detailed(score=1, typos=3)

    async def test_agents_generate_and_evaluate_by_what_they_read(self) -> None:
        writer = says("Writer", Joke("a"), Joke("b"))
        critic = says("Critic", {"score": 0.1, "comments": "be funny"}, {"score": 1, "comments": ""})
        result = await repeat_until_acceptable(Joke, writer, critic).run("a joke", context=surroundings())
        assert result.output.value == Joke("b")
        assert isinstance(writer.model, ScriptedModel)
        assert isinstance(critic.model, ScriptedModel)
        assert "be funny" in writer.model.calls[1].prompt
        assert 'This was asked:\na joke\n\nThis is the answer:\n{"text":"a"}\n\nJudge' in critic.model.calls[0].prompt

    async def test_a_score_is_from_0_to_1(self) -> None:
        critic = says("Critic", {"score": 7, "comments": ""})
        with pytest.raises(OutputError, match="less than or equal to 1"):
            await repeat_until_acceptable(Joke, lambda: Joke("a"), critic).run("", context=surroundings())

    @pytest.mark.parametrize(
        ("threshold", "most", "problem"),
        [(1.1, 5, "threshold must be"), (-0.1, 5, "threshold must be"), (0.5, 0, "max_iterations must be")],
    )
    def test_numbers_have_to_make_sense(self, threshold: float, most: int, problem: str) -> None:
        with pytest.raises(DeclarationError, match=problem):
            repeat_until_acceptable(
                Joke, lambda: Joke("a"), lambda joke: Feedback(score=1), threshold=threshold, max_iterations=most
            )
