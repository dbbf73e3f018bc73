"""A provider that a JSON object describes, and what happens to what it does not declare."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Mapping

import pytest

from tactician import Agent
from tactician.errors import ConfigurationError, ModelError, UnsupportedFeatureError
from tactician.llm import Image, LlmOptions, ModelRequest, ModelResponse, Text, UserMessage
from tactician.llm.custom import parse_custom_provider
from tactician.llm.embeddings.remote import RemoteEmbeddingModel
from tactician.llm.images import RemoteImageModel
from tactician.llm.instances import parse_instances
from tactician.llm.model import OutputSpec, ToolSpec
from tactician.llm.provider_access import ProviderAccess
from tactician.llm.remote import RemoteModel
from tests.support.chat_server import ChatServer, answers, completion, streams
from tests.support.voices import VOICES, Saying, says

KEY = "sk-very-secret"
SPEC: Mapping[str, object] = {
    "apiFormat": "openai-chat",
    "auth": {"header": "Authorization", "format": "Bearer {key}"},
    "endpoints": {"chat_completions": "/v1/chat/completions", "responses": "/v2/responses", "messages": "/v3/messages"},
    "queryParams": {},
    "extraHeaders": {},
    "features": {"function_calling": True, "structured_output": True, "reasoning": True},
    "onUnsupportedFeature": "throw",
}
TOOL = ToolSpec("f", "A tool.", {"type": "object", "properties": {}})
THING = OutputSpec("thing", {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})
HI = UserMessage("hi")


def instance(custom: object, url: str = "https://llm.example", **fields: object) -> RemoteModel:
    entry = {"id": "mine", "url": url, "key": KEY, "models": "m,m-2", "provider": "custom", "custom": custom, **fields}
    (made,) = parse_instances(json.dumps([entry]), {"TEAM": "agents"})
    return made.create_model("m")


def spec(**changes: object) -> dict[str, object]:
    return {**SPEC, **changes}


def mistakes(custom: object) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        instance(custom)
    assert KEY not in "".join(traceback.format_exception(raised.value))
    return [line.removeprefix("  - mine: ") for line in str(raised.value).splitlines()[1:]]


@pytest.mark.parametrize(
    ("api_format", "path"),
    [
        ("openai-chat", "/v1/chat/completions"),
        ("openai-responses", "/v2/responses"),
        ("anthropic-messages", "/v3/messages"),
    ],
)
async def test_every_format_works(api_format: str, path: str) -> None:
    custom = spec(
        apiFormat=api_format,
        auth={"header": "X-Key", "format": None},
        queryParams={"api-version": "1", "n": 2},
        extraHeaders={"X-Team": "${TEAM}"},
    )
    async with ChatServer(says(VOICES[api_format], Saying("hello"))) as server:
        response = await instance(custom, server.url).generate(ModelRequest((HI,)))

    assert response.message.text == "hello"
    assert response.usage.model == "mine:m"
    received = server.received[0]
    assert received.path == f"{path}?api-version=1&n=2"
    assert (received.headers["x-key"], received.headers["x-team"]) == (KEY, "agents")


def test_prices_are_its_own() -> None:
    model = instance(spec(modelPricing={"m": {"input": 1.5, "output": 5}, "m-2": {"input": 0.2, "output": 0.8}}))

    assert model.endpoint.prices["m"].input == 1.5
    assert model.endpoint.prices["m-2"].output == 0.8


def test_features_are_known_in_any_spelling() -> None:
    features = {
        "functionCalling": True,
        "STRUCTURED_OUTPUT": True,
        "Web_Search": True,
        "codeInterpreter": False,
        "from_the_future": True,
    }

    check = instance(spec(features=features)).endpoint.feature_check

    assert check is not None
    assert check.supported == {"function_calling", "structured_output", "web_search", "vision", "documents"}


def test_a_model_name_tells_nothing() -> None:
    (made,) = parse_instances(
        json.dumps(
            [{"id": "x", "url": "https://x", "key": "k", "models": "gpt-5", "provider": "custom", "custom": SPEC}]
        )
    )

    assert made.create_model("gpt-5").endpoint.dialect.temperature


def test_all_mistakes_come_at_once_without_a_key() -> None:
    found = mistakes(
        {
            "apiFormat": "grpc",
            "auth": {"header": "bad header", "format": KEY},
            "endpoints": {"chat_completions": "v1"},
            "features": {"vision": "perhaps"},
            "onUnsupportedFeature": "shrug",
            "modelPricing": {"m": {"input": -1}},
        }
    )

    assert [line.partition(": ")[0] for line in found] == [
        "custom.apiFormat",
        "custom.auth.header",
        "custom.auth.format",
        "custom.endpoints.chat_completions",
        "custom.features.vision",
        "custom.onUnsupportedFeature",
        "custom.modelPricing.m.input",
        "custom.modelPricing.m.output",
    ]
    assert found[2] == 'custom.auth.format: "{key}" must mark the place of the key; null sends the key alone'
    assert found[-1] == "custom.modelPricing.m.output: is missing"


@pytest.mark.parametrize(
    ("custom", "message"),
    [
        (None, "custom: is missing; describe the provider: apiFormat, auth and endpoints"),
        ([], "custom: is not an object"),
        (spec(endpoints={"chat": "/x"}), "custom.endpoints.chat_completions: is missing; the apiFormat openai-chat "),
        (spec(endpoints={}), "custom.endpoints: "),
    ],
)
def test_a_specification_that_is_not_enough(custom: object, message: str) -> None:
    (found,) = mistakes(custom)

    assert found.startswith(message)


def test_what_is_null_is_as_if_it_were_not_there() -> None:
    nulls = dict.fromkeys(("queryParams", "extraHeaders", "features", "onUnsupportedFeature", "modelPricing"))

    left_out = {name: value for name, value in SPEC.items() if name not in nulls}

    assert instance(spec(**nulls)).endpoint == instance(left_out).endpoint


@pytest.mark.parametrize("headers", [{"X-Team": f"a\r\nb: {KEY}"}, {"X Team": "a"}])
def test_a_header_that_cannot_be_sent_is_a_mistake(headers: Mapping[str, str]) -> None:
    (found,) = mistakes(spec(extraHeaders=headers))

    assert found.startswith("custom.extraHeaders: ")


def test_a_key_in_the_query_is_shown_nowhere() -> None:
    endpoint = instance(spec(queryParams={"key": KEY})).endpoint

    assert KEY in endpoint.url
    assert KEY not in repr(endpoint)


class TestServices:
    """Embeddings and images of a provider of one's own are where its specification says."""

    CUSTOM = spec(
        features={"embeddings": True, "imageGeneration": True},
        endpoints={"chat_completions": "/c", "embeddings": "/vectors", "images_generations": "/pictures"},
        queryParams={"tenant": "t"},
    )

    async def test_they_have_paths_of_their_own(self) -> None:
        provider = parse_custom_provider(self.CUSTOM)
        vector, picture = {"data": [{"embedding": [1.0]}]}, {"data": [{"b64_json": "aGk="}]}
        async with ChatServer(answers(vector), answers(picture)) as server:
            await RemoteEmbeddingModel.at_provider(ProviderAccess(provider, KEY, server.url), "m").embed_one("hi")
            painter = RemoteImageModel.at_provider(ProviderAccess(provider, KEY, server.url, "mine"), "m")
            await painter.generate("a cat")
            with pytest.raises(UnsupportedFeatureError, match="mine does not support image_editing"):
                await painter.edit(Image.from_bytes(b"\x89PNG\r\n\x1a\n"), "a hat")

        assert [one.path for one in server.received] == ["/vectors?tenant=t", "/pictures?tenant=t"]

    @pytest.mark.parametrize("at", [RemoteEmbeddingModel.at_provider, RemoteImageModel.at_provider])
    def test_what_is_not_declared_is_an_error_unless_it_is_tolerated(self, at: Callable[..., object]) -> None:
        strict, tolerant = (parse_custom_provider(spec(onUnsupportedFeature=mode)) for mode in ("throw", "warn"))

        with pytest.raises(UnsupportedFeatureError, match=r"mine does not support (embeddings|image_generation) "):
            at(ProviderAccess(strict, KEY, "https://x", "mine"), "m")
        assert at(ProviderAccess(tolerant, KEY, "https://x"), "m") is not None


