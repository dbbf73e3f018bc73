"""`ScriptedModel`: what a test tells it to say, in order or by match."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from tactician import Agent, Ai, LlmOptions, RunContext, UserInput, achieves_goal, action, planned_agent, tool
from tactician.errors import RateLimitError
from tactician.llm import (
    AssistantMessage,
    Features,
    LanguageModel,
    ModelRequest,
    ModelResponse,
    Text,
    Usage,
    UserMessage,
)
from tactician.llm import ToolCall as CalledTool
from tactician.loop import TextReceived
from tactician.testing import ScriptedModel, ScriptError, ToolCall
from tactician.testing.scripted import Step


@dataclass(frozen=True)
class Story:
    text: str


class Report(BaseModel):
    title: str
    pages: int


@planned_agent(description="writes and reviews")
class WriteAndReview:
    def __init__(self, word_count: int) -> None:
        self.word_count = word_count

    @achieves_goal("a story")
    @action
    async def craft_story(self, user_input: UserInput, ai: Ai) -> Story:
        creative = ai.with_llm(LlmOptions(temperature=0.9)).with_system_prompt("You write.")
        return await creative.create(Story, f"Craft {self.word_count} words about {user_input.content}")


@tool
def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"rain in {city}"


def ask(text: str) -> ModelRequest:
    return ModelRequest((UserMessage(text),))


async def said(model: ScriptedModel, text: str = "hi") -> str:
    return (await model.generate(ask(text))).message.text


def test_it_is_a_language_model() -> None:
    model: LanguageModel = ScriptedModel()
    assert isinstance(model, LanguageModel)
    assert model.name == "scripted"


async def test_an_action_is_tested_without_a_platform() -> None:
    model = ScriptedModel(Story("Once ..."))
    story = await WriteAndReview(word_count=200).craft_story(UserInput("a brave knight"), model.ai())
    assert story == Story("Once ...")
    (call,) = model.calls
    assert call.prompt == "Craft 200 words about a brave knight"
    assert call.options.temperature == 0.9
    assert call.tools == ()
    assert call.output is not None
    assert call.output.name == "Story"
    model.assert_exhausted()


async def test_replies_that_were_not_given_are_told() -> None:
    model = ScriptedModel()
    model.when(prompt_contains="weather").reply("sunny")
    model.when(prompt_contains="news", times=2).reply("none")
    with pytest.raises(ScriptError, match=r"'weather'.* was not used"):
        model.assert_exhausted()
    assert await said(model, "the weather") == "sunny"
    assert await said(model, "the news") == "none"
    with pytest.raises(ScriptError, match=r"'news'.* was not used 2 times, but 1"):
        model.assert_exhausted()
    assert await said(model, "the news") == "none"
    model.assert_exhausted()


async def test_steps_are_said_in_order() -> None:
    model = ScriptedModel("one", "two").script("three")
    assert [await said(model) for _ in range(3)] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Story("x"), '{"text":"x"}'),
        (Report(title="t", pages=2), '{"title":"t","pages":2}'),
        ({"a": [1]}, '{"a":[1]}'),
        ([Story("x"), Story("y")], '[{"text":"x"},{"text":"y"}]'),
        ([], "[]"),
        (True, "true"),
        (1.5, "1.5"),
        (None, "null"),
    ],
)
async def test_typed_values_become_json(step: Step, text: str) -> None:
    assert await said(ScriptedModel(step)) == text


async def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="a step is text, a tool call, a response, an error or an object"):
        await said(ScriptedModel(object()))


async def test_a_model_that_calls_a_tool() -> None:
    model = ScriptedModel(ToolCall("get_weather", city="Paris"), "Take an umbrella.")
    result = await Agent("Weather", model=model, tools=[get_weather]).run("Paris?")
    assert result.output == "Take an umbrella."
    assert [spec.name for spec in model.calls[0].tools] == ["get_weather"]
    assert "rain in Paris" in model.calls[1].prompt


async def test_a_model_that_calls_several_tools_at_once() -> None:
    model = ScriptedModel([ToolCall("get_weather", city="Paris"), ToolCall("get_weather", city="Rome")], "Both.")
    await Agent("Weather", model=model, tools=[get_weather]).run("both?")
    assert "rain in Paris" in model.calls[1].prompt
    assert "rain in Rome" in model.calls[1].prompt


async def test_calls_of_tools_have_ids_of_their_own() -> None:
    model = ScriptedModel([ToolCall("a"), ToolCall("b")], ToolCall("a", x=1))
    responses = [await model.generate(ask("hi")) for _ in range(2)]
    calls = [call for response in responses for call in response.message.tool_calls]
    assert len({call.id for call in calls}) == 3
    assert [response.finish_reason for response in responses] == ["tool_calls", "tool_calls"]
    assert calls[2].parse_arguments() == {"x": 1}
    assert repr(ToolCall("a", x=1)) == "ToolCall('a', {'x': 1})"


async def test_an_exception_is_raised() -> None:
    model = ScriptedModel(RateLimitError("slow down", retry_after=3.0), "better")
    with pytest.raises(RateLimitError, match="slow down"):
        await said(model)
    assert await said(model) == "better"
    assert len(model.calls) == 2


async def test_a_whole_response_is_given_as_it_is() -> None:
    response = ModelResponse(AssistantMessage((Text("cut"),)), Usage(1000, 7, requests=1), "length", "other")
    assert await ScriptedModel(response).generate(ask("hi")) is response


async def test_each_call_counts_as_fifteen_tokens() -> None:
    context = RunContext.over(ScriptedModel("a", "b"))
    await Ai(context).generate_text("x")
    await Ai(context).generate_text("x")
    assert context.tally.total == Usage(20, 10, requests=2)


async def test_a_script_that_is_too_short_shows_the_prompt() -> None:
    model = ScriptedModel("one")
    await said(model)
    with pytest.raises(ScriptError) as caught:
        await said(model, "and then?")
    assert str(caught.value) == "call 2 has no step: the script has 1. The prompt:\nand then?"


async def test_a_script_that_is_too_long_shows_the_next_step() -> None:
    model = ScriptedModel("one", Story("two"), "three")
    await said(model)
    assert repr(model) == "ScriptedModel(2 steps left)"
    with pytest.raises(ScriptError) as caught:
        model.assert_exhausted()
    assert str(caught.value) == "the script has 2 unused steps; the next is Story(text='two')"


def test_a_script_error_fails_a_test_like_an_assertion() -> None:
    assert issubclass(ScriptError, AssertionError)


async def test_replies_are_given_by_match_before_steps() -> None:
    model = ScriptedModel("in order").when(prompt_contains="Craft").reply(Story("crafted"))
    model.when(prompt_contains="Review").reply("reviewed")
    assert await said(model, "Review it") == "reviewed"
    assert await said(model, "Craft it") == '{"text":"crafted"}'
    assert await said(model, "Something else") == "in order"
    assert await said(model, "Craft it again") == '{"text":"crafted"}'
    model.assert_exhausted()


async def test_the_first_reply_that_fits_is_given() -> None:
    model = ScriptedModel().when(prompt_contains="a").reply("first")
    model.when(prompt_contains="ab").reply("second")
    assert await said(model, "abc") == "first"


async def test_a_reply_can_be_an_exception_or_a_tool_call() -> None:
    model = ScriptedModel("done").when(prompt_contains="boom").reply(ValueError("bang"))
    with pytest.raises(ValueError, match="bang"):
        await said(model, "boom")
    model.when(prompt_contains="Paris?").reply(ToolCall("get_weather", city="Paris"))
    response = await model.generate(ask("Paris?"))
    assert [call.name for call in response.message.tool_calls] == ["get_weather"]


async def test_a_match_makes_concurrent_calls_deterministic() -> None:
    model = ScriptedModel()
    for number in range(20):
        model.when(prompt_contains=f"<{number}>").reply(str(number))
    answers = await asyncio.gather(*(model.ai().generate_text(f"<{number}>") for number in range(20)))
    assert answers == [str(number) for number in range(20)]


@pytest.mark.parametrize("text", ["Once upon a time", "two\nlines of text\n", "", "word", " spaced  out "])
async def test_a_stream_gives_the_same_text_in_pieces(text: str) -> None:
    model = ScriptedModel(text, text)
    items = [item async for item in model.stream(ask("hi"))]
    response = items[-1]
    assert isinstance(response, ModelResponse)
    pieces = [item.text for item in items[:-1] if not isinstance(item, ModelResponse) and hasattr(item, "text")]
    assert "".join(pieces) == response.message.text == text


async def test_a_stream_gives_tool_calls() -> None:
    items = [item async for item in ScriptedModel(ToolCall("get_weather", city="Rome")).stream(ask("hi"))]
    response = items[-1]
    assert isinstance(response, ModelResponse)
    assert isinstance(call := response.message.parts[0], CalledTool)
    assert call.parse_arguments() == {"city": "Rome"}
    assert len(items) == 2


async def test_a_streaming_run_hears_the_pieces() -> None:
    agent = Agent("Teller", model=ScriptedModel("Once upon a time"))
    heard = [event.text async for event in agent.stream("tell") if isinstance(event, TextReceived)]
    assert heard == ["Once ", "upon ", "a ", "time"]


async def test_a_stream_of_an_exhausted_script_raises() -> None:
    with pytest.raises(ScriptError):
        await anext(ScriptedModel().stream(ask("hi")))


async def test_it_can_claim_to_be_able_to_do_less() -> None:
    model = ScriptedModel('{"text": "x"}', features=Features())
    assert await model.ai().create(Story, "a story") == Story("x")
    assert model.calls[0].output is None


async def test_it_has_the_name_that_it_is_given() -> None:
    context = RunContext.over(ScriptedModel("x", name="openai:gpt-4o"))
    await Ai(context).generate_text("hi")
    assert list(context.tally.by_model) == ["openai:gpt-4o"]


class TestMatches:
    """Replies and checks by prompt, type and tool."""

    async def test_replies_by_type_tool_and_count(self) -> None:
        model = ScriptedModel("next step")
        model.when(wants=Story).reply(Story("a story"))
        model.when(wants=str, tool="get_weather", times=1).reply("Rain.")
        model.when(prompt_contains="Oslo", wants=str, times=2).reply("Snow.")
        ai = Ai.over(model)
        assert await ai.create(Story, "Oslo") == Story("a story")
        assert await ai.with_tools(get_weather).generate_text("Oslo?") == "Rain."
        assert await ai.with_tools(get_weather).generate_text("Oslo?") == "Snow."
        assert await ai.generate_text("Oslo?") == "Snow."
        assert await ai.generate_text("Oslo?") == "next step"

    async def test_calls_are_found_and_checked(self) -> None:
        model = ScriptedModel(Story("x"), Report(title="t", pages=1), "text", "text")
        ai = Ai.over(model)
        await ai.create(Story, "a story of frogs")
        await ai.create(Report, "a report of frogs")
        await ai.with_tools(get_weather).generate_text("the weather")
        assert model.assert_called(prompt_contains="frogs", wants=Story).prompt == "a story of frogs"
        assert len(model.find_calls(prompt_contains="frogs")) == 2
        model.assert_called(wants=Report, times=1)
        model.assert_called(tool="get_weather")
        model.assert_no_other_calls()
        await ai.generate_text("one more")
        with pytest.raises(ScriptError, match="1 unexpected request; the first:\none more"):
            model.assert_no_other_calls()

    async def test_what_was_not_asked_is_an_error_that_lists_what_was(self) -> None:
        model = ScriptedModel("x")
        await Ai.over(model).generate_text("frogs")
        with pytest.raises(ScriptError, match=r"a request with prompt_contains='cats'; there are 0\n- frogs"):
            model.assert_called(prompt_contains="cats")
        with pytest.raises(ScriptError, match="there should be 2 requests with wants=str; there are 1"):
            model.assert_called(wants=str, times=2)
        with pytest.raises(ScriptError, match="a request with tool='search'"):
            model.assert_called(tool="search")
