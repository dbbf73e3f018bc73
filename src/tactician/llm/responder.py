"""Address and parameters of a model in a form that a file can hold: provider, URL, variable name, never a key."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urlsplit

from tactician.amounts import Count, Factor, HttpStatus
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.documents.problems import Problems
from tactician.environment import read_environment
from tactician.errors import Problem
from tactician.frozen import frozen
from tactician.llm.model import Delta, Features, LanguageModel, ModelRequest, ModelResponse
from tactician.llm.options import NO_OPTIONS, LlmOptions, TraceMetadata
from tactician.llm.provider import Provider
from tactician.llm.provider_access import (
    ApiFormat,
    ProviderAccess,
    find_access_by_name,
    find_access_by_url,
    find_provider_by_name,
    split_url,
)
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import DEFAULT_TIMEOUT, Endpoint, RemoteModel
from tactician.llm.routing.chat import RoutedModel
from tactician.llm.routing.deployment import Deployment, format_full_name
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.router import ModelRouter
from tactician.resilience.backoff import RetryRule

_ONCE_MORE = 2


@frozen(kw_only=True)
class RetrySettings:
    """Number of retries, and the pauses before them.

    A pause is random, between 0 and `initial_delay_ms * multiplier ** n`, at most `max_delay_ms`, so that calls
    that failed together are not retried together. A provider's `Retry-After` replaces it.

    Attributes:
        max_retries: attempts after the first.
        initial_delay_ms: maximum milliseconds of the first pause.
        max_delay_ms: maximum milliseconds of any pause.
        multiplier: growth of the maximum with each pause.
        retryable_status_codes: the HTTP statuses that are retried. Failures without an answer, such as a
            broken connection or a timeout, always are.
    """

    max_retries: Count = 3
    initial_delay_ms: Count = 1000
    max_delay_ms: Count = 30_000
    multiplier: Factor = 2.0
    retryable_status_codes: tuple[HttpStatus, ...] = (429, 500, 502, 503, 504, 529)

    def find_problems(self) -> list[Problem]:
        """Return the mistakes in the numbers."""
        checks = (
            (self.max_retries >= 0, "max_retries", "must be 0 or more"),
            (self.initial_delay_ms >= 0, "initial_delay_ms", "must be 0 or more"),
            (self.max_delay_ms >= self.initial_delay_ms, "max_delay_ms", "must be initial_delay_ms or more"),
            (1 <= self.multiplier <= 1000, "multiplier", "must be from 1 to 1000"),
            (
                all(300 <= status <= 599 for status in self.retryable_status_codes),
                "retryable_status_codes",
                "are 300 to 599",
            ),
        )
        return [Problem(name, message) for holds, name, message in checks if not holds]

    def create_policy(self) -> ModelRetryPolicy:
        """Return the policy of a router. A call may take as long as all attempts and pauses together."""
        attempts, longest = self.max_retries + 1, self.max_delay_ms / 1000
        rule = RetryRule(attempts=attempts, base=self.initial_delay_ms / 1000, factor=self.multiplier, longest=longest)
        at_once = replace(rule, base=0.0)
        once_more = replace(at_once, attempts=min(attempts, _ONCE_MORE))
        usual = ModelRetryPolicy()
        return replace(
            usual,
            rate_limit=rule,
            timeout=at_once,
            server=rule,
            connection=rule,
            truncated=once_more,
            malformed=once_more,
            deadline=max(usual.deadline, attempts * (DEFAULT_TIMEOUT + longest)),
            statuses=frozenset(self.retryable_status_codes),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Responder:
    """Address and parameters of models, without a key.

    Attributes:
        provider: `"OPENAI"`, `"OPEN_ROUTER"`, or another of `PROVIDERS` in this spelling. Its `<PROVIDER>_BASE_URL`
            applies, if the environment has it.
        base_url: instead of a provider, the base of an address: `/responses`, `/chat/completions` or `/v1/messages`
            is added if missing. Azure's hosts are called as the provider Azure is.
        api_key_env: the environment variable that holds the key; the provider's own by default. A custom server
            may need none.
        api_format: the wire format at `base_url`; `"openai-responses"` by default.
        retry: the retry settings; the router's defaults if `None`.
        trace: the trace of requests that have none.
    """

    provider: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    api_format: ApiFormat | None = None
    retry: RetrySettings | None = None
    trace: TraceMetadata | None = None

    def __repr__(self) -> str:
        return f"Responder({self.label!r})"

    @property
    def label(self) -> str:
        """Name in messages: the provider, or the host."""
        if self.provider or not self.base_url:
            return self.provider or ""
        try:
            return urlsplit(self.base_url).hostname or ""
        except ValueError:
            return ""

    @property
    def host(self) -> str | None:
        """The host of `base_url`; `None` for a provider, or when it is not a URL."""
        parts = split_url(self.base_url.strip()) if self.base_url else None
        return None if parts is None else parts.hostname

    @property
    def port(self) -> int | None:
        """The port of `base_url`, or `None`."""
        parts = split_url(self.base_url.strip()) if self.base_url else None
        return None if parts is None else parts.port

    @property
    def providers(self) -> tuple[Provider, ...]:
        """The built-in providers of that name, or those whose own address is `base_url`, over HTTPS."""
        if self.provider:
            return tuple(filter(None, (find_provider_by_name(self.provider),)))
        url = (self.base_url or "").strip()
        is_safe = self.host is not None and url.lower().startswith("https:")
        return tuple(provider for provider in PROVIDERS.values() if is_safe and provider.is_home(url))

    def find_problems(self, environment: Mapping[str, str] | None = None) -> list[Problem]:
        """Return the reasons why it cannot be used here, each with its field and a remedy, without keys."""
        return [*self._find_access(read_environment(environment))[1]]

    def create_model(
        self,
        name: str,
        options: LlmOptions = NO_OPTIONS,
        environment: Mapping[str, str] | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> RespondedModel:
        """Return a model at this address, with the key that the environment has now.

        Args:
            name: the name at the provider, such as `"gpt-5.4"` or `"openai/gpt-5.4"`.
            options: the options of requests that have none.
            environment: the environment with the key; the environment of this process by default.
            clock: the clock of retries.

        Raises:
            ConfigurationError: with every problem.
        """
        access, problems = self._find_access(read_environment(environment))
        if not name:
            problems.add("is missing; name the model as the provider does", "model")
        problems.check(f"The responder {self.label!r} of the model {name!r} cannot be used")
        assert access is not None
        return RespondedModel(self, name, options, access, clock)

    def _find_access(self, environment: Mapping[str, str]) -> tuple[ProviderAccess | None, Problems]:
        problems = Problems()
        for problem in () if self.retry is None else self.retry.find_problems():
            problems.add(problem.message, "retry", problem.path)
        provider, base_url = self.provider, self.base_url
        if provider and not base_url:
            if self.api_format is not None:
                problems.add(f"goes with base_url; {provider} speaks its own format", "api_format")
            return find_access_by_name(provider, self.api_key_env, environment, problems), problems
        if base_url and not provider:
            spoken = self.api_format or "openai-responses"
            return find_access_by_url(base_url, spoken, self.api_key_env, environment, problems), problems
        both = "both are set; leave one out" if provider else "neither is set; set one of them"
        problems.add(f"provider or base_url: {both}")
        return None, problems


class RespondedModel:
    """Model of a responder. It opens no resources before its first call.

    Attributes:
        responder: the address.
        model: the name at the provider.
        options: the options of requests that have none.
        name: `provider:model`, or `host:model`.
    """

    def __init__(
        self, responder: Responder, model: str, options: LlmOptions, access: ProviderAccess, clock: Clock
    ) -> None:
        self.responder = responder
        self.model = model
        self.options = options
        self.name = format_full_name(access.name, model)
        self._usual = options.with_trace(responder.trace)
        self._access = access
        self._clock = clock

    def __repr__(self) -> str:
        return f"RespondedModel({self.name!r})"

    @property
    def features(self) -> Features:
        """Native features of the model."""
        return self.endpoint.features

    def find_sibling(self, name: str) -> RespondedModel:
        """Return another model at the same address, with the same key, and without options."""
        return RespondedModel(self.responder, name, NO_OPTIONS, self._access, self._clock)

    @cached_property
    def endpoint(self) -> Endpoint:
        """Endpoint of its requests."""
        return self._access.create_chat_endpoint(self.model)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Call the model, and return its answer.

        Raises:
            ModelTimeoutError: when the deadline passes.
            ModelError: the error of the last attempt, with a note of all attempts.
        """
        return await self._routed.generate(self._complete(request))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """Yield the deltas as they come, then the response. Failures before the first delta are retried.

        Raises:
            ModelTimeoutError: when the deadline passes before the first delta.
            ModelError: the error of the last attempt.
        """
        return self._routed.stream(self._complete(request))

    @cached_property
    def _routed(self) -> RoutedModel:
        retry, serves = self.responder.retry, RemoteModel(self.model, self.endpoint)
        retries = ModelRetryPolicy() if retry is None else retry.create_policy()
        deployment = Deployment(self._access.name, self.model, serves)
        return ModelRouter([deployment], retries=retries, clock=self._clock).for_model(self.name)

    def _complete(self, request: ModelRequest) -> ModelRequest:
        if self._usual == NO_OPTIONS:
            return request
        return replace(request, options=request.options.with_defaults(self._usual))


def find_sibling(model: object, name: str) -> LanguageModel | None:
    """Return the model of some name at the server of another model, with its key; `None` when it has no such server."""
    find: Callable[[str], LanguageModel | None] | None = getattr(model, "find_sibling", None)
    return None if find is None else find(name)
