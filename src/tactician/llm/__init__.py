"""Every call to a language model: messages, requests, wire formats, providers and the embedded model."""

from tactician.llm.catalog import MediaModelSource, ModelCatalog, ModelSource, OneModel, source_of
from tactician.llm.embedded import INSTALL_HINT as LOCAL_INSTALL_HINT
from tactician.llm.embedded import EmbeddedModel
from tactician.llm.embeddings import (
    EmbeddingModel,
    EmbeddingOptions,
    Embeddings,
    LocalEmbeddingModel,
    RemoteEmbeddingModel,
    Vector,
)
from tactician.llm.endpoint_resolver import MODEL_VARIABLE, ModelEntry
from tactician.llm.http import session as http_session
from tactician.llm.images import GeneratedImages, ImageModel, RemoteImageModel
from tactician.llm.instance_entries import Instance
from tactician.llm.instances import parse_instances
from tactician.llm.messages import (
    AssistantMessage,
    AssistantPart,
    Document,
    Image,
    Message,
    ProviderItem,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
    messages_from_json,
    messages_to_json,
    text_of,
    text_with_reasoning,
)
from tactician.llm.model import (
    Delta,
    Features,
    FinishReason,
    JsonSchema,
    LanguageModel,
    ModelRequest,
    ModelResponse,
    OutputSpec,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolSpec,
)
from tactician.llm.model_profiles import ModelProfile, ModelProfiles
from tactician.llm.observer import Observer
from tactician.llm.options import NO_OPTIONS, LlmOptions, TraceMetadata
from tactician.llm.provider_access import ProviderAccess
from tactician.llm.providers import PROVIDERS, Provider
from tactician.llm.pydantic_ai_adapter import PydanticAiModel
from tactician.llm.remote import Endpoint, RemoteModel
from tactician.llm.request_adapter import adapt_request
from tactician.llm.responder import RespondedModel, Responder, RetrySettings
from tactician.llm.routing import (
    Deployment,
    DeploymentStatus,
    ModelRetryPolicy,
    ModelRouter,
    RestPolicy,
    RetryRule,
    RoutedModel,
    full_name,
)
from tactician.llm.schema import closed, is_strict
from tactician.llm.usage import NO_USAGE, ModelPrice, Usage, UsageTally, cost_of, price_for

__all__ = [
    "SystemMessage",
    "UserMessage",
    "AssistantMessage",
    "ToolResult",
    "Message",
    "Text",
    "Image",
    "Document",
    "Thinking",
    "ToolCall",
    "ProviderItem",
    "UserPart",
    "AssistantPart",
    "messages_to_json",
    "messages_from_json",
    "text_of",
    "LlmOptions",
    "NO_OPTIONS",
    "TraceMetadata",
    "ModelRequest",
    "ModelResponse",
    "Observer",
    "ToolSpec",
    "OutputSpec",
    "JsonSchema",
    "Usage",
    "NO_USAGE",
    "UsageTally",
    "ModelPrice",
    "price_for",
    "cost_of",
    "Features",
    "FinishReason",
    "Delta",
    "TextDelta",
    "ThinkingDelta",
    "ToolCallDelta",
    "LanguageModel",
    "ModelSource",
    "ModelCatalog",
    "ModelEntry",
    "OneModel",
    "source_of",
    "MODEL_VARIABLE",
    "http_session",
    "ModelRouter",
    "RoutedModel",
    "full_name",
    "Deployment",
    "DeploymentStatus",
    "ModelRetryPolicy",
    "RetryRule",
    "RestPolicy",
    "Responder",
    "RespondedModel",
    "RetrySettings",
    "RemoteModel",
    "EmbeddedModel",
    "LOCAL_INSTALL_HINT",
    "PydanticAiModel",
    "EmbeddingModel",
    "EmbeddingOptions",
    "Embeddings",
    "RemoteEmbeddingModel",
    "LocalEmbeddingModel",
    "MediaModelSource",
    "Vector",
    "ImageModel",
    "GeneratedImages",
    "RemoteImageModel",
    "Endpoint",
    "Provider",
    "ProviderAccess",
    "PROVIDERS",
    "Instance",
    "parse_instances",
    "ModelProfile",
    "ModelProfiles",
    "text_with_reasoning",
    "adapt_request",
    "closed",
    "is_strict",
]
