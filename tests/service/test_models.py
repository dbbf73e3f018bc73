"""Models without agents, over HTTP; embeddings and pictures."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping

import pytest
from pydantic import BaseModel

from tactician import AgentService, Image, ModelRouter, Platform, UserMessage, tool
from tactician.config import Settings
from tactician.errors import AgentNotFoundError, ConfigurationError, UnknownModelError
from tactician.events import Event
from tactician.llm import EmbeddingModel, ImageModel, LanguageModel, LlmOptions, ModelCatalog, RoutingOptions
from tactician.llm.catalog import load_default_models
from tactician.llm.images import GeneratedImages, ImageOptions
from tactician.llm.options import NO_ROUTING_OPTIONS
from tactician.runs import ModelCalled, ModelReturned
from tactician.testing import ScriptedModel
from tests.support.chat_server import ChatServer, answers, call, completion, echoes

KEY = "sk-very-secret"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with ChatServer(echoes()) as made:
        yield made


def instances(server: ChatServer, *models: str) -> str:
    served = {"id": "main", "url": server.url, "key": KEY, "models": ",".join(models), "provider": "openai"}
    return json.dumps([{**served, "apiFormat": "openai-chat"}])


def router(server: ChatServer, *models: str) -> ModelRouter:
    return ModelRouter.from_json(instances(server, *models), requests_per_second=50, max_retries=0, environment={})


def catalog(server: ChatServer, *models: str) -> ModelCatalog:
    return ModelCatalog(Settings(), {"LLM_INSTANCES": instances(server, *models)})


async def test_a_model_answers_without_an_agent(server: ChatServer) -> None:
    server.will(answers(completion("4")))
    service = AgentService(router(server, "gpt-4o"))
    result = await service.request_model("gpt-4o", "What is 2+2?")
    assert result.output == "4"
    assert result.usage.total_tokens == 18
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "What is 2+2?"}]
    assert set(result.tally.by_model) == {"main:gpt-4o"}


async def test_every_option_reaches_the_model() -> None:
    model = ScriptedModel("ok")
    await AgentService(model).request_model(
        "gpt-5.4",
        "Research and analyze",
        instructions="You are a research assistant",
        web_search=True,
        code_interpreter=True,
        temperature=0.7,
        max_tokens=2000,
        reasoning_effort="low",
        timeout=9.0,
        instances=["main"],
        images=[PNG],
        history=[UserMessage("Before")],
    )
    asked = model.calls[0]
    options = asked.options
    assert (options.model, options.temperature, options.max_tokens) == ("gpt-5.4", 0.7, 2000)
    assert (options.native_tools, options.instances) == (("web_search", "code_interpreter"), ("main",))
    assert (options.reasoning_effort, options.timeout) == ("low", 9.0)
    assert [message.role for message in asked.messages] == ["system", "user", "user"]
    assert asked.messages[2] == UserMessage((*UserMessage("Research and analyze").parts, Image(data=PNG)))


class Person(BaseModel):
    name: str


async def test_an_answer_can_be_an_object(server: ChatServer) -> None:
    server.will(answers(completion('{"name": "Ada"}')))
    service = AgentService(router(server, "gpt-4o"))
    result = await service.request_model("gpt-4o", "Who?", output_type=Person)
    assert result.output.name == "Ada"
    assert "response_format" in server.bodies[0]


async def test_a_model_can_use_tools(server: ChatServer) -> None:
    @tool
    def weather(city: str) -> str:
        """Weather."""
        return f"rain in {city}"

    server.will(answers(completion(None, call("c1", "weather", '{"city": "London"}'))), echoes())
    service = AgentService(router(server, "gpt-4o"))
    assert (await service.request_model("gpt-4o", "Weather?", tools=[weather])).output == "rain in London"


async def test_a_conversation_grows_with_requests_to_models(server: ChatServer) -> None:
    server.will(answers(completion("Hello Alice.")), answers(completion("Alice.")))
    service = AgentService(router(server, "gpt-4o"))
    conversation_id = service.create_conversation()
    await service.request_model("gpt-4o", "I am Alice.", conversation_id=conversation_id)
    await service.request_model("gpt-4o", "Who am I?", conversation_id=conversation_id)
    assert server.bodies[1]["messages"] == [
        {"role": "user", "content": "I am Alice."},
        {"role": "assistant", "content": "Hello Alice."},
        {"role": "user", "content": "Who am I?"},
    ]


async def test_an_unknown_model_is_an_error(server: ChatServer) -> None:
    with pytest.raises(UnknownModelError):
        await AgentService(router(server, "gpt-4o")).request_model("gpt-9", "Hi")


async def test_a_model_of_a_catalog_is_an_agent_too(server: ChatServer) -> None:
    service = AgentService(catalog(server, "house-model", "house-model-websearch"))
    assert (await service.request_agent("house-model", "Hello")).output == "Hello"
    assert (await service.request_agent("house-model-websearch", "Hello")).output == "Hello"
    assert [body["model"] for body in server.bodies] == ["house-model", "house-model-websearch"]
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        await service.request_agent("gpt-5.4", "Hello")


async def test_a_cancelled_request_leaves_no_open_connection(server: ChatServer) -> None:
    server.will(server.stall())
    service = AgentService(router(server, "gpt-4o"))
    conversation_id = service.create_conversation()
    asking = asyncio.create_task(service.request_model("gpt-4o", "Hi", conversation_id=conversation_id))
    await server.reached.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await server.abandoned.wait()
    assert len((await service.conversation(conversation_id)).messages) == 1


def vectors(*rows: list[float]) -> Mapping[str, object]:
    data = [{"index": n, "embedding": row} for n, row in enumerate(rows)]
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 2, "total_tokens": 2}}


async def test_texts_become_vectors(server: ChatServer) -> None:
    server.will(answers(vectors([1.0, 0.5])), answers(vectors([1.0], [2.0])))
    service = AgentService(catalog(server, "text-embedding-3-small", "text-embedding-3-large"))
    assert await service.embed("Hello") == (1.0, 0.5)
    assert await service.embed_all(["Hello", "World"], model="text-embedding-3-large") == ((1.0,), (2.0,))
    assert [body["model"] for body in server.bodies] == ["text-embedding-3-small", "text-embedding-3-large"]
    assert server.received[0].path == "/v1/embeddings"


async def test_a_prompt_becomes_a_picture(server: ChatServer) -> None:
    server.will(answers({"data": [{"b64_json": PNG}]}))
    service = AgentService(catalog(server, "dall-e-3"))
    assert await service.image("A cat in space") == Image(data=PNG)
    await service.image("A sunset", model="dall-e-3", size="1792x1024", quality="hd")
    assert (server.bodies[1]["size"], server.bodies[1]["quality"]) == ("1792x1024", "hd")


class Studio:
    """A source of models of one's own, which paints."""

    def __init__(self) -> None:
        self.edited: list[tuple[Image, str, Image | None]] = []
        self.asked: list[str | None] = []

    name = "studio"

    def resolve(self, options: LlmOptions) -> LanguageModel:
        raise UnknownModelError("it only paints")

    def embedding_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> EmbeddingModel:
        raise ConfigurationError("it only paints")

    def image_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> ImageModel:
        self.asked.append(name)
        return self

    async def generate(
        self,
        prompt: str,
        *,
        size: str = "",
        quality: str = "",
        n: int = 1,
        options: ImageOptions = ImageOptions(),  # noqa: B008
    ) -> GeneratedImages:
        raise ConfigurationError("it only changes pictures")

    async def edit(
        self,
        image: Image,
        prompt: str,
        *,
        mask: Image | None = None,
        options: ImageOptions = ImageOptions(),  # noqa: B008
    ) -> GeneratedImages:
        self.edited.append((image, prompt, mask))
        return GeneratedImages((Image(data="new"),), "studio")


