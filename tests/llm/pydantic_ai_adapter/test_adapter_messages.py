"""What a model of pydantic-ai sees of our conversations, and what comes back as it was."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from pydantic_ai import messages
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile

from tactician.llm import (
    AssistantMessage,
    Document,
    Image,
    LlmOptions,
    ModelRequest,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.messages import ProviderItem, SystemMessage, messages_from_json, messages_to_json
from tactician.llm.model import OutputSpec, ToolSpec
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


async def seen_by_model(request: ModelRequest) -> tuple[list[messages.ModelMessage], AgentInfo]:
    seen: Seen = []
    await says(messages.TextPart("ok"), seen=seen).generate(request)
    return seen[0]


class TestWhatTheModelSees:
    async def test_a_conversation(self) -> None:
        said, _ = await seen_by_model(
            ModelRequest(
                (
                    SystemMessage("Be brief."),
                    UserMessage("Add."),
                    AssistantMessage((Thinking("hmm", "sig"), Text("Sure."), ToolCall("c1", "add", '{"a":1}'))),
                    ToolResult("c1", "add", "boom", is_error=True),
                    UserMessage("And?"),
                )
            )
        )

        first, answer, last = said
        system, user = first.parts
        thinking, text, call = answer.parts
        result, again = last.parts
        assert isinstance(system, messages.SystemPromptPart)
        assert isinstance(user, messages.UserPromptPart)
        assert (system.content, user.content) == ("Be brief.", "Add.")
        assert isinstance(thinking, messages.ThinkingPart)
        assert (thinking.content, thinking.signature, thinking.provider_name) == ("hmm", "sig", "function")
        assert isinstance(text, messages.TextPart)
        assert text.content == "Sure."
        assert isinstance(call, messages.ToolCallPart)
        assert (call.tool_name, call.args, call.tool_call_id) == ("add", '{"a":1}', "c1")
        assert isinstance(result, messages.ToolReturnPart)
        assert (result.tool_name, result.content, result.tool_call_id) == ("add", "boom", "c1")
        assert result.outcome == "failed"
        assert isinstance(again, messages.UserPromptPart)

    async def test_pictures_and_documents(self) -> None:
        parts = (
            Text("look"),
            Image.from_bytes(b"\x89PNG\r\n\x1a\n"),
            Image(url="https://example.org/a.jpg"),
            Document.from_bytes(b"pdf"),
            Document(url="https://example.org/a.pdf"),
        )

        said, _ = await seen_by_model(ModelRequest((UserMessage(parts),)))

        (part,) = said[0].parts
        assert isinstance(part, messages.UserPromptPart)
        assert part.content == [
            "look",
            messages.BinaryContent(b"\x89PNG\r\n\x1a\n", media_type="image/png"),
            messages.ImageUrl("https://example.org/a.jpg"),
            messages.BinaryContent(b"pdf", media_type="application/pdf"),
            messages.DocumentUrl("https://example.org/a.pdf"),
        ]

    async def test_tools_and_the_schema_of_the_answer(self) -> None:
        _, info = await seen_by_model(ModelRequest(HI.messages, tools=(ADD,), output=OUTPUT))

        (tool,) = info.function_tools
        output = info.model_request_parameters.output_object
        assert (tool.name, tool.description, tool.parameters_json_schema) == ("add", "Adds.", ADD.parameters)
        assert output is not None
        assert (output.name, output.json_schema, output.strict) == ("answer", OUTPUT.schema, True)
        assert info.model_request_parameters.output_mode == "native"

    async def test_the_options(self) -> None:
        options = LlmOptions(temperature=0.5, top_p=0.9, top_k=7, max_tokens=10, seed=3, timeout=5)

        _, info = await seen_by_model(ModelRequest(HI.messages, options=options))

        assert info.model_settings == {
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 7,
            "max_tokens": 10,
            "seed": 3,
            "max_retries": 0,
        }

    @pytest.mark.parametrize(("effort", "thinking"), [("low", "low"), ("none", False), ("enabled", True)])
    async def test_the_effort(self, effort: str, thinking: object) -> None:
        seen: list[object] = []

        def answer(_: object, info: AgentInfo) -> messages.ModelResponse:
            seen.append(info.model_request_parameters.thinking)
            return messages.ModelResponse(parts=[messages.TextPart("ok")])

        model = PydanticAiModel(FunctionModel(answer, profile=ModelProfile(supports_thinking=True)))
        await model.generate(ModelRequest(HI.messages, options=LlmOptions(reasoning_effort=effort)))

        assert seen == [thinking]

    @pytest.mark.parametrize(
        ("choice", "sent"), [("auto", None), ("none", "none"), ("required", "required"), ("add", ["add"])]
    )
    async def test_the_choice_of_tools(self, choice: str, sent: object) -> None:
        _, info = await seen_by_model(ModelRequest(HI.messages, tools=(ADD,), tool_choice=choice))

        assert (info.model_settings or {}).get("tool_choice") == sent

    async def test_native_tools(self) -> None:
        _, info = await seen_by_model(
            ModelRequest(HI.messages, options=LlmOptions(native_tools=("web_search", "code_interpreter")))
        )

        assert [tool.kind for tool in info.model_request_parameters.native_tools] == ["web_search", "code_execution"]

    async def test_the_models_own_number_of_retries_stays(self) -> None:
        model = FunctionModel(lambda _, info: says_number(info), settings={"max_retries": 3})

        assert (await PydanticAiModel(model).generate(HI)).message.text == "3"


def says_number(info: AgentInfo) -> messages.ModelResponse:
    return messages.ModelResponse(parts=[messages.TextPart(f"{(info.model_settings or {}).get('max_retries')}")])


class TestPartsThatOnlyPydanticAiUnderstands:
    PARTS = (
        messages.ThinkingPart("hmm", id="rs_1", signature="sealed", provider_name="function"),
        messages.ThinkingPart("", id="redacted_thinking", signature="sealed", provider_name="function"),
        messages.TextPart("hi", id="msg_1", provider_name="function"),
        messages.ToolCallPart("add", '{"a":1}', "c1", provider_details={"thought_signature": "x"}),
        messages.NativeToolCallPart("web_search", {"query": "x"}, "n1", provider_name="function"),
        messages.NativeToolReturnPart("web_search", {"found": 1}, "n1", provider_name="function"),
    )

    async def test_they_come_back_as_they_were_even_from_storage(self) -> None:
        message = (await says(*self.PARTS).generate(HI)).message
        stored = messages_from_json(messages_to_json((UserMessage("hi"), message, ToolResult("c1", "add", "2"))))

        said, _ = await seen_by_model(ModelRequest(stored))

        assert message.thinking == "hmm"
        assert message.text == "hi"
        assert [call.id for call in message.tool_calls] == ["c1"]
        assert [repr(part) for part in said[1].parts] == [
            repr(part).replace(repr(getattr(part, "timestamp", "")), repr(getattr(back, "timestamp", "")))
            for part, back in zip(self.PARTS, said[1].parts, strict=True)
        ]

    async def test_what_somebody_changed_counts(self) -> None:
        text, item = (await says(messages.TextPart("hi", id="msg_1")).generate(HI)).message.parts
        assert isinstance(item, ProviderItem)
        assert text == Text("hi")

        said, _ = await seen_by_model(
            ModelRequest((*HI.messages, AssistantMessage((Text("[cut]"), item)), *HI.messages))
        )

        assert said[1].parts == [messages.TextPart("[cut]")]

    @pytest.mark.parametrize("item", [ProviderItem("other", "{}"), ProviderItem("pydantic-ai", "{nonsense")])
    async def test_what_another_format_left_is_left_out(self, item: ProviderItem) -> None:
        said, _ = await seen_by_model(ModelRequest((*HI.messages, AssistantMessage((Text("a"), item)), *HI.messages)))

        assert said[1].parts == [messages.TextPart("a")]
