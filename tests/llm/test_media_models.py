"""Embedding models and image models by name: which one is meant, which is the default, and what they cost."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import pytest

from tactician.config import ModelSettings, Settings
from tactician.config.model_settings import PriceSettings
from tactician.errors import ConfigurationError, ModelRequestError, UnknownModelError
from tactician.llm import EmbeddingModel, Endpoint, ImageModel, ModelCatalog
from tactician.llm.embeddings.local import LocalEmbeddingModel
from tactician.llm.embeddings.remote import RemoteEmbeddingModel
from tactician.llm.images import DEFAULT_IMAGE_MODEL, RemoteImageModel
from tactician.llm.model_sources import MediaModelSource
from tactician.llm.routing.media import RoutedEmbeddingModel, RoutedImageModel
from tests.support.chat_server import ChatServer, answers, fails

KEY = "sk-very-secret"
PNG = base64.b64encode(b"\x89PNG picture").decode()
VECTOR = answers({"data": [{"index": 0, "embedding": [1.0, 2.0]}], "usage": {"prompt_tokens": 1_000_000}})
PICTURE = answers({"data": [{"b64_json": PNG}], "usage": {"input_tokens": 500_000, "output_tokens": 1_000_000}})
BUSY = fails(429, headers={"Retry-After": "0.001"})


def catalog(environment: Mapping[str, str] | None = None, settings: ModelSettings | None = None) -> ModelCatalog:
    return ModelCatalog(Settings(models=settings or ModelSettings()), environment or {})


def instances(url: str = "https://eu.example", provider: str = "azure-openai") -> str:
    models = "gpt-5.4,text-embedding-3-large,house-vectors,dall-e-3"
    one = {"id": "eu", "url": url, "models": models, "provider": provider, "key": KEY, "apiVersion": "2026-01-01"}
    return json.dumps([one, {**one, "id": "us"}])


def served_by(model: EmbeddingModel | ImageModel) -> list[str]:
    """The full names of what stands behind a model."""
    return [one.name for one in _behind(model)]


def endpoint_of(model: EmbeddingModel | ImageModel) -> Endpoint:
    first = _behind(model)[0]
    assert isinstance(first, RemoteEmbeddingModel | RemoteImageModel)
    return first.endpoint


def _behind(model: EmbeddingModel | ImageModel) -> tuple[EmbeddingModel | ImageModel, ...]:
    return model.models if isinstance(model, RoutedEmbeddingModel | RoutedImageModel) else (model,)


@pytest.fixture
def with_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.llm.embedded.is_available", lambda: True)


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tactician.llm.embedded.is_available", lambda: False)


class TestTheDefault:
    @pytest.mark.usefixtures("with_weights")
    def test_embedder_is_the_more_explicit_one(self) -> None:
        environment = {
            "TACTICIAN_EMBEDDING": "ollama:nomic",
            "LLM_INSTANCES": instances(),
            "OPENAI_API_KEY": KEY,
            "MISTRAL_API_KEY": KEY,
            "GEMINI_API_KEY": KEY,
        }
        order = [
            ("TACTICIAN_EMBEDDING", "ollama:nomic"),
            ("", "eu:house-vectors"),
            ("LLM_INSTANCES", "text-embedding-3-large"),
            ("OPENAI_API_KEY", "openai:text-embedding-3-small"),
            ("MISTRAL_API_KEY", "mistral:mistral-embed"),
            ("GEMINI_API_KEY", "gemini:gemini-embedding-001"),
            ("", "local"),
        ]
        settings = ModelSettings(default_embedding="eu:house-vectors")

        for variable, name in order:
            assert catalog(environment, settings).embedding_model().name == name
            environment.pop(variable, None)
            settings = settings if variable else ModelSettings()

    def test_painter_is_the_more_explicit_one(self) -> None:
        environment = {"TACTICIAN_IMAGE": "us:dall-e-3", "LLM_INSTANCES": instances(), "OPENAI_API_KEY": KEY}
        order = [
            ("TACTICIAN_IMAGE", "us:dall-e-3"),
            ("", "openai:my-painter"),
            ("LLM_INSTANCES", "dall-e-3"),
            ("OPENAI_API_KEY", f"openai:{DEFAULT_IMAGE_MODEL}"),
        ]
        settings = ModelSettings(default_image="openai:my-painter")

        for variable, name in order:
            assert catalog(environment, settings).image_model().name == name
            environment.pop(variable, None)
            settings = settings if variable else ModelSettings()

    def test_is_at_the_address_of_ones_own_server(self) -> None:
        source = catalog({"OPENAI_BASE_URL": "http://localhost:8000/v1"})
        embedder, painter = source.embedding_model("text-embedding-3-small"), source.image_model("dall-e-3")

        assert served_by(source.embedding_model("house-vectors")) == ["openai:house-vectors"]
        assert endpoint_of(embedder).url == "http://localhost:8000/v1/embeddings"
        assert endpoint_of(painter).url == "http://localhost:8000/v1/images/generations"

    @pytest.mark.usefixtures("without_weights")
    def test_where_there_is_none_the_error_says_what_to_do(self) -> None:
        source = catalog({"ANTHROPIC_API_KEY": KEY})

        with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY, MISTRAL.*TACTICIAN_EMBEDDING.*pip install"):
            source.embedding_model()
        with pytest.raises(ConfigurationError, match=r"for images\. Set OPENAI_API_KEY,.* `default_image` under"):
            source.image_model()


class TestNames:
    ENVIRONMENT: Mapping[str, str] = {"OPENAI_API_KEY": KEY, "MISTRAL_API_KEY": KEY, "LLM_INSTANCES": instances()}

    @pytest.mark.parametrize(
        ("name", "found"),
        [
            ("openai:text-embedding-3-small", ["openai:text-embedding-3-small"]),
            ("text-embedding-3-small", ["openai:text-embedding-3-small"]),
            ("codestral-embed", ["mistral:codestral-embed"]),
            ("ollama:nomic-embed-text", ["ollama:nomic-embed-text"]),
            ("text-embedding-3-large", ["eu:text-embedding-3-large", "us:text-embedding-3-large"]),
            ("us:text-embedding-3-large", ["us:text-embedding-3-large"]),
            ("house-vectors", ["eu:house-vectors", "us:house-vectors"]),
            ("role:search", ["us:house-vectors"]),
            ("local", ["local"]),
            ("local:/models/x.gguf", ["local:/models/x.gguf"]),
        ],
    )
    def test_of_embedding_models(self, name: str, found: list[str]) -> None:
        source = catalog(self.ENVIRONMENT, ModelSettings(roles={"search": "us:house-vectors"}))

        assert served_by(source.embedding_model(name)) == found
        assert source.embedding_model(name) is source.embedding_model(name)
        assert source.embedding_model(name).name == name.replace("role:search", "us:house-vectors")

    @pytest.mark.parametrize(
        ("name", "found"),
        [
            ("openai:dall-e-2", ["openai:dall-e-2"]),
            ("gpt-image-1", ["openai:gpt-image-1"]),
            ("dall-e-3", ["eu:dall-e-3", "us:dall-e-3"]),
            ("us:dall-e-3", ["us:dall-e-3"]),
        ],
    )
    def test_of_image_models(self, name: str, found: list[str]) -> None:
        assert served_by(catalog(self.ENVIRONMENT).image_model(name)) == found

    def test_a_model_at_an_instance_is_where_the_instance_is(self) -> None:
        source = catalog(self.ENVIRONMENT)
        embedder = source.embedding_model("house-vectors")
        endpoint = endpoint_of(embedder)

        assert endpoint.url.startswith("https://eu.example/openai/deployments/")
        assert endpoint.headers == {"api-key": KEY}
        assert KEY not in f"{source.instances!r} {embedder!r} {endpoint!r}"

    def test_what_they_stand_for_is_of_the_right_kind(self) -> None:
        source = catalog(self.ENVIRONMENT)

        assert isinstance(source, MediaModelSource)
        assert isinstance(source.embedding_model("local"), LocalEmbeddingModel)
        assert isinstance(source.embedding_model("house-vectors"), EmbeddingModel)
        assert isinstance(source.image_model("dall-e-3"), ImageModel)

    @pytest.mark.parametrize(
        ("name", "kind", "message"),
        [
            ("openai:text-embedding-3-small", ConfigurationError, "set OPENAI_API_KEY to your key for openai"),
            ("azure-openai:x", ConfigurationError, "azure-openai has no fixed address; configure it in LLM_INSTANCES"),
            ("anthropic:x", ConfigurationError, "anthropic serves no embeddings; those that do are openai"),
            ("role:search", ConfigurationError, "No model has the role 'search'"),
            ("eu:other", UnknownModelError, "Nothing serves the model 'eu:other' for embeddings"),
            (
                "text-embeding-3-large",
                UnknownModelError,
                r"Did you mean 'text-embedding-3-large'\? Known here: text-embedding-3-large(, local)?; or name",
            ),
        ],
    )
    def test_that_stand_for_nothing_say_what_to_do(
        self, name: str, kind: type[ConfigurationError], message: str
    ) -> None:
        with pytest.raises(kind, match=message):
            catalog({"LLM_INSTANCES": instances()}).embedding_model(name)

    def test_of_image_models_that_stand_for_nothing(self) -> None:
        with pytest.raises(UnknownModelError, match=r"'local' for images\. .*none; or name its provider, as in \"open"):
            catalog().image_model("local")
        with pytest.raises(ConfigurationError, match="mistral serves no images"):
            catalog().image_model("mistral:x")


class TestCalls:
    async def test_an_embedding_costs_what_the_list_says(self, server: ChatServer) -> None:
        server.will(BUSY, VECTOR)
        found = await catalog({"OPENAI_BASE_URL": server.url}).embedding_model("text-embedding-3-small").embed(["a"])

        assert found.vectors == ((1.0, 2.0),)
        assert (found.usage.model, found.usage.cost) == ("openai:text-embedding-3-small", 0.02)
        assert len(server.received) == 2

    async def test_only_the_batch_that_failed_is_tried_again(self, server: ChatServer) -> None:
        server.will(VECTOR, BUSY, VECTOR)
        model = catalog({"MISTRAL_BASE_URL": server.url}).embedding_model("mistral-embed")

        found = await model.embed(["a" * 16_000, "b" * 16_000])

        assert len(found) == 2
        assert [body["input"] for body in server.bodies] == [["a" * 16_000], ["b" * 16_000], ["b" * 16_000]]

    async def test_a_picture_costs_its_tokens_at_ones_own_price(self, server: ChatServer) -> None:
        server.will(BUSY, PICTURE)
        settings = ModelSettings(prices={"gpt-image": PriceSettings(input=2.0, output=3.0)})

        source = catalog({"LLM_INSTANCES": instances(server.url), "OPENAI_BASE_URL": server.url}, settings)

        made = await source.image_model("us:dall-e-3").generate("a cat")
        other = await source.image_model("gpt-image-1").generate("a cat")

        assert (made.images[0].data, made.model, made.usage.total_tokens) == (PNG, "us:dall-e-3", 1_500_000)
        assert made.usage.cost is None
        assert (other.usage.model, other.usage.cost) == ("openai:gpt-image-1", 4.0)

    async def test_a_custom_instance_has_paths_prices_and_a_query_of_its_own(self, server: ChatServer) -> None:
        server.will(VECTOR, PICTURE)
        spec = {
            "apiFormat": "openai-chat",
            "auth": {"header": "X-Key"},
            "endpoints": {"chat_completions": "/chat", "embeddings": "/vectors", "images_generations": "/pictures"},
            "queryParams": {"team": "a"},
            "features": {"embeddings": True, "imageGeneration": True},
            "modelPricing": {"house": {"input": 7, "output": 1}},
        }
        one = {"id": "mine", "url": server.url, "models": "house-embed,house", "provider": "custom", "custom": spec}
        source = catalog({"LLM_INSTANCES": json.dumps([{**one, "key": KEY}])})

        found = await source.embedding_model().embed(["a"])
        made = await source.image_model("house").generate("a cat")

        assert [received.path for received in server.received] == ["/vectors?team=a", "/pictures?team=a"]
        assert {received.headers["x-key"] for received in server.received} == {KEY}
        assert (found.usage.cost, made.usage.cost) == (7.0, 4.5)

    async def test_a_request_that_is_wrong_is_sent_once(self, server: ChatServer) -> None:
        server.will(fails(400, "bad"))

        with pytest.raises(ModelRequestError, match="bad"):
            await catalog({"OPENAI_BASE_URL": server.url}).embedding_model("text-embedding-3-small").embed(["a"])
        assert len(server.received) == 1


@pytest.mark.embedded
async def test_the_embedded_model_is_the_default_where_there_is_nothing_else() -> None:
    found = await catalog().embedding_model().embed(["a cat"])

    assert (found.model, found.usage.requests, found.usage.cost) == ("local", 1, 0.0)
    assert found.usage.total_tokens > 0
