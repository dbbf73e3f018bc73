"""Goals as tools: what is exported, from which objects, and how a process does it for another run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Ai,
    Budget,
    Export,
    Platform,
    RunStatus,
    SomeOf,
    Tool,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    by_name,
    condition,
    planned_agent,
)
from tactician.errors import DeclarationError, InvalidArgumentsError, ToolError
from tactician.events import Event
from tactician.llm import ToolResult
from tactician.process import ProcessStarted
from tactician.runs import BudgetError, RunContext
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import ToolGroup, tool


class Order(BaseModel):
    dish: str
    pieces: int = 1


@dataclass(frozen=True)
class Meal:
    dish: str


@dataclass(frozen=True)
class Bill:
    total: int


@planned_agent(description="Cooks what is ordered.")
class Kitchen:
    @action
    async def understand(self, request: UserInput, ai: Ai) -> Order:
        return await ai.create(Order, request.content)

    @achieves_goal(
        "A meal is cooked", export=Export(name="cookMeal", remote=True, starting_input_types=[UserInput, Order])
    )
    @action
    def cook(self, order: Order) -> Meal:
        return Meal(f"{order.pieces} {order.dish}")

    @achieves_goal("The bill is written", value=1)
    @action
    def write_bill(self, meal: Meal) -> Bill:
        return Bill(len(meal.dish))


def called(platform: Platform, remote: bool | None = None) -> list[str]:
    return [one.name for one in platform.goal_tools(remote)]


def named(platform: Platform, name: str) -> Tool:
    return next(one for one in platform.goal_tools() if one.name == name)


class TestWhatIsPublished:
    def test_a_tool_for_each_goal_and_type_that_it_can_start_from(self) -> None:
        platform = Platform(ScriptedModel()).register(Kitchen(), Agent("Other"))
        text, order, bill = platform.goal_tools()
        assert (text.name, order.name, bill.name) == ("cookMeal_from_user_input", "cookMeal_from_order", "write_bill")
        assert text.description == "A meal is cooked. Cooks what is ordered."
        assert text.spec.parameters["properties"] == {"content": {"title": "Content", "type": "string"}}
        assert text.spec.parameters["required"] == ["content"]
        assert order.spec.parameters == {k: v for k, v in Order.model_json_schema().items() if k != "title"}

    def test_local_goals_remote_goals_and_those_that_are_neither(self) -> None:
        @planned_agent(description="d")
        class Exports:
            @achieves_goal("local")
            @action
            def local(self, user_input: UserInput) -> Meal:
                return Meal("")

            @achieves_goal("remote", export=Export(remote=True, local=False))
            @action
            def remote(self, user_input: UserInput) -> Bill:
                return Bill(0)

            @achieves_goal("private", export=Export(local=False))
            @action
            def private(self, user_input: UserInput) -> Order:
                return Order(dish="")

        platform = Platform(ScriptedModel()).register(Exports())
        assert called(platform) == ["local", "remote"]
        assert called(platform, remote=True) == ["remote"]
        assert called(platform, remote=False) == ["local"]

    def test_by_default_a_goal_starts_from_what_leads_to_it_and_nothing_gives(self) -> None:
        @dataclass
        class Parts(SomeOf):
            meal: Meal | None = None
            bill: Bill | None = None

        class Text(BaseModel):
            text: str

        @planned_agent(description="d")
        class Branches:
            @action
            def split(self, text: Text) -> Parts:
                return Parts()

            @action(post=["checked"])
            def check(self, text: Text) -> None: ...

            @condition
            def open(self) -> bool:
                return True

            @achieves_goal("by any way")
            @action(pre=["checked", "open"])
            def eat(self, meal: Meal) -> str:
                return "eaten"

            @achieves_goal("needs two")
            @action
            def pay(self, bill: Bill, order: Order) -> int:
                return bill.total + order.pieces

            @achieves_goal("needs what has a name")
            @action
            def sign(self, letter: Annotated[Order, by_name]) -> float:
                return 1.0

        found = Platform(ScriptedModel()).register(Branches()).goal_tools()
        assert {one.name: one.spec.parameters["required"] for one in found} == {
            "eat": ["text"],
            "pay": ["text", "order"],
            "sign": ["letter"],
        }

    def test_goals_of_one_name_bear_the_names_of_their_agents(self) -> None:
        @planned_agent(description="d", name="Second Kitchen")
        class Other:
            @achieves_goal("A bill", export=Export(name="write_bill"))
            @action
            def calculate(self, order: Order) -> Bill:
                return Bill(1)

            @achieves_goal("A meal", export=Export(name="a meal"))
            @action
            def cook(self, order: Order) -> Meal:
                return Meal("")

        platform = Platform(ScriptedModel()).register(Kitchen(), Other())
        assert called(platform)[2:] == ["kitchen_write_bill", "second_kitchen_write_bill", "a_meal"]

    def test_what_is_exported_on_purpose_and_cannot_start_is_told_at_once(self) -> None:
        class Opaque:
            pass

        @planned_agent(description="d")
        class Wrong:
            @achieves_goal("needs two", export=Export(remote=True))
            @action
            def both(self, meal: Meal, order: Order) -> Bill:
                return Bill(1)

            @achieves_goal("from what is no data", export=Export(starting_input_types=[Opaque]))
            @action
            def open(self, opaque: Opaque) -> Meal:
                return Meal("")

        @planned_agent(description="d")
        class Circle:
            @action
            def cook(self, order: Order) -> Meal:
                return Meal("")

            @action
            def order(self, meal: Meal) -> Order:
                return Order(dish="")

            @achieves_goal("from what is only given", export=Export(remote=True))
            @action
            def pay(self, meal: Meal) -> Bill:
                return Bill(1)

        with pytest.raises(DeclarationError) as caught:
            Platform(ScriptedModel()).register(Wrong(), Circle()).goal_tools()
        two, opaque, circle = caught.value.problems
        assert two.startswith("Wrong: the goal 'both' cannot start from an Order and Opaque: ")
        assert circle == (
            "Circle: no object leads to the goal 'pay'; name the types to start from, as in "
            "Export(starting_input_types=[Order])"
        )
        assert opaque.startswith("Wrong: the goal 'open' cannot start from an Opaque: ")

    def test_what_is_exported_by_default_and_cannot_start_is_left_out(self) -> None:
        class Opaque:
            pass

        @planned_agent(description="d")
        class Quiet:
            @achieves_goal("from what is no data")
            @action
            def open(self, opaque: Opaque) -> Meal:
                return Meal("")

        assert Platform(ScriptedModel()).register(Quiet()).goal_tools() == ()


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Tree(BaseModel):
    name: str
    below: list[Tree] = []


@planned_agent(description="Takes all kinds")
class Kinds:
    @achieves_goal("sized")
    @action
    def size(self, size: Size) -> Meal:
        return Meal(size.value)

    @achieves_goal("counted")
    @action
    def count(self, tree: Tree) -> int:
        return len(tree.below)

    @achieves_goal("done")
    @action
    def do(self, bill: Bill) -> None: ...


class TestCalls:
    @pytest.fixture
    def platform(self) -> Platform:
        return Platform(ScriptedModel()).register(Kitchen(), Kinds())

    async def test_the_arguments_are_the_object_and_the_goals_output_is_json(self, platform: Platform) -> None:
        result = await named(platform, "cookMeal_from_order").call('{"dish": "pie"}', platform.context())
        assert json.loads(str(result)) == {"dish": "1 pie"}

    async def test_only_the_goal_of_the_tool_is_pursued(self) -> None:
        platform = Platform(ScriptedModel(Order(dish="pie"), Order(dish="pie"))).register(Kitchen())
        cook, bill = named(platform, "cookMeal_from_user_input"), named(platform, "write_bill")
        assert await cook.call('{"content": "x"}', platform.context()) == '{"dish":"1 pie"}'
        assert await bill.call('{"content": "x"}', platform.context()) == '{"total":5}'

    async def test_what_is_no_object_in_json_is_a_value(self, platform: Platform) -> None:
        found = named(platform, "size")
        assert found.spec.parameters["required"] == ["value"]
        assert await found.call('{"value": "large"}', platform.context()) == '{"dish":"large"}'

    async def test_a_type_that_contains_itself(self, platform: Platform) -> None:
        found = named(platform, "count")
        assert found.spec.parameters["type"] == "object"
        given = '{"name": "a", "below": [{"name": "b"}, {"name": "c"}]}'
        assert await found.call(given, platform.context()) == "2"

    async def test_a_goal_that_gives_nothing_is_done(self, platform: Platform) -> None:
        assert await named(platform, "do").call('{"total": 1}', platform.context()) == "done"

    @pytest.mark.parametrize("arguments", ["", '{"dish": 3}', "no json"])
    async def test_arguments_that_do_not_fit(self, platform: Platform, arguments: str) -> None:
        with pytest.raises(InvalidArgumentsError, match="The arguments are not valid: "):
            await named(platform, "cookMeal_from_order").call(arguments, platform.context())


@dataclass(frozen=True)
class Guest:
    name: str


@dataclass(frozen=True)
class Weather:
    text: str


@planned_agent(description="Needs several objects")
class Several:
    @action
    def cook(self, order: Order) -> Meal:
        return Meal(order.dish)

    @achieves_goal("served", export=Export(remote=True))
    @action
    def serve(self, meal: Meal, guest: Guest) -> str:
        return f"{meal.dish} for {guest.name}"

    @achieves_goal("forecast")
    @action
    def forecast(self, location: Annotated[str, by_name], units: Annotated[str, by_name]) -> Weather:
        return Weather(f"warm in {location}, {units}")

    @achieves_goal("opened", export=Export(name="open", starting_input_types=[Order, (Order, Guest)]))
    @action
    def open(self, order: Order, guest: Guest | None) -> bool:
        return guest is not None


class TestSeveralInputs:
    @pytest.fixture
    def platform(self) -> Platform:
        return Platform(ScriptedModel()).register(Several())

    def test_each_object_is_an_argument(self, platform: Platform) -> None:
        (serve,) = platform.goal_tools(remote=True)
        assert serve.spec.parameters["required"] == ["order", "guest"]
        assert serve.spec.parameters["additionalProperties"] is False

    @pytest.mark.parametrize(
        ("name", "arguments", "output"),
        [
            ("serve", {"order": {"dish": "pie"}, "guest": {"name": "Ann"}}, "pie for Ann"),
            ("forecast", {"location": "Rome", "units": "C"}, '{"text":"warm in Rome, C"}'),
            ("open_from_order", {"dish": "wine"}, "false"),
            ("open_from_order_and_guest", {"order": {"dish": "wine"}, "guest": {"name": "Ann"}}, "true"),
        ],
    )
    async def test_the_process_starts_from_all_of_them(
        self, platform: Platform, name: str, arguments: dict[str, object], output: str
    ) -> None:
        assert await named(platform, name).call(json.dumps(arguments), platform.context()) == output

    async def test_an_argument_that_is_missing(self, platform: Platform) -> None:
        with pytest.raises(InvalidArgumentsError, match=r"guest: Field required"):
            await named(platform, "serve").call('{"order": {"dish": "pie"}}', platform.context())


def head_chef(model: ScriptedModel | None = None, *, tools: tuple[Tool, ...] = ()) -> Agent[str]:
    return Agent("Chef", model=model, tools=tools, tool_groups=() if tools else ["goals"])


class TestAsAChildRun:
    async def test_usage_and_events_belong_to_the_run_that_calls(self) -> None:
        events: list[Event] = []
        model = ScriptedModel(
            ToolCall("cookMeal_from_user_input", content="two pies"), Order(dish="pie", pieces=2), "done"
        )
        platform = Platform(model, on_event=events.append).register(Kitchen())
        result = await head_chef().run("cook", context=platform.context())
        assert (result.output, result.usage.requests) == ("done", 3)
        assert '{"dish":"2 pie"}' in str(model.calls[2].messages)
        (started,) = [event for event in events if isinstance(event, ProcessStarted)]
        assert started.path == ("Chef", "Kitchen")

    async def test_the_group_goals_has_what_is_exported_to_agents_here_also_what_is_registered_later(self) -> None:
        model = ScriptedModel("done", "done")
        platform = Platform(model)
        for expected in ([], ["cookMeal_from_user_input", "cookMeal_from_order", "write_bill"]):
            await head_chef().run("cook", context=platform.context())
            assert [spec.name for spec in model.calls[-1].tools] == expected
            platform.register(*([] if expected else [Kitchen()]))

    async def test_a_budget_holds_for_the_process_too(self) -> None:
        model = ScriptedModel(ToolCall("cookMeal_from_user_input", content="x"))
        platform = Platform(model).register(Kitchen())
        with pytest.raises(BudgetError):
            await head_chef().run("cook", context=platform.context(), budget=Budget(turns=1))
        assert len(model.calls) == 1

    async def test_it_runs_with_the_models_and_the_groups_of_the_platform(self) -> None:
        @tool
        def search() -> str:
            return "found"

        @planned_agent(description="d")
        class Researcher:
            @achieves_goal("known")
            @action(tool_groups=["web"])
            async def find(self, topic: UserInput, ai: Ai) -> Meal:
                return Meal(await ai.generate_text(topic.content))

        home = ScriptedModel("at home")
        platform = Platform(home, tool_groups=[ToolGroup("web", search)]).register(Researcher())
        elsewhere = ScriptedModel(ToolCall("find", content="x"), "done")
        result = await head_chef(elsewhere, tools=platform.goal_tools()).run("go", context=RunContext.over(elsewhere))
        assert result.output == "done"
        assert [spec.name for spec in home.calls[0].tools] == ["search"]
        elsewhere.assert_exhausted()


@planned_agent(description="Fails in many ways")
class Troubled:
    @condition
    def never(self) -> bool:
        return False

    @achieves_goal("stuck")
    @action(pre=["never"])
    def stick(self, user_input: UserInput) -> Meal:
        return Meal("")

    @achieves_goal("failed")
    @action
    def fail(self, order: Order) -> Bill:
        raise ValueError("no flour")

    @achieves_goal("asked")
    @action
    async def ask(self, size: Size) -> str:
        return (await ask_human(Order, "Which dish?")).dish


class TestWhatGoesWrong:
    @pytest.mark.parametrize(
        ("call", "said"),
        [
            (ToolCall("stick", content="x"), "Troubled is stuck: No plan reaches 'stick': "),
            (ToolCall("fail", dish="x"), "Troubled failed: fail raised ValueError: no flour"),
        ],
    )
    async def test_the_model_reads_why_the_goal_was_not_reached(self, call: ToolCall, said: str) -> None:
        model = ScriptedModel(call, "sorry")
        platform = Platform(model).register(Troubled())
        assert (await head_chef().run("go", context=platform.context())).output == "sorry"
        answer = model.calls[1].messages[-1]
        assert isinstance(answer, ToolResult)
        assert (answer.is_error, answer.content[: len(said)]) == (True, said)

    async def test_a_goal_that_asks_somebody_has_the_run_around_it_wait(self) -> None:
        model = ScriptedModel(ToolCall("ask", value="small"), "done")
        platform = Platform(model).register(Troubled())
        chef = head_chef()
        waiting = await chef.run("go", context=platform.context())
        assert waiting.status is RunStatus.WAITING
        (request,) = waiting.pending
        assert request.prompt == "Which dish?"
        done = await chef.resume(waiting.run_id, {request.id: {"dish": "pie", "pieces": 1}}, context=platform.context())
        assert done.output == "done"
        assert "pie" in str(model.calls[1].messages)

    async def test_without_a_run_around_it_says_which_run_waits(self) -> None:
        platform = Platform(ScriptedModel()).register(Troubled())
        with pytest.raises(ToolError, match=r"Troubled waits, as the run \w+, for an answer: Which dish\?") as caught:
            await named(platform, "ask").call('{"value": "small"}', platform.context())
        (waiting,) = await platform.list_waiting_runs()
        assert waiting.id in str(caught.value)

    async def test_an_agent_does_not_ask_itself(self) -> None:
        @planned_agent(description="d")
        class Circular:
            @achieves_goal("a meal")
            @action(tool_groups=["goals"])
            async def cook(self, user_input: UserInput, ai: Ai) -> Meal:
                return Meal(await ai.generate_text("cook"))

        model = ScriptedModel(ToolCall("cook", content="again"), "cooked")
        assert await Platform(model).register(Circular()).invoke(Meal, "go") == Meal("cooked")
        assert "Circular is at work on this already: it cannot ask itself." in str(model.calls[1].messages)

    def test_the_name_of_the_group_of_goals_is_taken(self) -> None:
        with pytest.raises(DeclarationError, match="another tool group has this name"):
            Platform(ScriptedModel(), tool_groups=[ToolGroup("goals", [])])
