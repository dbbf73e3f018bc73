"""Settings of models: the `[models]` table of `tactician.toml`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from tactician.config.fields import Above, Dollars, create_table
from tactician.documents.forms import form_of
from tactician.documents.models import DocumentModel
from tactician.errors import ConfigurationError
from tactician.resilience.backoff import RetryRule
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy

RoutingPolicy: TypeAlias = Literal["round_robin", "least_loaded", "sticky"]


class PriceSettings(DocumentModel):
    """Price of a model, in US dollars per million tokens: a line of `[models.prices]`.

    Without prices of their own, cached tokens cost the input price.
    """

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None


@form_of(RetryRule, is_optional=True)
class RetryRuleSettings(DocumentModel):
    """Line of `[models.router.retries]`; see `tactician.llm.RetryRule`. Omitted fields have its defaults."""


class RetryPolicySettings(DocumentModel):
    """Settings of the `[models.router.retries]` table; see `tactician.llm.ModelRetryPolicy`."""

    rate_limit: RetryRuleSettings | None = None
    timeout: RetryRuleSettings | None = None
    server: RetryRuleSettings | None = None
    connection: RetryRuleSettings | None = None
    content_filter: RetryRuleSettings | None = None
    truncated: RetryRuleSettings | None = None
    malformed: RetryRuleSettings | None = None
    statuses: frozenset[int] | None = None


@form_of(CircuitBreakerPolicy, is_optional=True)
class CircuitBreakerSettings(DocumentModel):
    """Settings of the `[models.router.circuit_breaker]` table; see `tactician.llm.CircuitBreakerPolicy`."""


class RouterSettings(DocumentModel):
    """Settings of the `[models.router]` table: how calls are spread, limited and retried.

    Attributes:
        policy: the routing policy.
        requests_per_second: the limit of each model at each instance that has none of its own.
        tokens_per_second: likewise, in tokens.
        max_concurrency: likewise, how many calls may run at once.
        max_retries: attempts after the first at calls that fail for transient reasons.
        timeout: seconds of an attempt at a call whose options have no timeout; for a stream, of each wait.
        deadline: seconds for all waiting and all attempts of a call.
        retries: retry rules by kind of failure, which override `max_retries`.
        circuit_breaker: when a failing deployment is left alone, and for how long.
    """

    policy: RoutingPolicy = "round_robin"
    requests_per_second: Above | None = None
    tokens_per_second: Above | None = None
    max_concurrency: int | None = Field(default=None, ge=1)
    max_retries: int | None = Field(default=None, ge=0)
    timeout: Above | None = None
    deadline: Above | None = None
    retries: RetryPolicySettings = create_table(RetryPolicySettings)
    circuit_breaker: CircuitBreakerSettings = create_table(CircuitBreakerSettings)


class ModelSettings(DocumentModel):
    """Settings of the `[models]` table.

    Attributes:
        default: the default model.
        default_embedding: the default embedding model.
        default_image: the default image model.
        roles: the model of each role.
        fallbacks: the models to use, in order, when a model cannot answer.
        prices: custom prices, by prefix of `model` or `instance:model`; the longest matching prefix wins.
        profiles: model profiles, before the built-in ones; see `tactician.llm.model_profiles`.
        instances: endpoints, with the fields of an entry of `LLM_INSTANCES`; that variable overrides them.
        router: how calls are spread over the endpoints.
    """

    default: str | None = None
    default_embedding: str | None = None
    default_image: str | None = None
    roles: dict[str, str] = Field(default_factory=dict)
    fallbacks: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    profiles: tuple[dict[str, object], ...] = ()
    instances: tuple[dict[str, object], ...] = Field(default=(), repr=False)
    router: RouterSettings = create_table(RouterSettings)

    def resolve_role(self, name: str) -> str:
        """Return the name of a model; `role:<role>` becomes the model of that role.

        Raises:
            ConfigurationError: when the role has no model.
        """
        prefix, colon, role = name.partition(":")
        if prefix != "role" or not colon:
            return name
        if (model := self.roles.get(role)) is None:
            role_names = ", ".join(sorted(self.roles)) or "none"
            raise ConfigurationError(
                f'No model has the role {role!r}. Add `{role} = "<model>"` to [models.roles] in tactician.toml '
                f"(configured roles: {role_names})."
            )
        if model.startswith("role:"):
            raise ConfigurationError(f"The role {role!r} names {model!r}: a role must name a model, not a role.")
        return model
