"""One model at one instance: what a router spreads its calls over, and how it is doing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tactician.errors import ConfigurationError
from tactician.llm.instance_entries import Instance
from tactician.llm.model import LanguageModel
from tactician.llm.usage import NO_USAGE, Usage

DEFAULT_MAX_CONCURRENCY = 50


def full_name(instance: str, model: str) -> str:
    """`instance:model`; some models have their instance in the name already, as `openai:gpt-5.4` has."""
    return model if model.startswith(f"{instance}:") else f"{instance}:{model}"


@dataclass(frozen=True, slots=True)
class Deployment:
    """One model at one instance, and the limits that the provider sets there.

    Attributes:
        instance: the instance's id, for example `"openai-eu"`.
        model: the name that requests ask for, for example `"gpt-5.4"`.
        serves: what is called.
        requests_per_second: how often a call may start; the router's own number where `None`, no limit for `math.inf`.
        tokens_per_second: how many tokens may go through, both ways together; no limit where `None`.
        max_concurrency: how many calls may be under way at once.

    Raises:
        ConfigurationError: when a limit is not above 0.
    """

    instance: str
    model: str
    serves: LanguageModel
    requests_per_second: float | None = None
    tokens_per_second: float | None = None
    max_concurrency: int = DEFAULT_MAX_CONCURRENCY

    def __post_init__(self) -> None:
        for limit in ("requests_per_second", "tokens_per_second", "max_concurrency"):
            value = getattr(self, limit)
            if value is not None and not value > 0:
                raise ConfigurationError(f"{self.name}: {limit} must be above 0, not {value!r}")

    @property
    def name(self) -> str:
        """`instance:model`, by which exactly this deployment can be asked for."""
        return full_name(self.instance, self.model)


def deployments_of(instances: Iterable[Instance]) -> tuple[Deployment, ...]:
    """Return a deployment for each model of each instance, within the limit that the instance sets."""
    return tuple(
        Deployment(instance.id, model, instance.model(model), instance.rate_limit(model))
        for instance in instances
        for model in instance.models
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentStatus:
    """How a deployment is doing.

    Attributes:
        in_flight: calls that are under way.
        requests: calls that were started, in all; an ended call is an answer, a failure, or was cancelled.
        answers: calls that were answered.
        failures: calls that failed.
        failure: what went wrong with its last call, for example `"rate_limit"`; `None` when that was answered.
        resting_until: when it may be called again, by the router's clock; `None` when that is now.
        resting_seconds: how long that is from now; `inf` while a single call tries whether it is back.
        usage: what all answers together used.
        latency: seconds that the last answer took; `None` before the first.
        average_latency: seconds that an answer took on average.
    """

    instance: str
    model: str
    in_flight: int = 0
    requests: int = 0
    answers: int = 0
    failures: int = 0
    failure: str | None = None
    resting_until: float | None = None
    resting_seconds: float = 0.0
    usage: Usage = NO_USAGE
    latency: float | None = None
    average_latency: float | None = None

    @property
    def name(self) -> str:
        """`instance:model`."""
        return full_name(self.instance, self.model)
