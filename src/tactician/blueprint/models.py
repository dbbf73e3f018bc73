"""An agent's model: its name, how it is reached, and how it is called."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic.alias_generators import to_camel

from tactician.agents import BaseRunnable, Tempered
from tactician.blueprint.parts import Part
from tactician.blueprint.settings import OptionsPart, ResponderPart, RetryPart, TracePart
from tactician.llm import (
    NO_OPTIONS,
    PROVIDERS,
    EmbeddedModel,
    LanguageModel,
    LlmOptions,
    RemoteModel,
    RespondedModel,
    Responder,
    RetrySettings,
    TraceMetadata,
)

if TYPE_CHECKING:
    from tactician.blueprint.building import Builder
    from tactician.blueprint.snapshot import Snapshot

R = TypeVar("R", bound=BaseRunnable[object])
_NAMES = {
    "api_key_env": "apiKeyEnvVar",
    "base_url": "baseUrl",
    "api_format": "apiFormat",
    "retry.": "retryPolicy.",
}
DEFAULT = "default"
"""In place of a model's name: the default model of wherever the agent runs."""


@dataclass(frozen=True, slots=True)
class ModelParts:
    """What a blueprint says of a model."""

    model: str = DEFAULT
    responder: ResponderPart | None = None
    temperature: float | None = None
    options: OptionsPart | None = None
    trace: TraceMetadata | None = None

    def built(self, builder: Builder) -> str | LlmOptions | LanguageModel | None:
        """The model. Without a responder it is found by its name wherever the agent runs."""
        options = self._options()
        if self.responder is not None:
            responder, name = responder_of(self.responder), self.model
            if problems := responder.problems(builder.environment):
                for problem in problems:
                    _tell(problem, builder.at("responder"))
                return None
            return builder.tried(lambda: responder.model(name, options, builder.environment), "responder")
        if options == NO_OPTIONS:
            return None if self.model == DEFAULT else self.model
        return options if self.model == DEFAULT else replace(options, model=self.model)

    @classmethod
    def of(cls, model: str | LlmOptions | LanguageModel | None, snapshot: Snapshot) -> ModelParts:
        """What is to be said of an agent's model."""
        if model is None or isinstance(model, str):
            return cls(model or DEFAULT)
        if isinstance(model, LlmOptions):
            return _with(cls(model.wanted or DEFAULT), model)
        if isinstance(model, Tempered):
            return replace(cls.of(model.model, snapshot), temperature=model.temperature)
        if isinstance(model, RespondedModel):
            return _with(cls(model.model, responder_part(model.responder)), model.options)
        if (name := _known_name(model)) is None:
            snapshot.problem(
                f"a {type(model).__name__} has no place in a blueprint: give the agent the name of the model, or a "
                "model of a Responder",
                "model",
            )
        return cls(name or DEFAULT)

    def _options(self) -> LlmOptions:
        given = said(self.options)
        if self.temperature is not None:
            given["temperature"] = self.temperature
        return replace(NO_OPTIONS, **given) if given else NO_OPTIONS


def _tell(problem: str, builder: Builder) -> None:
    """A problem of a responder, at its place and in the words of a blueprint."""
    for plain, name in _NAMES.items():
        problem = problem.replace(plain, name)
    place, colon, message = problem.partition(": ")
    steps = [to_camel(step) for step in place.split(".")]
    if colon and all(map(str.isidentifier, steps)):
        builder.problem(message, *steps)
    else:
        builder.problem(problem)


def said(part: Part | None) -> dict[str, Any]:
    """What a part says, by the names of its fields."""
    return {} if part is None else {name: value for name, value in part if value is not None}


def trace_of(part: TracePart | None) -> TraceMetadata | None:
    """The metadata that a part describes."""
    return None if part is None else TraceMetadata(**said(part))


def trace_part(trace: TraceMetadata | None) -> TracePart | None:
    """What is to be said of metadata."""
    if trace is None:
        return None
    given = {field.name: getattr(trace, field.name) for field in fields(trace)}
    return TracePart.model_validate({**given, "metadata": trace.metadata or None})


def traced(runnable: R, part: TracePart | None) -> R:
    """The same Runnable, whose requests belong to what the part says."""
    if part is not None:
        runnable.trace = trace_of(part)
    return runnable


def responder_of(part: ResponderPart) -> Responder:
    """The responder that a part describes."""
    retry = part.retry_policy
    return Responder(
        provider=part.provider,
        base_url=part.base_url,
        api_key_env=part.api_key_env_var,
        api_format=part.api_format,
        retry=None if retry is None else RetrySettings(**said(retry)),
        trace=trace_of(part.trace_metadata),
    )


def responder_part(responder: Responder) -> ResponderPart:
    """What is to be said of a responder."""
    retry = responder.retry
    return ResponderPart(
        provider=responder.provider,
        base_url=responder.base_url,
        api_key_env_var=responder.api_key_env,
        api_format=responder.api_format,
        retry_policy=None if retry is None else RetryPart.model_validate(asdict(retry)),
        trace_metadata=trace_part(responder.trace),
    )


def _with(parts: ModelParts, options: LlmOptions) -> ModelParts:
    given = {name: value for name in OptionsPart.model_fields if (value := getattr(options, name)) not in (None, ())}
    return replace(
        parts,
        temperature=options.temperature,
        options=OptionsPart.model_validate(given) if given else None,
        trace=options.trace,
    )


def _known_name(model: LanguageModel) -> str | None:
    """The name by which every catalog finds the same model."""
    if isinstance(model, EmbeddedModel):
        return model.name
    if isinstance(model, RemoteModel) and (provider := PROVIDERS.get(model.endpoint.name)) is not None:
        return model.name if model.endpoint.url.startswith(provider.base_url or "\0") else None
    return None
