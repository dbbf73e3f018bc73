"""Calls to language models: messages, requests, wire formats, providers and the embedded model."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.llm.catalog import ModelCatalog as ModelCatalog
    from tactician.llm.embedded import EmbeddedModel as EmbeddedModel
    from tactician.llm.embeddings.model import EmbeddingModel as EmbeddingModel
    from tactician.llm.images import ImageModel as ImageModel
    from tactician.llm.messages import AssistantMessage as AssistantMessage
    from tactician.llm.messages import Document as Document
    from tactician.llm.messages import Image as Image
    from tactician.llm.messages import Message as Message
    from tactician.llm.messages import Text as Text
    from tactician.llm.messages import Thinking as Thinking
    from tactician.llm.messages import ToolCall as ToolCall
    from tactician.llm.messages import ToolResult as ToolResult
    from tactician.llm.messages import UserMessage as UserMessage
    from tactician.llm.model import Features as Features
    from tactician.llm.model import LanguageModel as LanguageModel
    from tactician.llm.model import ModelRequest as ModelRequest
    from tactician.llm.model import ModelResponse as ModelResponse
    from tactician.llm.model_sources import ModelLike as ModelLike
    from tactician.llm.model_sources import OneModel as OneModel
    from tactician.llm.options import LlmOptions as LlmOptions
    from tactician.llm.options import RoutingOptions as RoutingOptions
    from tactician.llm.options import TraceMetadata as TraceMetadata
    from tactician.llm.pydantic_ai_adapter import PydanticAiModel as PydanticAiModel
    from tactician.llm.remote import Endpoint as Endpoint
    from tactician.llm.responder import Responder as Responder
    from tactician.llm.responder import RetrySettings as RetrySettings
    from tactician.llm.routing.deployment import Deployment as Deployment
    from tactician.llm.routing.events import CircuitClosed as CircuitClosed
    from tactician.llm.routing.events import CircuitOpened as CircuitOpened
    from tactician.llm.routing.events import ModelFellBack as ModelFellBack
    from tactician.llm.routing.events import RequestDelayed as RequestDelayed
    from tactician.llm.routing.events import RequestRetried as RequestRetried
    from tactician.llm.routing.events import RequestRouted as RequestRouted
    from tactician.llm.routing.retries import ModelRetryPolicy as ModelRetryPolicy
    from tactician.llm.routing.router import ModelRouter as ModelRouter
    from tactician.llm.usage import ModelPrice as ModelPrice
    from tactician.llm.usage import Usage as Usage
    from tactician.resilience.circuit_breaker import CircuitBreakerPolicy as CircuitBreakerPolicy
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.llm.catalog": "ModelCatalog",
            "tactician.llm.embedded": "EmbeddedModel",
            "tactician.llm.embeddings.model": "EmbeddingModel",
            "tactician.llm.images": "ImageModel",
            "tactician.llm.messages": (
                "AssistantMessage Document Image Message Text Thinking ToolCall ToolResult UserMessage"
            ),
            "tactician.llm.model": "Features LanguageModel ModelRequest ModelResponse",
            "tactician.llm.model_sources": "ModelLike OneModel",
            "tactician.llm.options": "LlmOptions RoutingOptions TraceMetadata",
            "tactician.llm.pydantic_ai_adapter": "PydanticAiModel",
            "tactician.llm.remote": "Endpoint",
            "tactician.llm.responder": "Responder RetrySettings",
            "tactician.llm.routing.deployment": "Deployment",
            "tactician.llm.routing.events": (
                "CircuitClosed CircuitOpened ModelFellBack RequestDelayed RequestRetried RequestRouted"
            ),
            "tactician.llm.routing.retries": "ModelRetryPolicy",
            "tactician.llm.routing.router": "ModelRouter",
            "tactician.llm.usage": "ModelPrice Usage",
            "tactician.resilience.circuit_breaker": "CircuitBreakerPolicy",
        },
    )