NOTHING = spec(features={})
ASKED = {
    "function_calling": ModelRequest((HI,), tools=(TOOL,)),
    "structured_output": ModelRequest((HI,), output=THING),
    "reasoning": ModelRequest((HI,), options=LlmOptions(reasoning_effort="low")),
    "web_search": ModelRequest((HI,), options=LlmOptions(native_tools=("web_search",))),
    "code_interpreter": ModelRequest((HI,), options=LlmOptions(native_tools=("code_interpreter",))),
    "vision": ModelRequest((UserMessage((Text("hi"), Image(url="https://x/y.png"))),)),
}
FIELDS = ("tools", "tool_choice", "response_format", "reasoning_effort")


class TestWhatIsNotDeclared:
    @pytest.mark.parametrize("feature", ASKED)
    async def test_throw(self, feature: str) -> None:
        async with ChatServer(answers(completion("hello"))) as server:
            model = instance(spec(features={"vision": False, "streaming": True}), server.url)
            for stream in (False, True):
                with pytest.raises(UnsupportedFeatureError, match=f"mine does not support {feature} ") as raised:
                    _ = (
                        [i async for i in model.stream(ASKED[feature])]
                        if stream
                        else await model.generate(ASKED[feature])
                    )
                assert isinstance(raised.value, ModelError)
                assert (raised.value.instance, raised.value.feature) == ("mine", feature)
                assert raised.value.supported == {"streaming"}

        assert not server.received

    @pytest.mark.parametrize("feature", ASKED)
    @pytest.mark.parametrize("mode", ["warn", "ignore", "WARN"])
    async def test_warn_and_ignore(self, feature: str, mode: str, caplog: pytest.LogCaptureFixture) -> None:
        custom = spec(features={"vision": False}, onUnsupportedFeature=mode)
        async with ChatServer(answers(completion("hello"))) as server:
            with caplog.at_level(logging.WARNING, "tactician"):
                response = await instance(custom, server.url).generate(ASKED[feature])

        assert response.message.text == "hello"
        assert not [name for name in FIELDS if name in server.bodies[0]] or feature == "function_calling"
        assert "tools" not in server.bodies[0]
        assert "image_url" not in json.dumps(server.bodies[0])
        warned = [record.getMessage() for record in caplog.records]
        expected = f"mine does not support {feature} (it supports: none); left out"
        assert warned == ([] if mode == "ignore" else [expected])

    async def test_what_is_declared_goes_out_as_it_is(self) -> None:
        async with ChatServer(answers(completion("hello"))) as server:
            asked = ModelRequest((HI,), tools=(TOOL,), output=THING, options=LlmOptions(reasoning_effort="low"))
            await instance(SPEC, server.url).generate(asked)

        assert server.bodies[0].keys() >= {"tools", "response_format", "reasoning_effort"}

    async def test_an_agent_is_stopped_before_any_request(self) -> None:
        async with ChatServer(answers(completion("hello"))) as server:
            agent = Agent("a", output_type=dict[str, int], model=instance(NOTHING, server.url))

            with pytest.raises(UnsupportedFeatureError):
                await agent.run("hi")

        assert not server.received

    async def test_a_typed_answer_without_structured_output(self) -> None:
        """`warn` leaves the schema out of the body, and puts it into the prompt."""
        custom = spec(features={}, onUnsupportedFeature="ignore")
        async with ChatServer(answers(completion('{"x": 1}')), streams()) as server:
            response = await instance(custom, server.url).generate(ASKED["structured_output"])

        assert response.message.text == '{"x": 1}'
        assert "matches this JSON schema" in json.dumps(server.bodies[0]["messages"])


async def test_a_provider_without_streaming_gives_its_answer_in_one_piece() -> None:
    custom = spec(features={"streaming": False})
    async with ChatServer(answers(completion("hello"))) as server:
        items = [item async for item in instance(custom, server.url).stream(ModelRequest((HI,)))]

    (response,) = items
    assert isinstance(response, ModelResponse)
    assert response.message.text == "hello"
    assert "stream" not in server.received[0].body
