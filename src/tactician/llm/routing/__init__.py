"""Routing of model calls over keys and deployments: policies, limits, retries, circuit breakers and fallbacks."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.llm.routing.chat import RoutedModel as RoutedModel
    from tactician.llm.routing.deployment import Deployment as Deployment
    from tactician.llm.routing.deployment import DeploymentStatus as DeploymentStatus
    from tactician.llm.routing.deployment import ServedModel as ServedModel
    from tactician.llm.routing.deployment import create_deployments as create_deployments
    from tactician.llm.routing.deployment import format_full_name as format_full_name
    from tactician.llm.routing.events import CircuitClosed as CircuitClosed
    from tactician.llm.routing.events import CircuitOpened as CircuitOpened
    from tactician.llm.routing.events import ModelFellBack as ModelFellBack
    from tactician.llm.routing.events import RequestDelayed as RequestDelayed
    from tactician.llm.routing.events import RequestRetried as RequestRetried
    from tactician.llm.routing.events import RequestRouted as RequestRouted
    from tactician.llm.routing.media import RoutedEmbeddingModel as RoutedEmbeddingModel
    from tactician.llm.routing.media import RoutedImageModel as RoutedImageModel
    from tactician.llm.routing.policies import LeastLoaded as LeastLoaded
    from tactician.llm.routing.policies import Policy as Policy
    from tactician.llm.routing.policies import PolicyName as PolicyName
    from tactician.llm.routing.policies import RoundRobin as RoundRobin
    from tactician.llm.routing.policies import Sticky as Sticky
    from tactician.llm.routing.retries import NO_RETRY as NO_RETRY
    from tactician.llm.routing.retries import RETRY_IMMEDIATELY as RETRY_IMMEDIATELY
    from tactician.llm.routing.retries import RETRY_ONCE as RETRY_ONCE
    from tactician.llm.routing.retries import Failure as Failure
    from tactician.llm.routing.retries import ModelRetryPolicy as ModelRetryPolicy
    from tactician.llm.routing.router import ModelRouter as ModelRouter
    from tactician.llm.routing.router_arguments import create_router_arguments as create_router_arguments
    from tactician.llm.routing.token_estimate import Estimate as Estimate
    from tactician.llm.routing.token_estimate import estimate_tokens as estimate_tokens
    from tactician.resilience import CircuitBreakerPolicy as CircuitBreakerPolicy
    from tactician.resilience import RetryRule as RetryRule
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.llm.routing.chat": "RoutedModel",
            "tactician.resilience": "CircuitBreakerPolicy RetryRule",
            "tactician.llm.routing.deployment": (
                "Deployment DeploymentStatus ServedModel create_deployments format_full_name"
            ),
            "tactician.llm.routing.events": (
                "CircuitClosed CircuitOpened ModelFellBack RequestDelayed RequestRetried RequestRouted"
            ),
            "tactician.llm.routing.media": "RoutedEmbeddingModel RoutedImageModel",
            "tactician.llm.routing.policies": "LeastLoaded Policy PolicyName RoundRobin Sticky",
            "tactician.llm.routing.retries": "NO_RETRY RETRY_IMMEDIATELY RETRY_ONCE Failure ModelRetryPolicy",
            "tactician.llm.routing.router": "ModelRouter",
            "tactician.llm.routing.router_arguments": "create_router_arguments",
            "tactician.llm.routing.token_estimate": "Estimate estimate_tokens",
        },
    )
