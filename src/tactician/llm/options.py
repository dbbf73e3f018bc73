"""Options of a call: model, parameters, instances and trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from functools import lru_cache

import pydantic

from tactician.amounts import FINITE, Count, Positive, Seconds, need_amount
from tactician.errors import ConfigurationError
from tactician.events.bus import EventEmitter
from tactician.events.encoding import encode
from tactician.frozen import frozen

_LEAST_TIMEOUT = 0.001
_LARGEST_SEED = 2.0**31 - 1  # of 32 bits with a sign, which every provider takes


@frozen(kw_only=True)
class TraceMetadata:
    """Trace that a request belongs to. Only providers that pass it on to observability tools receive it.

    Attributes:
        trace_id: the id shared by all requests of the trace.
        trace_name: the name of the trace.
        span_name: the name of the step that the request is part of.
        generation_name: the name of the request itself.
        parent_span_id: the id of the caller's span around it.
        environment: the environment of the program, for example `"production"`.
        metadata: further values.
    """

    trace_id: str | None = None
    trace_name: str | None = None
    span_name: str | None = None
    generation_name: str | None = None
    parent_span_id: str | None = None
    environment: str | None = None
    metadata: Mapping[str, pydantic.JsonValue] = field(default_factory=dict, hash=False)

    def with_defaults(self, base: TraceMetadata) -> TraceMetadata:
        """Return this trace, with the values of `base` where it has none, also for each key of `metadata`."""
        unsaid = {name: getattr(base, name) for name in _TRACE_NAMES if getattr(self, name) is None}
        return replace(self, metadata={**base.metadata, **self.metadata}, **unsaid)

    def to_json(self) -> dict[str, pydantic.JsonValue]:
        """Return the object that goes over the wire, with the `metadata` beside the other values."""
        named = {name: value for name in _TRACE_NAMES if (value := getattr(self, name)) is not None}
        return {**self.metadata, **named}


@frozen(kw_only=True)
class LlmOptions:
    """Choice of a model, and the parameters of its calls. `None` means the model's own default.

    Attributes:
        model: a name such as `"gpt-5.4"`, `"openai:gpt-5.4"`, `"local"` or `"role:reviewer"`.
        role: a role that the configuration maps to a model; `model` wins when both are set.
        temperature: randomness, 0 upwards; most providers accept up to 2.
        top_p: sample from the smallest set of tokens whose probabilities sum to this, 0 to 1.
        top_k: sample from this many most probable tokens.
        max_tokens: the longest answer, in tokens.
        seed: with the same seed, a model that takes one gives the same answer to the same request, as far as it can.
        reasoning_effort: how long a reasoning model thinks: `"low"`, `"medium"`, `"high"` ...
        timeout: seconds for the whole call; when it is streamed, for each wait.
        native_tools: tools that the provider itself runs: `"web_search"`, `"code_interpreter"`.
        fallbacks: names of the models to use, in order, when the requested model cannot answer.
        instances: the only instances that may serve the call; any if empty.
        session: calls with the same key go to the same instance if the router is `sticky`.
        network_retries: retries after timeouts, rate limits, server errors and lost connections, in place of the
            retries of the router's policy.
        truncation_retries: the same, after objects and tool calls that were cut off at `max_tokens`.
        content_filter_retries: the same, after answers that the provider's filter blocked.
        trace: the trace of the request, for providers that pass it on.

    Raises:
        ConfigurationError: when a value is out of range or of the wrong type.
    """

    model: str | None = None
    role: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: Positive | None = None
    max_tokens: Positive | None = None
    seed: Count | None = None
    reasoning_effort: str | None = None
    timeout: Seconds | None = None
    native_tools: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    session: str | None = None
    network_retries: Count | None = None
    truncation_retries: Count | None = None
    content_filter_retries: Count | None = None
    trace: TraceMetadata | None = None

    def __post_init__(self) -> None:
        numbers = (
            self.temperature,
            self.top_p,
            self.top_k,
            self.max_tokens,
            self.seed,
            self.timeout,
            self.network_retries,
            self.truncation_retries,
            self.content_filter_retries,
        )
        if numbers != _NO_NUMBERS:  # options are made for every call, mostly without any of these
            _check_numbers(numbers)
        if self.native_tools or self.fallbacks or self.instances:
            for name in _LISTS:
                object.__setattr__(self, name, _check_names(name, getattr(self, name)))

    @property
    def requested_model(self) -> str | None:
        """Name of the model, or its role as `"role:..."`; `None` asks for the default model."""
        if self.model is not None:
            return self.model
        return f"role:{self.role}" if self.role is not None else None

    @classmethod
    def of(cls, options: str | LlmOptions | None) -> LlmOptions:
        """Return options for the name of a model, for options, or for `None`."""
        return _options_of(options) if isinstance(options, str) else options or NO_OPTIONS

    def with_model(self, name: str) -> LlmOptions:
        """Return these options for another model, without a role or fallbacks."""
        return replace(self, model=name, role=None, fallbacks=(), instances=())

    @property
    def pins(self) -> LlmOptions:
        """Options that say where calls go, not how, for everything that is done on behalf of their owner."""
        if not (self.fallbacks or self.instances or self.session):
            return NO_OPTIONS
        return LlmOptions(fallbacks=self.fallbacks, instances=self.instances, session=self.session)

    def with_defaults(self, base: LlmOptions) -> LlmOptions:
        """Return these options, with the options of `base` where these have none."""
        if base is NO_OPTIONS or base == self:
            return self
        names = _HYPERPARAMETERS if self.requested_model is not None else _NAMES
        merged = replace(self, **{name: getattr(base, name) for name in names if getattr(self, name) in (None, ())})
        return merged if self.trace is None else merged.with_trace(base.trace)

    def with_trace(self, trace: TraceMetadata | None) -> LlmOptions:
        """Return these options for a request within a trace; their own trace wins."""
        if trace is None or trace is self.trace:
            return self
        return replace(self, trace=trace if self.trace is None else self.trace.with_defaults(trace))


def _check_numbers(numbers: tuple[object, ...]) -> None:
    for value, (name, least, most, is_whole) in zip(numbers, _RANGES, strict=True):
        if value is not None:
            need_amount(f"LlmOptions.{name}", value, least=least, most=most, whole=is_whole)


def _check_names(name: str, value: object) -> tuple[str, ...]:
    """Return the value as a tuple of names. A plain string is refused: it would become a tuple of letters."""
    if isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ConfigurationError(f'LlmOptions.{name} is {value!r}; write a tuple of names, as in {name}=("a",)')


_RANGES = (
    ("temperature", 0.0, FINITE, False),
    ("top_p", 0.0, 1.0, False),
    ("top_k", 1.0, FINITE, True),
    ("max_tokens", 1.0, FINITE, True),
    ("seed", 0.0, _LARGEST_SEED, True),
    ("timeout", _LEAST_TIMEOUT, FINITE, False),
    ("network_retries", 0.0, FINITE, True),
    ("truncation_retries", 0.0, FINITE, True),
    ("content_filter_retries", 0.0, FINITE, True),
)
_NO_NUMBERS = (None,) * len(_RANGES)
_LISTS = ("native_tools", "fallbacks", "instances")
_TRACE_NAMES = tuple(field.name for field in fields(TraceMetadata) if field.name != "metadata")
_NAMES = tuple(field.name for field in fields(LlmOptions))
_HYPERPARAMETERS = tuple(name for name in _NAMES if name not in ("model", "role"))
NO_OPTIONS = LlmOptions()


@encode.register(LlmOptions)
def _(options: LlmOptions, depth: int = 0) -> pydantic.JsonValue:
    """Return the options that are set: an event of each call has them, and most are not."""
    chosen = {name: value for name in _NAMES if (value := getattr(options, name)) not in (None, ())}
    return {name: encode(value, depth + 1) for name, value in chosen.items()}


@lru_cache(maxsize=1024)
def _options_of(model: str) -> LlmOptions:
    return LlmOptions(model=model)


@frozen(kw_only=True)
class RoutingOptions:
    """Options of a caller for its calls of embedding models and image models, as `LlmOptions` are for chat.

    Attributes:
        instances: the only instances that may serve the calls; any if empty.
        session: calls with the same key go to the same instance if the router is `sticky`.
        observer: emitter of the events of the calls.
    """

    instances: tuple[str, ...] = ()
    session: str | None = None
    observer: EventEmitter | None = field(default=None, compare=False, repr=False)


NO_ROUTING_OPTIONS = RoutingOptions()
