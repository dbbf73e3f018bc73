"""Whatever a request asks for, a model gets only what it can take, and its reply is one to the original request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tactician import RunContext, Tool, tool
from tactician.llm import (
    AssistantMessage,
    Features,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from tactician.llm.messages import SystemMessage
from tactician.llm.model import OutputSpec, ToolSpec
from tactician.llm.request_adapter import adapt_request
from tactician.loop import output_type
from tactician.testing import ScriptedModel
from tests.support.schemas import instances

Intent: TypeAlias = Literal["call", "answer"]

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OUTPUT = OutputSpec("number", SCHEMA)
TOOLS = (ToolSpec("weather", "The weather in a city.", CITY), ToolSpec("now", "The time.", {"type": "object"}))
ASKED = (SystemMessage("Be brief"), UserMessage("hi"))
USED = Usage(1, 2, requests=1)
EVERYTHING = Features(tools=True, json_schema=True)
SCHEMA_ONLY = Features(json_schema=True)
TOOLS_ONLY = Features(tools=True)
NOTHING = Features()

CASES = [
    pytest.param(features, ModelRequest(ASKED, tools, choice, output), intent, id=f"{features}-{choice}-{intent}")
    for features, tools, output, choice, intent in product(
        (EVERYTHING, SCHEMA_ONLY, TOOLS_ONLY, NOTHING),
        ((), TOOLS),
        (None, OUTPUT),
        ("auto", "none", "required", "weather"),
        ("call", "answer"),
    )
    if (bool(tools) and choice != "none" if intent == "call" else choice in ("auto", "none") or not tools)
    if tools or choice == "auto"
]


def replies(fitted: ModelRequest, intent: Intent, wanted: ModelRequest) -> ModelResponse:
    """What an obedient model makes of a fitted request."""
    value: object = {"n": 3} if wanted.output else "three"
    if wanted.tools and "next_step" in (fitted.output.name if fitted.output else "") + system_text(fitted):
        step = {"tool": "weather", "arguments": {"city": "Rome"}} if intent == "call" else {"answer": value}
        return says(Text(json.dumps(step)))
    names = [one.name for one in fitted.tools]
    if intent == "call":
        return says(ToolCall("1", "weather", '{"city":"Rome"}'), finish="tool_calls")
    if "final_answer" in names:
        return says(ToolCall("1", "final_answer", json.dumps(value)), finish="tool_calls")
    return says(Text(value if isinstance(value, str) else json.dumps(value)))


def says(*parts: Text | ToolCall, finish: Literal["stop", "tool_calls", "length"] = "stop") -> ModelResponse:
    return ModelResponse(AssistantMessage(parts), USED, finish, "m")


def system_text(request: ModelRequest) -> str:
    text = "".join(message.text for message in request.messages if isinstance(message, SystemMessage))
    return f"{text} next_step" if '{"tool": its name' in text else text


def restored(request: ModelRequest, features: Features, response: ModelResponse) -> ModelResponse:
    _, restore = adapt_request(request, features)
    return response if restore is None else restore(response)


@pytest.mark.parametrize(("features", "request_", "intent"), CASES)
def test_every_combination_is_taken_and_restored(features: Features, request_: ModelRequest, intent: Intent) -> None:
    fitted, restore = adapt_request(request_, features)

    assert features.tools or not fitted.tools
    assert features.json_schema or fitted.output is None
    assert fitted.tool_choice in ("auto", "none", "required", *(one.name for one in fitted.tools))
    assert fitted.messages[1:] == request_.messages[1:]
    assert system_text(fitted).startswith("Be brief")

    response = replies(fitted, intent, request_)
    response = response if restore is None else restore(response)

    assert (response.usage, response.model) == (USED, "m")
    if intent == "call":
        (call,) = response.message.tool_calls
        assert (call.name, call.parse_arguments()) == ("weather", {"city": "Rome"})
        assert response.finish_reason == "tool_calls"
    else:
        assert response.message.tool_calls == ()
        assert response.message.text == "three" if request_.output is None else json.loads(response.message.text)
        assert response.finish_reason == "stop"


def test_a_model_that_can_do_it_all_gets_the_request_as_it_is() -> None:
    request = ModelRequest(ASKED, TOOLS, "required", OUTPUT)

    assert adapt_request(request, EVERYTHING) == (request, None)


@pytest.mark.parametrize("choice", ["required", "weather"])
def test_a_tool_that_has_to_be_called_cannot_be_answered_around(choice: str) -> None:
    for features in (TOOLS_ONLY, SCHEMA_ONLY):
        fitted, _ = adapt_request(ModelRequest(ASKED, TOOLS, choice, OUTPUT), features)

        assert "final_answer" not in [one.name for one in fitted.tools]
        assert '"answer"' not in json.dumps(fitted.output.schema if fitted.output else None)
        assert fitted.tool_choice == (choice if features.tools else "auto")


def test_a_schema_in_the_prompt_stands_in_the_instructions() -> None:
    with_system, _ = adapt_request(ModelRequest(ASKED, output=OUTPUT), NOTHING)
    without, _ = adapt_request(ModelRequest(ASKED[1:], output=OUTPUT), NOTHING)

    for fitted in (with_system, without):
        assert json.dumps(SCHEMA, separators=(",", ":")) in system_text(fitted)
        assert [type(message) for message in fitted.messages] == [SystemMessage, UserMessage]


def test_a_conversation_with_tools_becomes_plain_text() -> None:
    call = ToolCall("1", "weather", '{"city":"Rome"}')
    said: tuple[Message, ...] = (*ASKED, AssistantMessage((call,)), ToolResult("1", "weather", "sunny"))

    fitted, _ = adapt_request(ModelRequest(said, TOOLS), SCHEMA_ONLY)

    *_, made, result = fitted.messages
    assert isinstance(made, AssistantMessage)
    assert not made.tool_calls
    assert "weather" in made.text
    assert '{"city":"Rome"}' in made.text
    assert isinstance(result, UserMessage)
    assert "sunny" in result.text
    assert "- weather(city): The weather in a city." in system_text(fitted)


@pytest.mark.parametrize("output", [None, OUTPUT])
@pytest.mark.parametrize("features", [Features(), SCHEMA_ONLY])
def test_calls_of_another_model_become_plain_text(features: Features, output: OutputSpec | None) -> None:
    request = ModelRequest((*ASKED, *called("Rome")), output=output)

    fitted, _ = adapt_request(request, features)

    assert not any(isinstance(message, ToolResult) for message in fitted.messages)
    assert not any(message.tool_calls for message in fitted.messages if isinstance(message, AssistantMessage))
    assert "sunny" in fitted.messages[-1].text
    assert adapt_request(request, TOOLS_ONLY)[0].messages == request.messages


def test_each_of_several_results_names_its_call() -> None:
    calls = (ToolCall("1", "weather", '{"city":"Rome"}'), ToolCall("2", "weather", '{"city":"Oslo"}'))
    results = (ToolResult("2", "weather", "rain"), ToolResult("1", "weather", "sun"), ToolResult("9", "lost", "?"))
    request = ModelRequest((UserMessage("hi"), AssistantMessage(calls), *results), TOOLS)

    told = [
        message.text for message in adapt_request(request, SCHEMA_ONLY)[0].messages if isinstance(message, UserMessage)
    ]

    assert [text.splitlines()[0] for text in told[1:]] == [
        'The result of weather with {"city":"Oslo"} is: rain',
        'The result of weather with {"city":"Rome"} is: sun',
        "Its result is: ?",
    ]


def test_a_tool_of_the_same_name_is_not_the_answer() -> None:
    taken = tuple(ToolSpec(name, "A tool of the user.", CITY) for name in ("final_answer", "final_answer_2"))
    request = ModelRequest(ASKED, taken, "auto", OUTPUT)

    fitted, restore = adapt_request(request, TOOLS_ONLY)

    assert [one.name for one in fitted.tools] == ["final_answer", "final_answer_2", "final_answer_3"]
    assert restore is not None
    call = says(ToolCall("1", "final_answer", '{"city":"Rome"}'), finish="tool_calls")
    assert restore(call) == call
    assert restore(says(ToolCall("1", "final_answer_3", '{"n":3}'))).message.text == '{"n":3}'


def test_an_answer_as_a_call_that_was_cut_off_says_so() -> None:
    request = ModelRequest(ASKED, (), "auto", OUTPUT)
    cut = restored(request, TOOLS_ONLY, says(ToolCall("1", "final_answer", '{"n": 1'), finish="length"))

    assert (cut.message.text, cut.finish_reason) == ('{"n": 1', "length")


def tools_offered(messages: Sequence[Message]) -> bool:
    fitted, _ = adapt_request(ModelRequest(tuple(messages), TOOLS), SCHEMA_ONLY)
    assert fitted.output is not None
    assert '"answer"' in json.dumps(fitted.output.schema)
    return '"weather"' in json.dumps(fitted.output.schema)


def called(*cities: str) -> list[Message]:
    return [
        message
        for n, city in enumerate(cities)
        for message in (
            AssistantMessage((ToolCall(str(n), "weather", json.dumps({"city": city})),)),
            ToolResult(str(n), "weather", "sunny"),
        )
    ]


def test_a_call_that_was_repeated_leaves_only_an_answer() -> None:
    assert tools_offered([*ASKED, *called("Rome", "Paris", "Oslo")])
    assert not tools_offered([*ASKED, *called("Rome", "Paris", "Rome")])


def test_a_new_question_may_be_answered_with_the_same_call() -> None:
    assert tools_offered([*ASKED, *called("Rome", "Rome"), AssistantMessage((Text("sunny"),)), UserMessage("And now?")])


def test_even_a_required_call_is_not_repeated_for_ever() -> None:
    request = ModelRequest((*ASKED, *called("Rome", "Rome")), TOOLS, "required")

    fitted, _ = adapt_request(request, SCHEMA_ONLY)

    assert fitted.output is not None
    assert fitted.output.schema["properties"] == {"answer": {"type": "string"}}


@pytest.mark.parametrize("text", ["plain words", "[1]", '{"neither": 1}', '{"answer": "cut o', ""])
def test_a_reply_that_is_no_choice_stays_as_it_is(text: str) -> None:
    response = says(Text(text))

    assert restored(ModelRequest(ASKED, TOOLS), SCHEMA_ONLY, response) == response


def test_an_answer_in_words_that_was_cut_off_is_still_an_answer() -> None:
    response = restored(ModelRequest(ASKED, TOOLS), SCHEMA_ONLY, says(Text('{"answer": "cut o'), finish="length"))

    assert (response.message.text, response.finish_reason) == ("cut o", "length")


def test_a_call_that_was_cut_off_is_not_made() -> None:
    cut = says(Text('{"tool": "weather", "arguments": {"city": "Ro'), finish="length")

    assert restored(ModelRequest(ASKED, TOOLS), SCHEMA_ONLY, cut).message.tool_calls == ()


def test_calls_get_ids_of_their_own() -> None:
    reply = says(Text('{"tool": "now", "arguments": {}}'))

    first = restored(ModelRequest(ASKED, TOOLS), SCHEMA_ONLY, reply)
    third = restored(ModelRequest((*ASKED, *called("Rome", "Oslo")), TOOLS), SCHEMA_ONLY, reply)

    assert first.message.tool_calls == (ToolCall("call_1", "now"),)
    assert third.message.tool_calls == (ToolCall("call_3", "now"),)


def shopping() -> tuple[Sequence[Tool], type[BaseModel]]:
    """Tools and an output type that each have an `Item`, and none is like another."""

    def buying() -> Tool:
        class Item(BaseModel):
            price: int

        @tool(name="answer")
        def buy(item: Item, others: list[Item]) -> str:
            return f"bought {item.price}, {len(others)}"

        return buy

    def selling() -> Tool:
        class Item(BaseModel):
            colour: Literal["red", "blue"]
            parts: list[Item] = []

        @tool
        def sell(item: Item) -> str:
            return f"sold {item.colour}, {len(item.parts)}"

        return sell

    class Item(BaseModel):
        ok: bool

    class Result(BaseModel):
        item: Item
        others: list[Item]

    return (buying(), selling()), Result


@given(data=st.data())
@settings(max_examples=60)
async def test_definitions_of_several_tools_do_not_clash(data: st.DataObject) -> None:
    tools, result = shopping()
    request = ModelRequest(ASKED, tuple(one.spec for one in tools), output=output_type(result).spec)
    fitted, restore = adapt_request(request, SCHEMA_ONLY)
    assert fitted.output is not None
    assert restore is not None

    choice = data.draw(instances(fitted.output.schema))
    message = restore(says(Text(json.dumps(choice)))).message

    assert isinstance(choice, Mapping)
    if "tool" in choice:
        (call,) = message.tool_calls
        (chosen,) = (one for one in tools if one.name == call.name)
        assert await chosen.call(call.arguments, RunContext.over(ScriptedModel()))
    else:
        result.model_validate_json(message.text)


def test_other_features_change_nothing() -> None:
    request = ModelRequest(ASKED, TOOLS, output=OUTPUT)

    assert adapt_request(request, replace(EVERYTHING, images=True, temperature=False)) == (request, None)
