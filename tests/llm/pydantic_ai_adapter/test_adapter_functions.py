"""pydantic-ai's own test models as our language models: every answer, and every error."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import pytest
from pydantic_ai import exceptions, messages
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage

from tactician.errors import (
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    RateLimitError,
)
from tactician.llm import (
    AssistantMessage,
    Document,
    Features,
    Image,
    LanguageModel,
    LlmOptions,
    ModelRequest,
    ModelResponse,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from tactician.llm.model import OutputSpec, TextDelta, ToolCallDelta, ToolSpec
from tactician.llm.pydantic_ai_adapter import PydanticAiModel

HI = ModelRequest((UserMessage("hi"),))
ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
OUTPUT = OutputSpec("answer", {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]})
Seen: TypeAlias = list[tuple[list[messages.ModelMessage], AgentInfo]]


def says(*parts: messages.ModelResponsePart, seen: Seen | None = None, **more: Any) -> PydanticAiModel:  # noqa: ANN401 - its other fields
    """A model that answers with these parts."""

    def answer(said: list[messages.ModelMessage], info: AgentInfo) -> messages.ModelResponse:
        if seen is not None:
            seen.append((said, info))
        return messages.ModelResponse(parts=list(parts), **more)

    return PydanticAiModel(FunctionModel(answer, model_name="m"))


def fails(error: Exception) -> PydanticAiModel:
    """A model that raises, whole or streamed."""

    def answer(_: object, __: object) -> messages.ModelResponse:
        raise error

    async def stream(_: object, __: object) -> AsyncIterator[str]:
        raise error
        yield ""

    return PydanticAiModel(FunctionModel(answer, stream_function=stream, model_name="m"))


class TestGenerate:
    async def test_the_test_model_answers_with_text(self) -> None:
        response = await PydanticAiModel(TestModel(custom_output_text="hello")).generate(HI)

        assert response.message == AssistantMessage((Text("hello"),))
        assert (response.finish_reason, response.model, response.usage.requests) == ("stop", "test", 1)

    async def test_the_test_model_calls_tools_and_then_answers(self) -> None:
        model = PydanticAiModel(TestModel())
        request = ModelRequest(HI.messages, tools=(ADD,))

        asked = await model.generate(request)
        (call,) = asked.message.tool_calls
        result = ToolResult(call.id, call.name, "3")
        answered = await model.generate(ModelRequest((*request.messages, asked.message, result), tools=(ADD,)))

        assert (call.name, call.parse_arguments(), asked.finish_reason) == ("add", {"a": 0}, "tool_calls")
        assert answered.message.text == '{"add":"3"}'

    async def test_all_parts_of_an_answer(self) -> None:
        model = says(
            messages.ThinkingPart("hmm", signature="sig", provider_name="function"),
            messages.TextPart("Let me add."),
            messages.ToolCallPart("add", {"a": 1}, "c1"),
            messages.ToolCallPart("add", '{"a": 2 }', "c2"),
            usage=RequestUsage(
                input_tokens=9, output_tokens=4, cache_read_tokens=3, cache_write_tokens=2, output_reasoning_tokens=1
            ),
        )

        response = await model.generate(HI)

        assert response.message.parts == (
            Thinking("hmm", "sig"),
            Text("Let me add."),
            ToolCall("c1", "add", '{"a":1}'),
            ToolCall("c2", "add", '{"a": 2 }'),
        )
        assert response.usage == Usage(9, 4, 3, 2, 1, 1)
        assert response.finish_reason == "tool_calls"

    @pytest.mark.parametrize(
        ("theirs", "ours"),
        [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), ("tool_call", "tool_calls")],
    )
    async def test_every_finish_reason(self, theirs: str, ours: str) -> None:
        assert (await says(messages.TextPart("x"), finish_reason=theirs).generate(HI)).finish_reason == ours

    @pytest.mark.parametrize("end", [{"finish_reason": "error"}, {"state": "incomplete"}, {"state": "suspended"}])
    async def test_an_answer_that_did_not_come_to_its_end(self, end: dict[str, Any]) -> None:
        with pytest.raises(MalformedResponseError, match="function:m: the answer did not come to its end"):
            await says(messages.TextPart("x"), **end).generate(HI)

    async def test_a_hundred_calls_at_once_each_get_their_own_answer(self) -> None:
        def echo(said: list[messages.ModelMessage], _: AgentInfo) -> messages.ModelResponse:
            (part,) = said[-1].parts
            assert isinstance(part, messages.UserPromptPart)
            return messages.ModelResponse(parts=[messages.TextPart(str(part.content))])

        model = PydanticAiModel(FunctionModel(echo))
        found = await asyncio.gather(*(model.generate(ModelRequest((UserMessage(f"{n}"),))) for n in range(100)))

        assert [one.message.text for one in found] == [f"{n}" for n in range(100)]


class TestStream:
    async def test_text_thinking_and_calls_come_in_pieces_and_then_as_a_whole(self) -> None:
        async def stream(_: object, __: object) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
            yield "Let "
            yield "me."
            yield {1: DeltaToolCall("add", '{"a"', tool_call_id="c1")}
            yield {1: DeltaToolCall(json_args=": 1}")}
            yield {2: DeltaToolCall("add", '{"a": 2}', tool_call_id="c2")}

        model = PydanticAiModel(FunctionModel(stream_function=stream, model_name="m"))

        *deltas, response = [item async for item in model.stream(ModelRequest(HI.messages, tools=(ADD,)))]

        assert deltas == [
            TextDelta("Let "),
            TextDelta("me."),
            ToolCallDelta(0, "c1", "add", '{"a"'),
            ToolCallDelta(0, "c1", "add", ": 1}"),
            ToolCallDelta(1, "c2", "add", '{"a": 2}'),
        ]
        assert isinstance(response, ModelResponse)
        assert response.message.parts == (
            Text("Let me."),
            ToolCall("c1", "add", '{"a": 1}'),
            ToolCall("c2", "add", '{"a": 2}'),
        )
        assert (response.finish_reason, response.usage.requests) == ("tool_calls", 1)

    async def test_the_end_is_what_generate_gives(self) -> None:
        model = PydanticAiModel(TestModel(custom_output_text="hello there"))

        *deltas, response = [item async for item in model.stream(HI)]

        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "hello there"
        assert isinstance(response, ModelResponse)
        assert response.message == (await model.generate(HI)).message

    async def test_a_model_that_cannot_stream(self) -> None:
        class Whole(TestModel):
            request_stream = Model.request_stream

        with pytest.raises(ModelRequestError, match="Streamed requests not supported"):
            [item async for item in PydanticAiModel(Whole()).stream(HI)]

    async def test_a_stream_that_goes_silent(self) -> None:
        async def stream(_: object, __: object) -> AsyncIterator[str]:
            yield "x"
            await asyncio.Event().wait()

        heard = aiter(PydanticAiModel(FunctionModel(stream_function=stream, model_name="m"), timeout=0.02).stream(HI))

        assert await anext(heard) == TextDelta("x")
        with pytest.raises(ModelTimeoutError, match=r"function:m: no answer within 0\.02 s"):
            await anext(heard)


ERRORS: tuple[tuple[Exception, type[ModelError], int | None], ...] = (
    (exceptions.ModelHTTPError(400, "m", {"message": "no"}), ModelRequestError, 400),
    (exceptions.ModelHTTPError(401, "m", {"error": {"message": "no"}}), AuthenticationError, 401),
    (exceptions.ModelHTTPError(404, "m", "no"), ModelNotFoundError, 404),
    (exceptions.ModelHTTPError(408, "m"), ModelTimeoutError, 408),
    (exceptions.ModelHTTPError(429, "m", headers={"Retry-After": "7"}), RateLimitError, 429),
    (exceptions.ModelHTTPError(503, "m"), ModelServerError, 503),
    (
        exceptions.ModelHTTPError.for_category(
            exceptions.ModelContextWindowExceededError, status_code=400, model_name="m"
        ),
        ContextLengthError,
        400,
    ),
    (exceptions.ModelAuthenticationError("m", "no"), AuthenticationError, None),
    (exceptions.ModelNotFoundError("m", "no"), ModelNotFoundError, None),
    (exceptions.ModelRequestRejectedError("m", "no"), ModelRequestError, None),
    (exceptions.ModelContextWindowExceededError("m", "no"), ContextLengthError, None),
    (exceptions.ModelRateLimitError("m", "no", retry_after=7), RateLimitError, None),
    (exceptions.ModelQuotaExceededError("m", "no"), RateLimitError, None),
    (exceptions.ModelOverloadedError("m", "no"), ModelServerError, None),
    (exceptions.ModelTimeoutError("m", "no"), ModelTimeoutError, None),
    (exceptions.ModelRequestTimeout("m", 3), ModelTimeoutError, None),
    (exceptions.ModelConnectionError("m", "no"), ModelConnectionError, None),
    (exceptions.ModelAPIError("m", "no"), ModelServerError, None),
    (exceptions.ContentFilterError("no"), ContentFilterError, None),
    (exceptions.UnexpectedModelBehavior("no"), MalformedResponseError, None),
    (exceptions.UserError("no"), ModelRequestError, None),
)


class TestErrors:
    @pytest.mark.parametrize(("theirs", "ours", "status"), ERRORS, ids=lambda value: type(value).__name__)
    async def test_each_has_its_own(self, theirs: Exception, ours: type[ModelError], status: int | None) -> None:
        model = fails(theirs)
        for call in (model.generate(HI), anext(aiter(model.stream(HI)))):
            with pytest.raises(ModelError, match="function:m: ") as raised:
                await call

            assert type(raised.value) is ours
            assert (raised.value.status, raised.value.model) == (status, "function:m")
            assert raised.value.retry_after == getattr(theirs, "retry_after", None)

    async def test_when_all_of_several_models_fail_the_last_one_says_how(self) -> None:
        def broken(status: int) -> FunctionModel:
            def answer(_: object, __: object) -> messages.ModelResponse:
                raise exceptions.ModelHTTPError(status, "m")

            return FunctionModel(answer)

        with pytest.raises(ModelServerError, match="HTTP 502"):
            await PydanticAiModel(FallbackModel(broken(500), broken(502))).generate(HI)

    async def test_a_mistake_in_the_program_is_not_hidden(self) -> None:
        with pytest.raises(ZeroDivisionError):
            await fails(ZeroDivisionError()).generate(HI)

    async def test_a_schema_for_a_model_without_schemas(self) -> None:
        with pytest.raises(ModelRequestError, match="test:test: Native structured output is not supported"):
            await PydanticAiModel(TestModel()).generate(ModelRequest(HI.messages, output=OUTPUT))

    @pytest.mark.parametrize("part", [Image(data="not base64!"), Document(data="not base64!")])
    async def test_what_is_not_base64(self, part: Image | Document) -> None:
        with pytest.raises(ModelRequestError, match=f"the {part.kind} is not base64"):
            await says(messages.TextPart("x")).generate(ModelRequest((UserMessage((part,)),)))

    async def test_a_native_tool_that_nobody_knows(self) -> None:
        options = LlmOptions(native_tools=("telepathy",))
        with pytest.raises(ModelRequestError, match="unknown native tool 'telepathy'; known are web_search"):
            await says(messages.TextPart("x")).generate(ModelRequest(HI.messages, options=options))

    async def test_an_answer_that_does_not_come_in_time(self) -> None:
        async def answer(_: object, __: object) -> messages.ModelResponse:
            await asyncio.Event().wait()
            raise AssertionError

        request = ModelRequest(HI.messages, options=LlmOptions(timeout=0.02))
        with pytest.raises(ModelTimeoutError, match=r"no answer within 0\.02 s"):
            await PydanticAiModel(FunctionModel(answer, model_name="m")).generate(request)


class TestTheModelItself:
    def test_it_is_a_language_model_with_a_name(self) -> None:
        model = PydanticAiModel(TestModel())

        assert isinstance(model, LanguageModel)
        assert (model.name, repr(model)) == ("test:test", "PydanticAiModel('test:test')")

    def test_its_features_are_those_of_the_profile(self) -> None:
        profile = ModelProfile(supports_tools=False, supports_json_schema_output=True, supports_image_input=False)

        assert PydanticAiModel(TestModel(profile=profile)).features == Features(False, True, False)
        assert PydanticAiModel(TestModel()).features == Features(True, False, True)

    def test_a_model_by_its_name(self) -> None:
        assert PydanticAiModel("test").name == "test:test"

    @pytest.mark.parametrize("name", ["nonsense", "nonsense:x", "openai:gpt-5.4"])
    def test_a_name_that_nobody_knows_or_a_key_that_is_not_set(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)

        with pytest.raises(ConfigurationError, match=name):
            PydanticAiModel(name)


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_adapter_does_not_import_pydantic_ai() -> None:
    script = (
        "import sys, tactician, tactician.llm.pydantic_ai_adapter; "
        "print([m for m in sys.modules if m.startswith('pydantic_ai')])"
    )

    assert run(script) == "[]\n"


def test_without_pydantic_ai_the_error_names_the_extra() -> None:
    script = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "from tactician.errors import MissingExtraError\n"
        "from tactician.llm.pydantic_ai_adapter import PydanticAiModel\n"
        "try: PydanticAiModel('test')\n"
        "except MissingExtraError as error: print(error)"
    )

    assert (
        run(script) == 'pydantic-ai is not installed. In your clone of Tactician, run: pip install ".[pydantic-ai]"\n'
    )
