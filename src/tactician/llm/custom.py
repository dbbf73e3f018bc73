"""Custom providers: the JSON object `custom` in an instance of `LLM_INSTANCES`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    AliasGenerator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from tactician.documents.forms import form_of
from tactician.documents.models import DocumentModel, list_mistakes
from tactician.documents.problems import Problems
from tactician.llm.feature_check import OnUnsupported
from tactician.llm.model import Features
from tactician.llm.provider import Provider
from tactician.llm.usage import ModelPrice
from tactician.llm.wire import Dialect
from tactician.llm.wire.formats import WIRE_FORMATS

KNOWN_FEATURES = (
    "vision",
    "function_calling",
    "structured_output",
    "web_search",
    "code_interpreter",
    "responses_api",
    "reasoning",
    "streaming",
    "embeddings",
    "image_generation",
)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
_BY_PLAIN_NAME = {name.replace("_", ""): name for name in KNOWN_FEATURES}
ENDPOINTS = {"openai-chat": "chat_completions", "openai-responses": "responses", "anthropic-messages": "messages"}
"""Which of the `endpoints` each `apiFormat` posts to."""
_WORDS = {"Input should be a valid object": "is not an object", "Field required": "is missing"}


def _features(value: object) -> object:
    """Return the known features by their names. Keys may have any case, as snake case or camel case."""
    if not isinstance(value, dict):
        return value
    named = {str(key).replace("_", "").replace("-", "").lower(): there for key, there in value.items()}
    return {_BY_PLAIN_NAME[plain]: there for plain, there in named.items() if plain in _BY_PLAIN_NAME}


def _path(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError('a path begins with "/"')
    return value


def _with_key(value: str | None) -> str | None:
    if value is not None and "{key}" not in value:
        raise ValueError('"{key}" must mark the place of the key; null sends the key alone')
    return value


def _headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r} is not a header name")
        if _UNPRINTABLE.search(value):
            raise ValueError(f"{name} has characters that no header can carry, such as a line break")
    return headers


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class _Part(DocumentModel):
    # An error must not show the text of the file: it may be a key.
    model_config = ConfigDict(
        extra="ignore",
        alias_generator=AliasGenerator(to_camel),
        populate_by_name=True,
        coerce_numbers_to_str=True,
        hide_input_in_errors=True,
    )


class _Auth(_Part):
    header: Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
    format: Annotated[str | None, AfterValidator(_with_key)] = None


@form_of(ModelPrice)
class _Price(_Part):
    pass


class _Spec(_Part):
    api_format: Literal["openai-chat", "openai-responses", "anthropic-messages"]
    auth: _Auth
    endpoints: Annotated[dict[str, Annotated[str, AfterValidator(_path)]], Field(min_length=1)]
    query_params: dict[str, str] = Field(default_factory=dict)
    extra_headers: Annotated[dict[str, str], AfterValidator(_headers)] = Field(default_factory=dict)
    features: Annotated[dict[str, bool], BeforeValidator(_features)] = Field(default_factory=dict)
    on_unsupported_feature: Annotated[OnUnsupported, BeforeValidator(_lower)] = "throw"
    model_pricing: dict[str, _Price] = Field(default_factory=dict)


def parse_custom_provider(specification: object) -> Provider:
    """Return the provider that a specification describes.

    Raises:
        DocumentError: with every mistake in the specification. No message contains a value.
    """
    problems = Problems()
    try:
        spec = _Spec.model_validate(specification)
    except ValidationError as error:
        for path, message in list_mistakes(error).items():
            problems.add(_WORDS.get(message, message), "custom", *path)
    else:
        if (endpoint := ENDPOINTS[spec.api_format]) in spec.endpoints:
            return _provider(spec, spec.endpoints[endpoint])
        problems.add(f"is missing; the apiFormat {spec.api_format} posts to it", "custom", "endpoints", endpoint)
    raise problems.create_error("The provider is not described correctly")


def _provider(spec: _Spec, path: str) -> Provider:
    headers = {"anthropic-version": "2023-06-01"} if spec.api_format == "anthropic-messages" else {}
    return Provider(
        "custom",
        None,
        path=path,
        auth_header=spec.auth.header,
        auth_format=spec.auth.format or "{key}",
        headers=headers | spec.extra_headers,
        query=spec.query_params,
        # The feature check alone refuses or replaces what is not declared: no other code may rewrite the request.
        features=Features(tools=True, json_schema=True, images=spec.features.get("vision", True)),
        wire=WIRE_FORMATS[spec.api_format],
        dialect=_dialect(spec),
        declared=_select_declared(spec.features),
        on_unsupported=spec.on_unsupported_feature,
        endpoints=spec.endpoints,
        streams=spec.features.get("streaming", True),
        prices={name: ModelPrice(**price.model_dump()) for name, price in spec.model_pricing.items()},
    )


def _select_declared(features: Mapping[str, bool]) -> frozenset[str]:
    """Return the declared features; without `vision`, images and documents are allowed."""
    declared = {feature for feature, there in features.items() if there}
    return frozenset(declared | ({"vision", "documents"} if features.get("vision", True) else set()))


def _dialect(spec: _Spec) -> Dialect:
    if spec.api_format == "openai-responses":
        container: Mapping[str, object] = {"type": "code_interpreter", "container": {"type": "auto"}}
        return Dialect(native_tools={"web_search": {"type": "web_search"}, "code_interpreter": container})
    if spec.api_format == "anthropic-messages":
        return Dialect(thinking="adaptive" if spec.features.get("reasoning") else "", caches_system=True)
    return Dialect()
