"""Calls to language models: messages, requests, wire formats, providers and the embedded model."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.llm.catalog import ModelCatalog as ModelCatalog
    from tactician.llm.catalog import load_default_models as load_default_models
    from tactician.llm.embedded import LOCAL_INSTALL_HINT as LOCAL_INSTALL_HINT
    from tactician.llm.embedded import EmbeddedModel as EmbeddedModel
    from tactician.llm.embeddings import EmbeddingModel as EmbeddingModel
    from tactician.llm.embeddings import EmbeddingOptions as EmbeddingOptions
    from tactician.llm.embeddings import Embeddings as Embeddings
    from tactician.llm.embeddings import LocalEmbeddingModel as LocalEmbeddingModel
    from tactician.llm.embeddings import RemoteEmbeddingModel as RemoteEmbeddingModel
    from tactician.llm.embeddings import Vector as Vector
    from tactician.llm.endpoint_resolver import MODEL_VARIABLE as MODEL_VARIABLE
    from tactician.llm.endpoint_resolver import ModelEntry as ModelEntry
    from tactician.llm.http import http_session as http_session
    from tactician.llm.http import read_body as read_body
    from tactician.llm.image_checks import MOST_IMAGE_BYTES as MOST_IMAGE_BYTES
    from tactician.llm.image_checks import MOST_IMAGES as MOST_IMAGES
    from tactician.llm.image_checks import check_image as check_image
    from tactician.llm.image_checks import check_images as check_images
    from tactician.llm.image_checks import check_message_images as check_message_images
    from tactician.llm.images import GeneratedImages as GeneratedImages
    from tactician.llm.images import ImageModel as ImageModel
    from tactician.llm.images import ImageOptions as ImageOptions
    from tactician.llm.images import RemoteImageModel as RemoteImageModel
    from tactician.llm.instance import Instance as Instance
    from tactician.llm.instances import parse_instances as parse_instances
    from tactician.llm.messages import AssistantMessage as AssistantMessage
    from tactician.llm.messages import AssistantPart as AssistantPart
    from tactician.llm.messages import Document as Document
    from tactician.llm.messages import Image as Image
    from tactician.llm.messages import Message as Message
    from tactician.llm.messages import ProviderItem as ProviderItem
    from tactician.llm.messages import SystemMessage as SystemMessage
    from tactician.llm.messages import Text as Text
    from tactician.llm.messages import Thinking as Thinking
    from tactician.llm.messages import ToolCall as ToolCall
    from tactician.llm.messages import ToolResult as ToolResult
    from tactician.llm.messages import UserMessage as UserMessage
    from tactician.llm.messages import UserPart as UserPart
    from tactician.llm.messages import format_with_reasoning as format_with_reasoning
    from tactician.llm.messages import join_text as join_text
    from tactician.llm.messages import messages_from_data as messages_from_data
    from tactician.llm.messages import messages_from_json as messages_from_json
    from tactician.llm.messages import messages_to_data as messages_to_data
    from tactician.llm.messages import messages_to_json as messages_to_json
    from tactician.llm.model import Delta as Delta
    from tactician.llm.model import Features as Features
    from tactician.llm.model import FinishReason as FinishReason
    from tactician.llm.model import JsonSchema as JsonSchema
    from tactician.llm.model import LanguageModel as LanguageModel
    from tactician.llm.model import ModelRequest as ModelRequest
    from tactician.llm.model import ModelResponse as ModelResponse
    from tactician.llm.model import OutputSpec as OutputSpec
    from tactician.llm.model import TextDelta as TextDelta
    from tactician.llm.model import ThinkingDelta as ThinkingDelta
    from tactician.llm.model import ToolCallDelta as ToolCallDelta
    from tactician.llm.model import ToolSpec as ToolSpec
    from tactician.llm.model_profiles import ModelProfile as ModelProfile
    from tactician.llm.model_profiles import ModelProfiles as ModelProfiles
    from tactician.llm.model_sources import MediaModelSource as MediaModelSource
    from tactician.llm.model_sources import ModelLike as ModelLike
    from tactician.llm.model_sources import ModelSource as ModelSource
    from tactician.llm.model_sources import ObservedModelSource as ObservedModelSource
    from tactician.llm.model_sources import OneModel as OneModel
    from tactician.llm.model_sources import as_media_source as as_media_source
    from tactician.llm.model_sources import as_model_source as as_model_source
    from tactician.llm.options import NO_OPTIONS as NO_OPTIONS
    from tactician.llm.options import NO_ROUTING_OPTIONS as NO_ROUTING_OPTIONS
    from tactician.llm.options import LlmOptions as LlmOptions
    from tactician.llm.options import RoutingOptions as RoutingOptions
    from tactician.llm.options import TraceMetadata as TraceMetadata
    from tactician.llm.provider_access import ProviderAccess as ProviderAccess
    from tactician.llm.providers import PROVIDERS as PROVIDERS
    from tactician.llm.providers import Provider as Provider
    from tactician.llm.pydantic_ai_adapter import PydanticAiModel as PydanticAiModel
    from tactician.llm.remote import Endpoint as Endpoint
    from tactician.llm.remote import RemoteModel as RemoteModel
    from tactician.llm.request_adapter import RestoreResponse as RestoreResponse
    from tactician.llm.request_adapter import adapt_request as adapt_request
    from tactician.llm.responder import RespondedModel as RespondedModel
    from tactician.llm.responder import Responder as Responder
    from tactician.llm.responder import RetrySettings as RetrySettings
    from tactician.llm.responder import find_sibling as find_sibling
    from tactician.llm.routing import CircuitBreakerPolicy as CircuitBreakerPolicy
    from tactician.llm.routing import CircuitClosed as CircuitClosed
    from tactician.llm.routing import CircuitOpened as CircuitOpened
    from tactician.llm.routing import Deployment as Deployment
    from tactician.llm.routing import DeploymentStatus as DeploymentStatus
    from tactician.llm.routing import ModelFellBack as ModelFellBack
    from tactician.llm.routing import ModelRetryPolicy as ModelRetryPolicy
    from tactician.llm.routing import ModelRouter as ModelRouter
    from tactician.llm.routing import RequestDelayed as RequestDelayed
    from tactician.llm.routing import RequestRetried as RequestRetried
    from tactician.llm.routing import RequestRouted as RequestRouted
    from tactician.llm.routing import RetryRule as RetryRule
    from tactician.llm.routing import RoutedEmbeddingModel as RoutedEmbeddingModel
    from tactician.llm.routing import RoutedImageModel as RoutedImageModel
    from tactician.llm.routing import RoutedModel as RoutedModel
    from tactician.llm.routing import format_full_name as format_full_name
    from tactician.llm.schema import close_schema as close_schema
    from tactician.llm.schema import is_strict as is_strict
    from tactician.llm.transcript import describe_messages as describe_messages
    from tactician.llm.transcript import find_new_messages as find_new_messages
    from tactician.llm.usage import NO_USAGE as NO_USAGE
    from tactician.llm.usage import ModelPrice as ModelPrice
    from tactician.llm.usage import Usage as Usage
    from tactician.llm.usage import UsageTally as UsageTally
    from tactician.llm.usage import calculate_cost as calculate_cost
    from tactician.llm.usage import find_price as find_price
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.llm.catalog": "ModelCatalog load_default_models",
            "tactician.llm.model_sources": (
                "MediaModelSource ModelLike ModelSource ObservedModelSource OneModel as_media_source as_model_source"
            ),
            "tactician.llm.embedded": "LOCAL_INSTALL_HINT EmbeddedModel",
            "tactician.llm.embeddings": (
                "EmbeddingModel EmbeddingOptions Embeddings LocalEmbeddingModel RemoteEmbeddingModel Vector"
            ),
            "tactician.llm.endpoint_resolver": "MODEL_VARIABLE ModelEntry",
            "tactician.llm.http": "read_body http_session",
            "tactician.llm.image_checks": (
                "MOST_IMAGE_BYTES MOST_IMAGES check_image check_images check_message_images"
            ),
            "tactician.llm.images": "GeneratedImages ImageModel ImageOptions RemoteImageModel",
            "tactician.llm.instance": "Instance",
            "tactician.llm.instances": "parse_instances",
            "tactician.llm.messages": (
                "AssistantMessage AssistantPart Document Image Message ProviderItem SystemMessage Text Thinking "
                "ToolCall ToolResult UserMessage UserPart format_with_reasoning join_text messages_from_data "
                "messages_from_json messages_to_data messages_to_json"
            ),
            "tactician.llm.model": (
                "Delta Features FinishReason JsonSchema LanguageModel ModelRequest ModelResponse OutputSpec "
                "TextDelta ThinkingDelta ToolCallDelta ToolSpec"
            ),
            "tactician.llm.model_profiles": "ModelProfile ModelProfiles",
            "tactician.llm.options": "NO_OPTIONS NO_ROUTING_OPTIONS LlmOptions RoutingOptions TraceMetadata",
            "tactician.llm.provider_access": "ProviderAccess",
            "tactician.llm.providers": "PROVIDERS Provider",
            "tactician.llm.pydantic_ai_adapter": "PydanticAiModel",
            "tactician.llm.remote": "Endpoint RemoteModel",
            "tactician.llm.request_adapter": "RestoreResponse adapt_request",
            "tactician.llm.responder": "RespondedModel Responder RetrySettings find_sibling",
            "tactician.llm.routing": (
                "CircuitBreakerPolicy CircuitClosed CircuitOpened Deployment DeploymentStatus ModelFellBack "
                "ModelRetryPolicy ModelRouter RequestDelayed RequestRetried RequestRouted RetryRule "
                "RoutedEmbeddingModel RoutedImageModel RoutedModel format_full_name"
            ),
            "tactician.llm.schema": "close_schema is_strict",
            "tactician.llm.transcript": "describe_messages find_new_messages",
            "tactician.llm.usage": "NO_USAGE ModelPrice Usage UsageTally calculate_cost find_price",
        },
    )
