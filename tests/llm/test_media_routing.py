"""Embeddings and images over HTTP through a router: which server is asked, how often, and with which key."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from aiohttp import web

from tactician import Ai, LlmOptions, ModelRouter
from tactician.config import ModelSettings, Settings
from tactician.config.loading import load_settings
from tactician.errors import AuthenticationError, ConfigurationError, ModelServerError, UnknownModelError
from tactician.events import Event
from tactician.llm import ModelCatalog, RequestRetried, RequestRouted
from tactician.llm.model_sources import MediaModelSource
from tactician.runs import ModelCalled, ModelReturned, RunContext
from tests.support.chat_server import ChatServer, Received, Reply, answers, fails

PNG = base64.b64encode(b"\x89PNG picture").decode()
PICTURE = answers({"data": [{"b64_json": PNG}], "usage": {"input_tokens": 5, "output_tokens": 7}})
BUSY = fails(429, headers={"Retry-After": "0.05"})
DOWN = fails(503)


def embeds() -> Reply:
    """Each text's vector is its length."""

    async def reply(_: web.Request, received: Received) -> web.StreamResponse:
        texts = received.body["input"]
        assert isinstance(texts, list)
        data = [{"index": place, "embedding": [float(len(text))]} for place, text in enumerate(texts)]
        return web.json_response({"data": data, "usage": {"prompt_tokens": len(texts)}})

    return reply


def instances(*servers: ChatServer, **more: object) -> list[dict[str, object]]:
    return [
        {"id": f"site-{n}", "url": one.url, "key": f"sk-{n}", "models": "e-embed,gpt-image-1", "provider": "openai"}
        | more
        for n, one in enumerate(servers, start=1)
    ]


def toml(listed: list[dict[str, object]], extra: str = "") -> str:
    tables = ("\n".join(f"{name} = {json.dumps(value)}" for name, value in one.items()) for one in listed)
    return "\n".join(["[[models.instances]]\n" + table for table in tables]) + "\n" + extra


@pytest.fixture(params=["from_json", "environment", "tactician.toml"])
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Way:
    return Way(request.param, tmp_path / "tactician.toml")


