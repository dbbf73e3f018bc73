"""Agentic tools, by the sentences of the guide, and Runnables as tools with typed parameters."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, Field

from tactician import (
    Agent,
    AgenticTool,
    Ai,
    Budget,
    OperationContext,
    Planned,
    Tool,
    UserInput,
    achieves_goal,
    action,
    approve,
    planned_agent,
    tool,
)
from tactician.errors import DeclarationError
from tactician.llm import LlmOptions, ModelRequest, ToolResult
from tactician.runs import BudgetError, RunContext, RunStatus
from tactician.testing import ScriptedModel, ToolCall


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool
def multiply(a: int, b: int) -> int:
    """Multiplies two numbers."""
    return a * b


class SearchTools:
    @tool
    def search(self, query: str) -> str:
        """Search the web."""
        return f"Results for: {query}"


class CalculatorTools:
    @tool
    def double(self, a: int) -> int:
        """Double a number."""
        return 2 * a


def answers(result: object) -> list[str]:
    messages = getattr(result, "messages", ())
    return [each.content for each in messages if isinstance(each, ToolResult)]


async def call(called: Tool, **arguments: object) -> None:
    model = ScriptedModel(ToolCall(called.name, **(arguments or {"request": "x"})), "ok")
    await model.ai().with_tools(called).generate_text("go")


def system(request: ModelRequest) -> str:
    return request.messages[0].text


async def test_the_outer_model_calls_the_agentic_tool_and_the_inner_model_orchestrates_the_sub_tools() -> None:
    inner = ScriptedModel(ToolCall("multiply", a=3, b=2), ToolCall("add", a=5, b=6), "11")
    orchestrator = (
        AgenticTool("math-orchestrator", "Orchestrates math operations")
        .with_tools(add, multiply)
        .with_llm(inner)
        .with_system_prompt("Use the available tools to solve the given math problem")
    )
    outer = ScriptedModel(ToolCall("math-orchestrator", request="5 + 3 * 2"), "It is 11.")

    assert await outer.ai().with_tools(orchestrator).generate_text("What is 5 + 3 * 2?") == "It is 11."
    assert "11" in str(outer.calls[1].messages)
    assert system(inner.calls[0]) == "Use the available tools to solve the given math problem"
    assert [spec.name for spec in inner.calls[0].tools] == ["add", "multiply"]


async def test_by_default_it_generates_a_system_prompt_from_the_description() -> None:
    inner = ScriptedModel("done")
    await call(AgenticTool("assistant", "Multi-capability assistant").with_llm(inner))

    assert system(inner.calls[0]) == (
        "You are an intelligent agent that can use tools to help you complete tasks. "
        "Use the provided tools to perform the following task: Multi-capability assistant"
    )


def test_parameters_are_string_integer_and_double_and_required_unless_said() -> None:
    calculator = (
        AgenticTool("smart-calculator", "Perform complex calculations")
        .with_parameter("expression", str, "Mathematical expression to evaluate")
        .with_parameter("precision", int, "Decimal places for result", required=False)
        .with_parameter("scale", float, "Factor")
    )
    schema = calculator.spec.parameters

    assert schema["required"] == ["expression", "scale"]
    assert schema["additionalProperties"] is False
    properties = json.loads(json.dumps(schema["properties"]))
    assert properties["expression"] == {"type": "string", "description": "Mathematical expression to evaluate"}
    assert properties["scale"] == {"type": "number", "description": "Factor"}
    assert {"type": "integer"} in properties["precision"]["anyOf"]


async def test_the_inner_model_gets_the_arguments() -> None:
    inner = ScriptedModel("done")
    researcher = (
        AgenticTool("researcher", "Research a topic thoroughly")
        .with_parameter("topic", str, "The topic to research")
        .with_parameter("depth", int, "How deep", required=False)
        .with_llm(inner)
    )
    outer = ScriptedModel(ToolCall("researcher", topic=3), ToolCall("researcher", topic="frogs"), "ok")
    result = await Agent("Outer", model=outer, tools=[researcher]).run("go")

    assert "topic: Input should be a valid string" in answers(result)[0]
    assert [call.prompt for call in inner.calls] == ['{"topic":"frogs"}']


async def test_objects_without_tool_methods_are_silently_ignored() -> None:
    assistant = AgenticTool("assistant", "Assists").with_tool_objects(SearchTools(), object(), CalculatorTools())
    inner = ScriptedModel("done")
    await call(assistant.with_llm(inner))

    assert [spec.name for spec in inner.calls[0].tools] == ["search", "double"]


def test_every_change_is_a_copy() -> None:
    plain = AgenticTool("assistant", "Assists")
    changed = plain.with_parameter("topic", str, "The topic").with_tool_object(SearchTools())

    assert list(json.loads(json.dumps(plain.spec.parameters["properties"]))) == ["request"]
    assert list(json.loads(json.dumps(changed.spec.parameters["properties"]))) == ["topic"]


def test_a_parameter_is_there_once() -> None:
    once = AgenticTool("assistant", "Assists").with_parameter("topic", str, "The topic")
    with pytest.raises(DeclarationError, match="'topic' is there twice"):
        once.with_parameter("topic", int, "The topic")


@planned_agent
class Desk(Planned[str]):
    """Answers with an agentic tool."""

    @achieves_goal("answered")
    @action
    async def answer(self, asked: UserInput, ai: Ai, context: OperationContext) -> str:
        """Answer."""

        async def create(run: RunContext) -> str:
            around = run.find(OperationContext)
            return f"You work for the process {around and around.process.id}."

        helper = AgenticTool("helper", "Helps").with_system_prompt(create)
        return await ai.with_tools(helper).generate_text(f"{asked.content} {context.process.id}")


async def test_the_tool_retrieves_the_current_process_and_a_creator_makes_its_prompt() -> None:
    model = ScriptedModel(ToolCall("helper", request="x"), "inner", "outer")
    result = await Desk().run(UserInput("go"), context=RunContext.over(model))

    process = model.calls[0].prompt.removeprefix("go ")
    assert system(model.calls[1]) == f"You work for the process {process}."
    assert result.output == "outer"


async def test_the_model_is_that_of_the_caller_and_its_budget_counts() -> None:
    model = ScriptedModel(ToolCall("helper", request="x"), "inner", "outer")
    agent = Agent("Outer", model=model, tools=[AgenticTool("helper", "Helps")])
    with pytest.raises(BudgetError):
        await agent.run("go", budget=Budget(turns=2))

    assert len(model.calls) == 2


async def test_options_of_a_model() -> None:
    model = ScriptedModel(ToolCall("helper", request="x"), "inner", "outer")
    helper = AgenticTool("helper", "Helps").with_llm(LlmOptions(temperature=0.5))
    await Agent("Outer", tools=[helper]).run("go", context=RunContext.over(model))

    assert model.calls[1].options.temperature == 0.5


async def test_a_tool_inside_that_waits_for_a_person_is_resumed() -> None:
    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    model = ScriptedModel(ToolCall("helper", request="x"), ToolCall("pay"), "inner", "outer")
    context = RunContext.over(model)
    agent = Agent("Outer", tools=[AgenticTool("helper", "Helps").with_tools(pay)])
    waiting = await agent.run("go", context=context)
    assert waiting.status is RunStatus.WAITING
    result = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)

    assert result.output == "outer"
    assert "paid" in str(model.calls[2].messages)


class Topic(BaseModel):
    """A topic."""

    name: str = Field(description="The topic to research")
    depth: int = 1


@dataclass
class Place:
    town: str


class TestRunnablesWithTypedParameters:
    async def test_the_arguments_are_the_input(self) -> None:
        model = ScriptedModel("done")
        helper = Agent("Researcher", model=model).as_tool(arguments=Topic)
        outer = ScriptedModel(ToolCall("researcher", name="frogs"), "ok")
        await outer.ai().with_tools(helper).generate_text("go")

        assert model.calls[0].prompt == '{"name":"frogs","depth":1}'
        properties = json.loads(json.dumps(helper.spec.parameters["properties"]))
        assert properties["name"] == {"type": "string", "description": "The topic to research"}

    async def test_a_function_makes_the_prompt_of_them(self) -> None:
        model = ScriptedModel("done")
        helper = Agent("Researcher", model=model).as_tool(
            arguments=Topic, prompt=lambda topic: f"Research {topic.name}"
        )
        await ScriptedModel(ToolCall("researcher", name="frogs"), "ok").ai().with_tools(helper).generate_text("go")

        assert model.calls[0].prompt == "Research frogs"

    async def test_a_planned_agent_gets_the_object(self) -> None:
        @planned_agent
        class Weather(Planned[str]):
            """Tells the weather."""

            @achieves_goal("told")
            @action
            def tell(self, place: Place) -> str:
                """Tell it."""
                return f"sunny in {place.town}"

        outer = ScriptedModel(ToolCall("weather", town="Rome"), "ok")
        await outer.ai().with_tools(Weather().as_tool("weather", arguments=Place)).generate_text("go")

        assert "sunny in Rome" in str(outer.calls[1].messages)

    def test_arguments_are_a_class_with_fields(self) -> None:
        with pytest.raises(DeclarationError, match="its arguments are int: they must be a class with fields"):
            Agent("Researcher").as_tool(arguments=int)

    def test_a_blueprint_has_them(self) -> None:
        agent = Agent("Outer", tools=[Agent("Researcher").as_tool(arguments=Topic)])
        assert f'"arguments": "{__name__}.Topic"' in agent.to_blueprint().to_json()
