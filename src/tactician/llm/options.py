"""How a model is to be called."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from tactician.llm.trace import TraceMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmOptions:
    """Which model to call, and how. Everything left `None` is the model's own default.

    Attributes:
        model: a name such as `"gpt-5.4"`, `"openai:gpt-5.4"`, `"local"` or `"role:reviewer"`.
        role: a role that the configuration maps to a model; `model` wins when both are set.
        temperature: randomness, 0 upwards; most providers accept up to 2.
        top_p: sample from the smallest set of tokens whose probabilities sum to this, 0 to 1.
        top_k: sample from this many most probable tokens.
        max_tokens: the longest answer, in tokens.
        reasoning_effort: how long a reasoning model thinks: `"low"`, `"medium"`, `"high"` ...
        timeout: seconds for the whole call; when it is streamed, for each wait.
        native_tools: tools that the provider itself runs: `"web_search"`, `"code_interpreter"`.
        fallbacks: names of the models to use, in order, when this one cannot answer.
        instances: the only instances that may serve the call; any, when empty.
        session: calls with the same key go to the same instance, where the router is `sticky`.
        trace: what the request belongs to, for providers that pass it on.
    """

    model: str | None = None
    role: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    timeout: float | None = None
    native_tools: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    session: str | None = None
    trace: TraceMetadata | None = None

    @property
    def wanted(self) -> str | None:
        """The model's name, or its role as `"role:..."`; `None` asks for the default model."""
        if self.model is not None:
            return self.model
        return f"role:{self.role}" if self.role is not None else None

    def over(self, base: LlmOptions) -> LlmOptions:
        """These options, and those of `base` where these say nothing."""
        if base is NO_OPTIONS or base == self:
            return self
        names = _HYPERPARAMETERS if self.wanted is not None else _NAMES
        merged = replace(self, **{name: getattr(base, name) for name in names if getattr(self, name) in (None, ())})
        return merged if self.trace is None else merged.within(base.trace)

    def within(self, trace: TraceMetadata | None) -> LlmOptions:
        """These options for a request in such surroundings: what they say of the trace themselves comes first."""
        if trace is None or trace is self.trace:
            return self
        return replace(self, trace=trace if self.trace is None else self.trace.over(trace))


_NAMES = tuple(field.name for field in fields(LlmOptions))
_HYPERPARAMETERS = tuple(name for name in _NAMES if name not in ("model", "role"))
NO_OPTIONS = LlmOptions()
