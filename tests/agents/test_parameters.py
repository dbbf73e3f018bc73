"""What a parameter of an action can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

import pytest
from pydantic import BaseModel

from tactician import (
    Ai,
    Blackboard,
    OperationContext,
    PlannedAgent,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    by_name,
    condition,
    cost,
    planned_agent,
    resolve,
)
from tactician.process import AgentProcess
from tactician.testing import FakeContext, ScriptedModel
from tests.agents.running import started, steps
from tests.support.failures import without_lines


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Style:
    name: str


@dataclass(frozen=True)
class Book:
    text: str


@planned_agent(description="writes in a style, if there is one")
class Writer:
    @achieves_goal("a book")
    @action
    def write(self, text: Text, style: Style | None) -> Book:
        return Book(f"{text.text} in {style.name if style else 'no'} style")


async def test_an_optional_parameter_is_not_required() -> None:
    assert (await started(Writer(), Text("a"))).result == Book("a in no style")


async def test_an_optional_parameter_is_filled_when_there_is_an_object() -> None:
    assert (await started(Writer(), Text("a"), Style("plain"))).result == Book("a in plain style")


async def test_no_action_runs_only_to_fill_an_optional_parameter() -> None:
    @planned_agent(description="could find a style")
    class Stylist(Writer):
        @action
        def find_style(self, text: Text) -> Style:
            return Style("fancy")

    assert steps(await started(Stylist(), Text("a"))) == ["write"]


async def test_a_default_is_kept_when_there_is_no_object() -> None:
    @planned_agent(description="has a default")
    class Plain:
        @achieves_goal("a book")
        @action
        def write(self, text: Text, style: Style = Style("plain")) -> Book:
            return Book(f"{text.text} {style.name}")

    assert (await started(Plain(), Text("a"))).result == Book("a plain")
    assert (await started(Plain(), Text("a"), Style("fancy"))).result == Book("a fancy")


@planned_agent(description="joins two texts that are told apart by name")
class Joiner:
    @action(output_binding="left")
    def write_left(self, user_input: UserInput) -> Text:
        return Text("L")

    @action(output_binding="right")
    def write_right(self, user_input: UserInput) -> Text:
        return Text("R")

    @achieves_goal("joined")
    @action
    def join(self, right: Annotated[Text, by_name], left: Annotated[Text, by_name]) -> Book:
        return Book(left.text + right.text)


async def test_parameters_by_name_take_what_was_bound_to_their_name() -> None:
    process = await started(Joiner(), "go")
    assert process.result == Book("LR")
    assert process.blackboard["left"] == Text("L")
    assert process.blackboard["right"] == Text("R")


async def test_an_object_without_the_name_does_not_do() -> None:
    process = await started(Joiner(), Text("nameless"))
    assert process.status is ProcessStatus.STUCK
    assert process.failure is not None
    assert "the nearest action is 'write_right', which needs 'UserInput'" in process.failure


@planned_agent(description="asks for a base class by name")
class Binder:
    @action(output_binding="cover")
    def bind(self, user_input: UserInput) -> HardCover:
        return HardCover()

    @achieves_goal("bound")
    @action
    def finish(self, cover: Annotated[Cover, by_name]) -> Book:
        return Book(type(cover).__name__)


class Cover:
    pass


class HardCover(Cover):
    pass


async def test_a_subclass_that_is_bound_to_the_name_does() -> None:
    assert (await started(Binder(), "go")).result == Book("HardCover")


async def test_a_parameter_by_name_can_be_optional() -> None:
    @planned_agent(description="maybe has a title")
    class Titled:
        @achieves_goal("a book")
        @action
        def write(
            self, text: Text, title: Annotated[Text | None, by_name], motto: Annotated[Text, by_name] | None
        ) -> Book:
            return Book(f"{text.text} {title} {motto}")

    assert (await started(Titled(), Text("a"))).result == Book("a None None")


async def test_what_is_bound_to_a_name_is_also_found_by_its_type() -> None:
    @planned_agent(description="takes any text")
    class Anything:
        @action(output_binding="draft")
        def draft(self, user_input: UserInput) -> Text:
            return Text("D")

        @achieves_goal("a book")
        @action
        def write(self, text: Text) -> Book:
            return Book(text.text)

    assert (await started(Anything(), "go")).result == Book("D")


async def test_the_result_is_the_object_under_the_name_of_the_goal() -> None:
    @planned_agent(description="gives a named text")
    class Named:
        @achieves_goal("final")
        @action(output_binding="final")
        def write(self, user_input: UserInput, blackboard: Blackboard) -> Text:
            return Text("final")

    process = await started(Named(), "go", Text("draft"))
    process.blackboard.add(Text("an afterthought"))
    assert process.result == Text("final")


async def test_infrastructure_is_passed_and_needs_nothing() -> None:
    seen: dict[str, object] = {}

    @planned_agent(description="looks around")
    class Curious:
        @achieves_goal("seen")
        @action
        def look(
            self,
            ai: Ai,
            maybe: Ai | None,
            context: OperationContext,
            blackboard: Blackboard,
            process: AgentProcess,
            run: RunContext,
        ) -> Text:
            seen.update(ai=ai, maybe=maybe, context=context, blackboard=blackboard, process=process, run=run)
            return Text("seen")

    process = await started(Curious())
    assert process.status is ProcessStatus.COMPLETED
    assert isinstance(seen["ai"], Ai)
    assert isinstance(seen["maybe"], Ai)
    assert isinstance(context := seen["context"], OperationContext)
    assert isinstance(run := seen["run"], RunContext)
    assert seen["process"] is context.process is process
    assert seen["blackboard"] is context.blackboard is process.blackboard
    assert run.parent_id == process.id
    assert run.path == ("Curious", "look")


async def test_an_action_talks_to_the_model_of_the_platform() -> None:
    @planned_agent(description="asks")
    class Asker:
        @action
        async def ask(self, user_input: UserInput, ai: Ai) -> Text:
            return await ai.create(Text, user_input.content)

        @achieves_goal("a book")
        @action
        async def write(self, text: Text, context: OperationContext) -> Book:
            return Book(await context.ai.generate_text(text.text))

    model = ScriptedModel(Text("once"), "upon a time")
    process = await started(Asker(), "a tale", model=model)
    assert process.result == Book("upon a time")
    assert [call.prompt for call in model.calls] == ["a tale", "once"]
    model.assert_exhausted()


async def test_an_action_may_add_to_the_blackboard_itself() -> None:
    @planned_agent(description="adds a style on the side")
    class Generous:
        @action
        def draft(self, user_input: UserInput, blackboard: Blackboard) -> Text:
            blackboard.add(Style("plain"))
            return Text("D")

        @action(cost=1.0)
        def find_style(self, text: Text) -> Style:
            raise AssertionError("there is a style already")

        @achieves_goal("a book")
        @action
        def write(self, text: Text, style: Style) -> Book:
            return Book(text.text + style.name)

    process = await started(Generous(), "go")
    assert process.result == Book("Dplain")


async def test_a_condition_takes_the_same_parameters() -> None:
    @planned_agent(description="has a particular condition")
    class Particular:
        @condition
        def fits(self, text: Text, style: Style | None, run: RunContext, blackboard: Blackboard) -> bool:
            return style is None and len(blackboard) == 1 and run.path == ("Particular",)

        @achieves_goal("a book")
        @action(pre=["fits"])
        def write(self, text: Text) -> Book:
            return Book(text.text)

    assert (await started(Particular(), Text("a"))).status is ProcessStatus.COMPLETED
    assert (await started(Particular(), Text("a"), Style("b"))).status is ProcessStatus.STUCK


def session(context: OperationContext) -> Style:
    return Style(f"of {context.process.name}")


async def test_a_parameter_can_take_what_a_function_gives() -> None:
    @planned_agent(description="resolves a parameter")
    class Resolving:
        @condition
        def ready(self, style: Annotated[Style, resolve(session)]) -> bool:
            return style.name == "of Resolving"

        @achieves_goal("a book")
        @action(pre=["ready"])
        def write(self, text: Text, names: Annotated[list[str], resolve(lambda context: ["a", "b"])]) -> Book:
            return Book(f"{text.text} {names}")

    assert (await started(Resolving(), Text("x"))).result == Book("x ['a', 'b']")


async def test_a_resolver_of_a_type_comes_before_the_blackboard() -> None:
    @planned_agent(description="resolves a type", resolvers={Style: session})
    class Resolving:
        @achieves_goal("a book")
        @action
        def write(self, text: Text, style: Style, maybe: Style | None) -> Book:
            return Book(f"{style.name}, {maybe}")

    process = await started(Resolving(), Text("x"), Style("of the blackboard"))
    assert process.result == Book("of Resolving, Style(name='of Resolving')")


Item = TypeVar("Item")


class Box(BaseModel, Generic[Item]):
    content: Item


async def test_generic_models_are_told_apart_by_their_parameters() -> None:
    @planned_agent(description="boxes")
    class Boxes:
        @action
        def pack(self, number: Box[int]) -> Box[str]:
            return Box[str](content=str(number.content))

        @achieves_goal("a book")
        @action
        def write(self, text: Box[str]) -> Book:
            return Book(text.content)

    process = await started(Boxes(), Box[int](content=7))
    assert steps(process) == ["pack", "write"]
    assert process.result == Book("7")
    assert f"{__name__}.Box[str]" in process.agent.types


async def test_an_action_says_what_is_missing_when_it_is_run_by_hand() -> None:
    spec = PlannedAgent(Writer()).spec
    with pytest.raises(LookupError, match="Text is no longer on the blackboard"):
        await spec.action("write").perform(FakeContext())


def test_by_name_shows_its_name() -> None:
    assert repr(by_name) == "by_name"


async def test_a_resolver_may_be_async() -> None:
    asked: list[str] = []

    async def look_up(context: OperationContext) -> Style:
        asked.append(context.process.name)
        return Style("looked up")

    @planned_agent(description="waits for its session", resolvers={Style: look_up})
    class Agent:
        @condition
        def plain(self, style: Style) -> bool:
            return style.name == "looked up"

        @cost
        async def dear(self, style: Style) -> float:
            return len(style.name) / 100

        @achieves_goal("a book")
        @action(pre=["plain"], cost_method="dear")
        async def write(self, text: Text, style: Style, names: Annotated[list[str], resolve(names_of)]) -> Book:
            return Book(f"{text.text} in {style.name} style by {names}")

        @achieves_goal("a text", value=-1)
        @action
        def copy(self, text: Text, style: Style) -> Text:
            return text

    process = await started(Agent(), Text("a"))
    assert process.result == Book("a in looked up style by ['a', 'b']"), process.failure
    assert set(asked) == {"Agent"}
    process = await PlannedAgent(Agent()).create_process(Text("a")).run()
    assert process.status is ProcessStatus.COMPLETED


async def names_of(context: OperationContext) -> list[str]:
    return ["a", "b"]


async def test_an_async_resolver_that_raises_fails_the_action() -> None:
    async def broken(context: OperationContext) -> Style:
        raise ValueError("nobody is signed in")

    @planned_agent(description="has no session")
    class Agent:
        @achieves_goal("a book")
        @action
        def write(self, text: Text, style: Annotated[Style, resolve(broken)]) -> Book:
            raise AssertionError("it was called")

    process = await started(Agent(), Text("a"))
    assert (process.status, without_lines(process.failure)) == (
        ProcessStatus.FAILED,
        "write raised ValueError: nobody is signed in",
    )
