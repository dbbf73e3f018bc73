"""Arguments of a router, from settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

from tactician.config import ModelSettings
from tactician.config.model_settings import RouterSettings
from tactician.documents.document import make_document
from tactician.documents.models import validate_document
from tactician.llm.routing.deployment import CallLimits
from tactician.llm.routing.policies import PolicyName
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.resilience.backoff import RetryRule
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy


class RouterArguments(TypedDict):
    """Arguments of a router that say how calls are spread, limited and retried."""

    policy: PolicyName
    requests_per_second: float | None
    tokens_per_second: float | None
    max_concurrency: int
    retries: ModelRetryPolicy
    circuit_breaker: CircuitBreakerPolicy


class ModelArguments(TypedDict):
    """Arguments of a router that name models."""

    default_model: str | None
    default_embedding: str | None
    default_image: str | None
    fallbacks: Mapping[str, Sequence[str]]
    roles: Mapping[str, str]


class RouterChanges(TypedDict, total=False):
    """Settings of `[models.router]` as keyword arguments; `None` changes nothing."""

    policy: PolicyName | None
    requests_per_second: float | None
    tokens_per_second: float | None
    max_concurrency: int | None
    max_retries: int | None
    timeout: float | None
    deadline: float | None


def create_router_arguments(settings: RouterSettings) -> RouterArguments:
    """Return the policies and limits that settings describe, with defaults for the rest."""
    return {
        "policy": settings.policy,
        "requests_per_second": settings.requests_per_second,
        "tokens_per_second": settings.tokens_per_second,
        "max_concurrency": settings.max_concurrency or CallLimits().max_concurrency,
        "retries": _create_retry_policy(settings),
        "circuit_breaker": replace(CircuitBreakerPolicy(), **settings.circuit_breaker.model_dump(exclude_none=True)),
    }


def create_model_arguments(settings: ModelSettings) -> ModelArguments:
    """Return the default models and fallbacks that settings name.

    Raises:
        ConfigurationError: when a role has no model.
    """
    defaults = (settings.default, settings.default_embedding, settings.default_image)
    model, embedding, image = (None if name is None else settings.resolve_role(name) for name in defaults)
    return {
        "default_model": model,
        "default_embedding": embedding,
        "default_image": image,
        "fallbacks": settings.fallbacks,
        "roles": settings.roles,
    }


def change_settings(settings: RouterSettings, changes: Mapping[str, object]) -> RouterSettings:
    """Return the settings with those changes that are not `None`.

    Raises:
        ConfigurationError: with every wrong change.
    """
    changes = {name: value for name, value in changes.items() if value is not None}
    document = make_document({**settings.model_dump(mode="json", exclude_none=True), **changes})
    return validate_document(document, RouterSettings.model_validate, "The arguments of the router are wrong")


def _create_retry_policy(settings: RouterSettings) -> ModelRetryPolicy:
    """Return the retry policy. Settings for a kind of failure override the general settings."""
    retries = settings.max_retries
    policy = ModelRetryPolicy() if retries is None else ModelRetryPolicy.with_attempts(retries + 1)
    changes = settings.retries.model_dump(exclude_none=True)
    for name, change in changes.items():
        if isinstance(default := getattr(policy, name), RetryRule):
            changes[name] = replace(default, **change)
    if settings.deadline is not None:
        changes["deadline"] = settings.deadline
    if settings.timeout is not None:
        changes["first_timeout"] = settings.timeout
    return replace(policy, **changes)
