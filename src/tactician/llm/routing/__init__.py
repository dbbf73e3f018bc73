"""Many keys and deployments behind one model of any kind: policies, limits, retries, rests and fallbacks."""

from tactician.llm.routing.chat import RoutedModel
from tactician.llm.routing.circuit import RestPolicy
from tactician.llm.routing.configuration import policies_of
from tactician.llm.routing.deployment import Deployment, DeploymentStatus, ServedModel, deployments_of, full_name
from tactician.llm.routing.estimates import Estimate, estimate_tokens
from tactician.llm.routing.events import (
    InstanceRecovered,
    InstanceRested,
    ModelFellBack,
    RequestDelayed,
    RequestRetried,
    RequestRouted,
)
from tactician.llm.routing.media import RoutedEmbeddingModel, RoutedImageModel
from tactician.llm.routing.policies import LeastLoaded, Policy, PolicyName, RoundRobin, Sticky
from tactician.llm.routing.retries import AT_ONCE, NEVER, ONCE_MORE, Failure, ModelRetryPolicy, RetryRule
from tactician.llm.routing.router import ModelRouter

__all__ = [
    "ModelRouter",
    "RoutedModel",
    "RoutedEmbeddingModel",
    "RoutedImageModel",
    "ServedModel",
    "policies_of",
    "Deployment",
    "DeploymentStatus",
    "deployments_of",
    "full_name",
    "ModelRetryPolicy",
    "RetryRule",
    "AT_ONCE",
    "ONCE_MORE",
    "NEVER",
    "Failure",
    "RestPolicy",
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
    "InstanceRested",
    "InstanceRecovered",
    "ModelFellBack",
]
