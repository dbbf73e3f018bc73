"""Models in blueprints: their names, responders and options."""

from __future__ import annotations

import re
from dataclasses import asdict, fields, replace
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar

from pydantic import ConfigDict, model_validator
from pydantic.alias_generators import to_camel

from tactician.agents import BaseRunnable
from tactician.agents.temperature import ModelWithTemperature
from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.schema_base import (
    DEFERRED_IN_TEXT,
    Name,
    Part,
    convert_type,
    require_field,
)
from tactician.documents.forms import form_of
from tactician.errors import Problem
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.llm import EmbeddedModel, LanguageModel, LlmOptions, Responder, RetrySettings, TraceMetadata
from tactician.llm.options import NO_OPTIONS
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tactician.llm.responder import RespondedModel

_ApiFormat: TypeAlias = Annotated[Literal["openai-responses", "openai-chat", "anthropic-messages"], DEFERRED_IN_TEXT]


@form_of(TraceMetadata, convert=convert_type, is_optional=True)
class TracePart(Part):
    """Trace metadata of model calls, which providers that support it receive."""

    # agentle4j's own writer adds fields of no meaning here.
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


@form_of(RetrySettings, convert=convert_type)
class RetryPart(Part):
    """Retries of a failed call, and their delays."""


class ResponderPart(Part):
    """Responder of a model. It never has a key: `apiKeyEnvVar` names the environment variable with the key."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [require_field("provider"), require_field("baseUrl")]})

    provider: Name | None = None
    base_url: Name | None = None
    api_key_env_var: Name | None = None
    api_format: _ApiFormat | None = None
    retry_policy: RetryPart | None = None
    trace_metadata: TracePart | None = None

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if (self.provider is None) == (self.base_url is None):
            raise ValueError("say either provider or baseUrl" if self.provider is None else "not provider and baseUrl")
        return self


@form_of(LlmOptions, convert=convert_type, is_optional=True, without=("model", "role", "temperature", "trace"))
class OptionsPart(Part):
    """Options of a model beside its temperature; see `LlmOptions`. Times are in seconds."""


R = TypeVar("R", bound=BaseRunnable[object])
_NAMES = {"api_key_env": "apiKeyEnvVar", "base_url": "baseUrl", "api_format": "apiFormat", "retry": "retryPolicy"}
DEFAULT = "default"
"""In place of a model's name: the default model of wherever the agent runs."""


@frozen(enforced=False)
class ModelParts:
    """Fields of a blueprint that describe a model."""

    model: str = DEFAULT
    responder: ResponderPart | None = None
    temperature: float | None = None
    options: OptionsPart | None = None
    trace: TraceMetadata | None = None

    def build(self, builder: Builder) -> str | LlmOptions | LanguageModel | None:
        """Return the model. Without a responder, the run finds it by name."""
        options = self._build_options()
        if self.responder is not None:
            responder, name = build_responder(self.responder), self.model
            if problems := [
                *builder.permissions.find_problems(responder),
                *responder.find_problems(builder.environment),
            ]:
                for problem in problems:
                    _report_problem(problem, builder.at("responder"))
                return None
            return builder.attempt(lambda: responder.create_model(name, options, builder.environment), "responder")
        if options == NO_OPTIONS:
            return None if self.model == DEFAULT else self.model
        return options if self.model == DEFAULT else replace(options, model=self.model)

    @classmethod
    def from_model(cls, model: str | LlmOptions | LanguageModel | None, exporter: Exporter) -> ModelParts:
        """Return the parts of an agent's model."""
        if model is None or isinstance(model, str):
            return cls(model or DEFAULT)
        if isinstance(model, LlmOptions):
            return _with_options(cls(model.requested_model or DEFAULT), model)
        if isinstance(model, ModelWithTemperature):
            return replace(cls.from_model(model.model, exporter), temperature=model.temperature)
        if isinstance(model, RespondedModel):
            return _with_options(cls(model.model, export_responder(model.responder)), model.options)
        if (name := _find_catalog_name(model)) is None:
            exporter.add_problem(
                f"{add_article(type(model).__name__)} cannot be saved in a blueprint: "
                "pass the agent the name of the model, or "
                "a model of a Responder",
                "model",
            )
        return cls(name or DEFAULT)

    def _build_options(self) -> LlmOptions:
        fields = list_fields(self.options)
        if self.temperature is not None:
            fields["temperature"] = self.temperature
        return replace(NO_OPTIONS, **fields) if fields else NO_OPTIONS


def _report_problem(problem: Problem, builder: Builder) -> None:
    """Add a problem of a responder, at its path and with the names of a blueprint."""
    message = re.sub("api_key_env|base_url|api_format", lambda match: _NAMES[match[0]], problem.message)
    steps = problem.path.split(".") if problem.path else ()
    builder.add_problem(message, *(_NAMES.get(step, to_camel(step)) for step in steps))


def list_fields(part: Part | None) -> dict[str, Any]:
    """Return the fields of a part that have a value."""
    return {} if part is None else {name: value for name, value in part if value is not None}


def build_trace(part: TracePart | None) -> TraceMetadata | None:
    """Return the metadata that a part describes."""
    return None if part is None else TraceMetadata(**list_fields(part))


def export_trace(trace: TraceMetadata | None) -> TracePart | None:
    """Return the part of metadata."""
    if trace is None:
        return None
    values = {field.name: getattr(trace, field.name) for field in fields(trace)}
    return TracePart.model_validate({**values, "metadata": trace.metadata or None})


def set_trace(runnable: R, part: TracePart | None) -> R:
    """Return the Runnable with the trace metadata of a part."""
    if part is not None:
        runnable.trace = build_trace(part)
    return runnable


def build_responder(part: ResponderPart) -> Responder:
    """Return the responder that a part describes."""
    retry = part.retry_policy
    return Responder(
        provider=part.provider,
        base_url=part.base_url,
        api_key_env=part.api_key_env_var,
        api_format=part.api_format,
        retry=None if retry is None else RetrySettings(**list_fields(retry)),
        trace=build_trace(part.trace_metadata),
    )


def export_responder(responder: Responder) -> ResponderPart:
    """Return the part of a responder."""
    retry = responder.retry
    return ResponderPart(
        provider=responder.provider,
        base_url=responder.base_url,
        api_key_env_var=responder.api_key_env,
        api_format=responder.api_format,
        retry_policy=None if retry is None else RetryPart.model_validate(asdict(retry)),
        trace_metadata=export_trace(responder.trace),
    )


def _with_options(parts: ModelParts, options: LlmOptions) -> ModelParts:
    values = {name: value for name in OptionsPart.model_fields if (value := getattr(options, name)) not in (None, ())}
    return replace(
        parts,
        temperature=options.temperature,
        options=OptionsPart.model_validate(values) if values else None,
        trace=options.trace,
    )


def _find_catalog_name(model: LanguageModel) -> str | None:
    """Return the name by which every catalog finds the model."""
    if isinstance(model, EmbeddedModel):
        return model.name
    if isinstance(model, RemoteModel) and (provider := PROVIDERS.get(model.endpoint.name)) is not None:
        return model.name if model.endpoint.url.startswith(provider.base_url or "\0") else None
    return None