async def test_a_picture_can_be_changed() -> None:
    studio = Studio()
    service = AgentService(studio)
    assert await service.edit_image(PNG, "Add sunglasses") == Image(data="new")
    await service.edit_image(PNG, "Add a hat", mask=PNG, model="brush")
    assert studio.edited == [(Image(data=PNG), "Add sunglasses", None), (Image(data=PNG), "Add a hat", Image(data=PNG))]
    assert studio.asked == [None, "brush"]
    with pytest.raises(ValueError, match="picture"):
        await service.edit_image("no picture!", "Add sunglasses")
    with pytest.raises(AgentNotFoundError):
        await service.request_agent("nobody", "Hi")


async def test_embeddings_and_images_come_from_the_router_even_if_the_environment_has_another_key(
    monkeypatch: pytest.MonkeyPatch, server: ChatServer
) -> None:
    async with ChatServer(answers(vectors([9.0]))) as other:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-account")
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        load_default_models.cache_clear()
        try:
            server.will(answers(vectors([0.25])), answers({"data": [{"b64_json": PNG}]}))
            service = AgentService(router(server, "gpt-4o", "text-embedding-3-small", "dall-e-3"))
            assert await service.embed("Hello") == (0.25,)
            assert await service.image("A cat") == Image(data=PNG)
            with pytest.raises(UnknownModelError, match=r"'gpt-image-1'.* Served are: dall-e-3 \(at main\)"):
                await service.image("A cat", model="gpt-image-1")
            with pytest.raises(ConfigurationError, match="no instance with an embedding model is configured"):
                await AgentService(router(server, "gpt-4o")).embed("Hello")
            with pytest.raises(ConfigurationError, match="ScriptedModel alone makes no embeddings and no images"):
                await AgentService(ScriptedModel("a")).image("A cat")
            assert other.received == []
        finally:
            load_default_models.cache_clear()
    assert {one.headers["authorization"] for one in server.received} == {f"Bearer {KEY}"}
    assert [one.path for one in server.received] == ["/v1/embeddings", "/v1/images/generations"]