class Way:
    """One of the ways to configure the same models. The environment always has another key beside them."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self._file = file

    def source(self, listed: list[dict[str, object]], other: ChatServer) -> MediaModelSource:
        environment = {"OPENAI_API_KEY": "sk-other", "OPENAI_BASE_URL": other.url}
        if self.name == "from_json":
            return ModelRouter.from_json(json.dumps(listed), environment=environment)
        if self.name == "environment":
            return ModelCatalog(Settings(), {**environment, "LLM_INSTANCES": json.dumps(listed)})
        self._file.write_text(toml(listed), encoding="utf-8")
        return ModelCatalog(load_settings(self._file), environment)


def keys(server: ChatServer) -> set[str]:
    return {one.headers["authorization"] for one in server.received}


async def test_embeddings_are_spread_over_two_instances_with_the_key_of_each(way: Way) -> None:
    async with ChatServer(embeds()) as one, ChatServer(embeds()) as two, ChatServer(embeds()) as other:
        model = way.source(instances(one, two), other).embedding_model()
        found = [await model.embed(["a", "bb"]) for _ in range(6)]
    assert {answer.vectors for answer in found} == {((1.0,), (2.0,))}
    assert (len(one.received), len(two.received), len(other.received)) == (3, 3, 0)
    assert (keys(one), keys(two)) == ({"Bearer sk-1"}, {"Bearer sk-2"})
    assert {answer.model for answer in found} == {"e-embed"}
    assert {answer.usage.model for answer in found} == {"site-1:e-embed", "site-2:e-embed"}


async def test_images_are_spread_over_two_instances_with_the_key_of_each(way: Way) -> None:
    async with ChatServer(PICTURE) as one, ChatServer(PICTURE) as two, ChatServer(PICTURE) as other:
        model = way.source(instances(one, two), other).image_model()
        made = [await model.generate("a cat") for _ in range(6)]
    assert {answer.images[0].data for answer in made} == {PNG}
    assert (len(one.received), len(two.received), len(other.received)) == (3, 3, 0)
    assert (keys(one), keys(two)) == ({"Bearer sk-1"}, {"Bearer sk-2"})
    assert {answer.usage.model for answer in made} == {"site-1:gpt-image-1", "site-2:gpt-image-1"}


async def test_one_that_fails_rests_and_the_other_serves(way: Way) -> None:
    async with ChatServer(DOWN) as broken, ChatServer(embeds()) as healthy, ChatServer(embeds()) as other:
        source = way.source(instances(broken, healthy), other)
        for _ in range(12):
            await source.embedding_model("e-embed").embed(["a"])
    assert (len(broken.received), len(healthy.received), len(other.received)) == (5, 12, 0)


async def test_an_image_model_that_fails_rests_and_the_other_serves(way: Way) -> None:
    async with ChatServer(DOWN) as broken, ChatServer(PICTURE) as healthy, ChatServer(PICTURE) as other:
        source = way.source(instances(broken, healthy), other)
        for _ in range(12):
            await source.image_model("gpt-image-1").generate("a cat")
    assert (len(broken.received), len(healthy.received), len(other.received)) == (5, 12, 0)


async def test_one_that_is_busy_is_left_alone_as_long_as_it_says() -> None:
    async with ChatServer(BUSY, embeds()) as busy:
        router = ModelRouter.from_json(json.dumps(instances(busy)))
        assert len(await router.embedding_model().embed(["a"])) == 1
        (status, _) = router.status()
    assert len(busy.received) == 2
    assert (status.name, status.kind, status.requests, status.answers, status.failures) == (
        "site-1:e-embed",
        "embeddings",
        2,
        1,
        1,
    )


async def test_a_batch_that_fails_is_retried_alone_at_the_other_instance() -> None:
    long = ["a" * 16_000, "b" * 16_000, "c" * 16_000]
    async with ChatServer(embeds(), DOWN, embeds()) as one, ChatServer(embeds()) as two:
        router = ModelRouter.from_json(json.dumps(instances(one, two, provider="mistral")))
        found = await router.embedding_model().embed(long)
    asked = [[text[0] for text in body["input"]] for body in (*one.bodies, *two.bodies)]  # type: ignore[attr-defined]
    assert asked == [["a"], ["c"], ["b"], ["c"]]
    assert found.vectors == ((16_000.0,),) * 3


async def test_when_all_fail_the_error_tells_what_was_tried_and_nobody_else_is_asked(way: Way) -> None:
    async with ChatServer(DOWN) as one, ChatServer(fails(401)) as two, ChatServer(embeds()) as other:
        model = way.source(instances(one, two), other).embedding_model()
        with pytest.raises((ModelServerError, AuthenticationError)) as caught:
            await model.embed(["a"])
    assert "site-1:e-embed (server)" in caught.value.__notes__[0]
    assert "sk-" not in f"{caught.value} {caught.value.__notes__}"
    assert other.received == []


async def test_what_an_ai_is_pinned_to_holds_for_its_embeddings_and_images() -> None:
    events: list[Event] = []
    async with ChatServer(embeds()) as one, ChatServer(BUSY, embeds(), PICTURE) as two:
        router = ModelRouter.from_json(json.dumps(instances(one, two)))
        context = RunContext.over(router, events.append)
        ai = Ai(context).with_llm(LlmOptions(instances=("site-2",)))
        assert await ai.embed("abc") == (3.0,)
        assert (await ai.image("a cat")).data == PNG
        with pytest.raises(UnknownModelError, match=r"at the allowed instances \(site-3\)"):
            await Ai(context).with_llm(LlmOptions(instances=("site-3",))).embed("abc")
    assert (len(one.received), len(two.received)) == (0, 3)
    assert set(context.tally.by_instance) == {"site-2"}
    embedded = [ModelCalled, RequestRouted, RequestRetried, RequestRouted, ModelReturned]
    assert [type(event) for event in events] == [*embedded, ModelCalled, RequestRouted, ModelReturned]
    assert {one.run_id for one in events} == {context.run_id}


async def test_an_image_model_falls_back_as_the_settings_say() -> None:
    settings = ModelSettings(fallbacks={"openai:gpt-image-1": ("gpt-image-2",)})
    async with ChatServer(fails(401)) as locked, ChatServer(PICTURE) as other:
        listed = instances(other, models="gpt-image-2")
        environment = {"OPENAI_BASE_URL": locked.url, "LLM_INSTANCES": json.dumps(listed)}
        made = (
            await ModelCatalog(Settings(models=settings), environment).image_model("openai:gpt-image-1").generate("x")
        )
    assert (len(locked.received), made.model) == (1, "site-1:gpt-image-2")


def test_an_embedding_model_with_a_fallback_is_refused() -> None:
    settings = ModelSettings(fallbacks={"a-embed": ("b-embed",)})
    listed = [{"id": "x", "url": "http://x", "models": "a-embed,b-embed", "provider": "openai"}]
    message = "The fallbacks of 'a-embed': an embedding model can have none"
    with pytest.raises(ConfigurationError, match=message):
        ModelCatalog(Settings(models=settings), {"LLM_INSTANCES": json.dumps(listed)}).embedding_model("a-embed")
    with pytest.raises(ConfigurationError, match=message):
        ModelRouter.from_json(json.dumps(listed), settings)


async def test_the_health_of_a_catalog_counts_embeddings_and_images() -> None:
    async with ChatServer(embeds()) as one, ChatServer(DOWN) as two:
        source = ModelCatalog(Settings(), {"LLM_INSTANCES": json.dumps(instances(one, two))})
        for _ in range(2):
            await source.embedding_model().embed(["a"])
        health: Mapping[str, tuple[str, int, int]] = {
            name: (status.kind, status.requests, status.failures) for name, status in source.get_statuses().items()
        }
    assert health == {
        "site-1:e-embed": ("embeddings", 2, 0),
        "site-2:e-embed": ("embeddings", 1, 1),
        "site-1:gpt-image-1": ("images", 0, 0),
        "site-2:gpt-image-1": ("images", 0, 0),
    }


class TestKinds:
    def test_an_entry_says_what_a_name_does_not_tell(self) -> None:
        listed = [
            {
                "id": "x",
                "url": "http://x",
                "models": "bge-m3,flux,my-embedder,qwen3",
                "provider": "openai",
                "kinds": {"bge-m3": "embeddings", "flux": "images", "my-embedder": "chat"},
            }
        ]
        router = ModelRouter.from_json(json.dumps(listed))
        assert (router.models, router.embedding_model().name, router.image_model().name) == (
            ("my-embedder", "qwen3"),
            "bge-m3",
            "flux",
        )

    def test_an_entry_may_say_it_of_all_its_models(self) -> None:
        listed = [{"id": "x", "url": "http://x", "models": "a,b", "provider": "ollama", "kinds": {"*": "embeddings"}}]
        router = ModelRouter.from_json(json.dumps(listed))
        assert (router.models, router.embedding_model("b").name) == ((), "b")

    def test_a_name_means_nothing_at_a_provider_that_has_none_of_the_kind(self) -> None:
        listed = [{"id": "x", "url": "http://x", "models": "openai/gpt-image-1", "provider": "openrouter", "key": "k"}]
        assert ModelRouter.from_json(json.dumps(listed)).models == ("openai/gpt-image-1",)

    def test_mistakes_are_told_together(self) -> None:
        one = {"id": "x", "url": "http://x", "models": "a,b", "provider": "openai", "key": "sk-secret"}
        listed = [
            {**one, "kinds": {"a": "vectors", "c": "chat"}, "tokenLimits": {"a": -1}, "maxConcurrency": {"a": 1.5}},
            {**one, "id": "y", "provider": "anthropic", "kinds": {"a": "embeddings"}},
        ]
        with pytest.raises(ConfigurationError) as caught:
            ModelRouter.from_json(json.dumps(listed))
        assert str(caught.value).splitlines()[1:] == [
            "  - x: tokenLimits.a: is not a number of tokens per second above 0",
            "  - x: maxConcurrency.a: is not a whole number from 1 up",
            "  - x: kinds.a: is not one of chat, embeddings, images",
            "  - x: kinds.c: is not one of the models; add it to them, or take the kind out",
            "  - y: kinds.a: anthropic serves no embeddings; those that do are openai, azure-openai, mistral, gemini, "
            "ollama",
        ]
