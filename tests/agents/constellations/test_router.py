"""`RouterAgent`."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Budget,
    PlannedAgent,
    RouterAgent,
    RunContext,
    Runnable,
    RunResult,
    UserInput,
    UserMessage,
    achieves_goal,
    action,
    handoff,
    planned_agent,
    runnable,
)
from tactician.agents import RouteChosen
from tactician.errors import DeclarationError, ModelServerError
from tactician.events import Event
from tactician.llm import AssistantMessage, Features, Image, LlmOptions, Text
from tactician.llm.messages import SystemMessage
from tactician.loop import TextReceived, TurnStarted
from tactician.runs import BudgetError, RoutingError, RunCompleted
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.agents.constellations.support import prompts_of, says, script_of, surroundings, told


class Desk:
    """A router with two routes."""

    def __init__(self, *choices: Step, fallback: Agent | None = None, features: Features | None = None) -> None:
        self.model = ScriptedModel(*choices, features=features)
        self.sales, self.support = says("Sales", "a price"), says("Support", "a fix")
        routes = {"Sales and pricing": self.sales, "Bugs and crashes": self.support}
        self.router = RouterAgent("Desk", model=self.model, routes=routes, fallback=fallback)

    async def run(self, input: object) -> RunResult[object]:
        return await self.router.run(input, context=surroundings())


class TestTheQuestion:
    async def test_the_model_is_asked_once_and_the_target_answers(self) -> None:
        desk = Desk("2")
        assert (await desk.run("it crashes")).output == "a fix"
        assert len(desk.model.calls) == 1
        assert script_of(desk.sales).calls == []

    async def test_routes_are_numbered_with_their_names_and_what_they_handle(self) -> None:
        desk = Desk("1")
        await desk.run("how much?")
        prompt = desk.model.calls[0].prompt
        assert "1. Sales - handles: Sales and pricing\n2. Support - handles: Bugs and crashes\n0. none" in prompt
        assert '"how much?"' in prompt
        assert "the number only" in prompt

    async def test_it_is_one_message_with_the_last_thing_the_user_said(self) -> None:
        desk = Desk("1")
        said = [UserMessage("it crashes"), AssistantMessage((Text("sorry"),)), UserMessage("and the price?")]
        await desk.run(said)
        assert [message.role for message in desk.model.calls[0].messages] == ["user"]
        assert '"and the price?"' in desk.model.calls[0].prompt
        assert "it crashes" not in desk.model.calls[0].prompt

    async def test_instructions_come_first(self) -> None:
        model = ScriptedModel("1")
        routes = {"all": says("Sales", "a price")}
        router = RouterAgent("Desk", model=model, routes=routes, instructions="Prefer sales.")
        await router.run("hi", context=surroundings())
        assert model.calls[0].messages[0] == SystemMessage("Prefer sales.")

    async def test_the_answer_is_constrained_to_the_numbers(self) -> None:
        desk = Desk({"value": 2})
        assert (await desk.run("it crashes")).output == "a fix"
        output = desk.model.calls[0].output
        assert output is not None
        assert output.strict
        assert output.schema["properties"] == {"value": {"enum": [0, 1, 2], "type": "integer"}}

    async def test_a_model_without_constraints_is_asked_in_words(self) -> None:
        desk = Desk("2", features=Features(tools=False, json_schema=False))
        assert (await desk.run("it crashes")).output == "a fix"
        assert desk.model.calls[0].output is None

    async def test_a_model_that_only_has_tools_answers_with_one(self) -> None:
        desk = Desk(ToolCall("final_answer", value=2), features=Features(tools=True, json_schema=False))
        assert (await desk.run("it crashes")).output == "a fix"

    async def test_a_single_route_is_asked_about_too(self) -> None:
        model = ScriptedModel("0")
        router = RouterAgent("Desk", model=model, routes={"Bugs": says("Support")})
        with pytest.raises(RoutingError):
            await router.run("a poem, please", context=surroundings())
        assert len(model.calls) == 1

    async def test_the_model_can_be_options(self) -> None:
        router = RouterAgent("Desk", model=LlmOptions(temperature=0.0), routes={"all": says("Sales", "a price")})
        model = ScriptedModel("1")
        assert (await router.run("hi", context=RunContext.over(model))).output == "a price"
        assert model.calls[0].options.temperature == 0.0


class TestTheFallback:
    @pytest.mark.parametrize("answer", ["0", "3", "-1", "Support", "", "1 or 2", "1.5", {"value": 9}, {"number": 1}])
    async def test_whoever_is_no_route_is_the_fallback(self, answer: Step) -> None:
        desk = Desk(answer, fallback=says("Anyone", "hello"))
        assert (await desk.run("a poem, please")).output == "hello"
        assert len(desk.model.calls) == 1

    async def test_without_a_fallback_the_error_lists_the_routes(self) -> None:
        desk = Desk("0")
        with pytest.raises(RoutingError, match=r"Desk: no route fits.*Sales and pricing; Bugs and crashes") as caught:
            await desk.run("a poem, please")
        assert caught.value.result.usage.requests == 1
        assert caught.value.result.messages == (UserMessage("a poem, please"),)

    @pytest.mark.parametrize(
        "input", ["", "  \n", UserMessage(""), UserMessage((Image(url="https://x/a.png"),)), AssistantMessage()]
    )
    async def test_no_text_from_the_user_is_an_error(self, input: object) -> None:
        desk = Desk("1", fallback=says("Anyone", "hello"))
        with pytest.raises(RoutingError, match="Desk: there is no text from the user"):
            await desk.run(input)
        assert desk.model.calls == []

    async def test_errors_of_the_model_are_raised(self) -> None:
        desk = Desk(ModelServerError("down"), fallback=says("Anyone", "hello"))
        with pytest.raises(ModelServerError, match="down"):
            await desk.run("hi")

    async def test_a_budget_that_is_used_up_is_no_reason_for_the_fallback(self) -> None:
        desk = Desk("1", fallback=says("Anyone", "hello"))
        with pytest.raises(BudgetError):
            await desk.router.run("hi", context=surroundings(), budget=Budget(turns=0))

    def test_a_router_needs_a_route(self) -> None:
        with pytest.raises(DeclarationError, match=r"RouterAgent 'Desk'.*\n.*at least one route"):
            RouterAgent("Desk", routes={})


class Order(BaseModel):
    number: int


@planned_agent(description="Counts")
class Counter:
    @achieves_goal("counted")
    @action
    def count(self, order: Order) -> int:
        return order.number + 1


@planned_agent(description="Shouts")
class Shouter:
    @achieves_goal("shouted")
    @action
    def shout(self, words: UserInput) -> str:
        return words.content.upper()


class TestTheTarget:
    async def test_it_gets_the_same_messages(self) -> None:
        desk = Desk("1")
        said = [UserMessage("it crashes"), AssistantMessage((Text("sorry"),)), UserMessage("and the price?")]
        await desk.run(said)
        assert list(script_of(desk.sales).calls[0].messages) == said

    async def test_it_gets_an_object_as_it_is(self) -> None:
        router = RouterAgent("Desk", model=ScriptedModel("1"), routes={"orders": PlannedAgent(Counter())})
        assert (await router.run(Order(number=4), context=surroundings())).output == 5

    async def test_any_runnable_will_do(self) -> None:
        async def greet(text: object) -> str:
            return f"{text} yourself"

        shouter: object = Shouter()
        assert isinstance(shouter, Runnable)
        targets: list[Runnable] = [runnable(greet), shouter, says("Agent", "an answer")]
        outputs = []
        for target in targets:
            router = RouterAgent("Desk", model=ScriptedModel("1"), routes={"all": target})
            outputs.append((await router.run("hi", context=surroundings())).output)
        assert outputs == ["hi yourself", "HI", "an answer"]

    async def test_the_path_says_who_routed_and_who_answered(self) -> None:
        desk = Desk("2")
        assert (await desk.run("it crashes")).delegation_path == ("Desk", "Support")

    async def test_the_path_goes_through_routers_and_handoffs(self) -> None:
        expert = says("Expert", "solved")
        support = Agent("Support", model=ScriptedModel(ToolCall("transfer_to_expert")), handoffs=[handoff(expert)])
        inner = RouterAgent("Inner", model=ScriptedModel("1"), routes={"bugs": support})
        outer = RouterAgent("Outer", model=ScriptedModel("1"), routes={"all": inner})
        result = await outer.run("it crashes", context=surroundings())
        assert result.output == "solved"
        assert result.delegation_path == ("Outer", "Inner", "Support", "Expert")

    async def test_the_usage_of_the_choice_and_of_the_target_are_counted(self) -> None:
        context = surroundings()
        result = await Desk("2").router.run("it crashes", context=context)
        assert result.usage.requests == 2
        assert context.tally.total.requests == 2

    async def test_the_run_is_the_routers(self) -> None:
        events: list[Event] = []
        result = await Desk("2").router.run("it crashes", context=surroundings(events.append))
        chosen = [event for event in events if isinstance(event, RouteChosen)]
        assert [event.run_id for event in chosen] == [result.run_id]


class TestEvents:
    async def test_the_choice_is_told(self) -> None:
        desk = Desk("2")
        events: list[Event] = []
        await desk.router.run("it crashes", context=surroundings(events.append))
        (chosen,) = [event for event in events if isinstance(event, RouteChosen)]
        assert (chosen.target, chosen.description, chosen.fallback) == ("Support", "Bugs and crashes", False)
        assert chosen.path == ("Desk",)

    async def test_the_fallback_is_told(self) -> None:
        desk = Desk("0", fallback=says("Anyone", "hello"))
        events: list[Event] = []
        await desk.router.run("a poem", context=surroundings(events.append))
        (chosen,) = [event for event in events if isinstance(event, RouteChosen)]
        assert (chosen.target, chosen.description, chosen.fallback) == ("Anyone", "", True)

    async def test_a_stream_has_the_nested_paths_and_ends_with_the_result(self) -> None:
        desk = Desk("2")
        events = [event async for event in desk.router.stream("it crashes", context=surroundings())]
        assert told(events, TurnStarted) == [("Desk", "Desk classifier"), ("Desk", "Support")]
        assert "".join(e.text for e in events if isinstance(e, TextReceived) and e.path[-1] == "Support") == "a fix"
        last = events[-1]
        assert isinstance(last, RunCompleted)
        assert last.result.output == "a fix"


async def test_a_router_is_a_tool() -> None:
    desk = Desk("2")
    host = says("Host", ToolCall("desk", request="it crashes"), "done", tools=[desk.router.as_tool()])
    await host.run("go", context=surroundings())
    assert "a fix" in prompts_of(host)[1]


async def test_a_router_can_promise_a_type() -> None:
    router = RouterAgent("Desk", model=ScriptedModel("1"), routes={"all": says("Sales", '{"number": 3}')})
    assert (await router.with_output_type(Order).run("hi", context=surroundings())).output == Order(number=3)


def test_its_description_is_what_its_routes_handle() -> None:
    assert Desk().router.description == "Sales and pricing; Bugs and crashes"
    assert RouterAgent("Desk", routes={"a": says("A")}, description="All").description == "All"
    assert repr(Desk().router) == "RouterAgent('Desk')"