async def test_embeddings_and_images_go_to_the_instances_that_are_named(server: ChatServer) -> None:
    async with ChatServer(answers(vectors([9.0]))) as other:
        listed = [
            {"id": name, "url": one.url, "key": f"sk-{name}", "models": "my-embed,gpt-image-1", "provider": "openai"}
            for name, one in (("main", server), ("other", other))
        ]
        service = AgentService(ModelRouter.from_json(json.dumps(listed), environment={}))
        made = answers({"data": [{"b64_json": PNG}]})
        for _ in range(5):
            server.will(answers(vectors([0.5])), made)
            assert await service.embed("Hello", model="my-embed", instances=["main"]) == (0.5,)
            await service.image("A cat", instances=["main"])
        with pytest.raises(ConfigurationError, match="elsewhere"):
            await service.embed("Hello", model="my-embed", instances=["elsewhere"])
        assert other.received == []
    assert {one.headers["authorization"] for one in server.received} == {"Bearer sk-main"}


async def test_a_service_without_models_uses_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, server: ChatServer
) -> None:
    monkeypatch.setenv("LLM_INSTANCES", instances(server, "gpt-4o"))
    load_default_models.cache_clear()
    try:
        assert (await AgentService().request_agent("gpt-4o", "Hello")).output == "Hello"
    finally:
        load_default_models.cache_clear()


async def test_waits_of_the_caller_are_told_over_http_too(server: ChatServer) -> None:
    server.will(answers(completion(None, call("c1", "ask", "{}"))), echoes())
    service = AgentService(router(server, "gpt-4o"))

    @tool(client_side=True)
    def ask() -> str:
        """Asks."""
        return ""

    waiting = await service.request_model("gpt-4o", "Go", tools=[ask])
    result = await service.resume(waiting.run_id, {waiting.pending[0].id: "asked"})
    assert result.output == "asked"


async def test_listeners_hear_of_embeddings_and_images(server: ChatServer) -> None:
    server.will(answers(vectors([0.25])), answers({"data": [{"b64_json": PNG}]}))
    events: list[Event] = []
    models = router(server, "text-embedding-3-small", "dall-e-3")
    service = AgentService(Platform(models, on_event=events.append))
    await service.embed("Hello")
    await service.image("A cat")
    calls = [event for event in events if isinstance(event, ModelCalled | ModelReturned)]
    assert [(type(event), event.operation) for event in calls] == [
        (ModelCalled, "embeddings"),
        (ModelReturned, "embeddings"),
        (ModelCalled, "images"),
        (ModelReturned, "images"),
    ]
