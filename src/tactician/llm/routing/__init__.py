"""Routing of model calls over keys and deployments: policies, limits, retries, circuit breakers and fallbacks."""

from tactician.llm.routing.chat import RoutedModel
from tactician.llm.routing.circuit_breaker import CircuitBreakerPolicy
from tactician.llm.routing.deployment import (
    Deployment,
    DeploymentStatus,
    ServedModel,
    create_deployments,
    format_full_name,
)
from tactician.llm.routing.events import (
    CircuitClosed,
    CircuitOpened,
    ModelFellBack,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
)
from tactician.llm.routing.media import RoutedEmbeddingModel, RoutedImageModel
from tactician.llm.routing.policies import LeastLoaded, Policy, PolicyName, RoundRobin, Sticky
from tactician.llm.routing.retries import NO_RETRY, RETRY_IMMEDIATELY, RETRY_ONCE, Failure, ModelRetryPolicy, RetryRule
from tactician.llm.routing.router import ModelRouter
from tactician.llm.routing.router_arguments import create_router_arguments
from tactician.llm.routing.token_estimate import Estimate, estimate_tokens

__all__ = [
    "ModelRouter",
    "RoutedModel",
    "RoutedEmbeddingModel",
    "RoutedImageModel",
    "ServedModel",
    "create_router_arguments",
    "Deployment",
    "DeploymentStatus",
    "create_deployments",
    "format_full_name",
    "ModelRetryPolicy",
    "RetryRule",
    "RETRY_IMMEDIATELY",
    "RETRY_ONCE",
    "NO_RETRY",
    "Failure",
    "CircuitBreakerPolicy",
    "Policy",
    "PolicyName",
    "RoundRobin",
    "LeastLoaded",
    "Sticky",
    "Estimate",
    "estimate_tokens",
    "RequestRouted",
    "RequestDelayed",
    "RequestRetried",
    "CircuitOpened",
    "CircuitClosed",
    "ModelFellBack",
]
