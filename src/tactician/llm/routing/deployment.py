"""One model at one instance: what a router spreads its calls over, and how it is doing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TypeAlias, cast

from tactician.errors import ConfigurationError
from tactician.llm.embeddings import EmbeddingModel
from tactician.llm.images import ImageModel
from tactician.llm.instance import Instance
from tactician.llm.model import Features, LanguageModel
from tactician.llm.model_kinds import KIND_NAMES, KindName
from tactician.llm.usage import NO_USAGE, Usage

ServedModel: TypeAlias = LanguageModel | EmbeddingModel | ImageModel
"""Anything that a router can call."""
_NO_FEATURES = Features()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Limits of the calls of one model at one instance.

    Attributes:
        requests_per_second: how often a call may start; no limit where `None`.
        tokens_per_second: how many tokens may go through, both ways together; no limit where `None`.
        max_concurrency: how many calls may be under way at once.

    Raises:
        ConfigurationError: when a limit is not above 0.
    """

    requests_per_second: float | None = None
    tokens_per_second: float | None = None
    max_concurrency: int = 50

    def __post_init__(self) -> None:
        for one in fields(self):
            check_limit("router", one.name, getattr(self, one.name))


def check_limit(owner: str, name: str, value: float | None) -> None:
    """Check that a limit is above 0.

    Raises:
        ConfigurationError: when it is not.
    """
    if value is not None and not value > 0:
        raise ConfigurationError(f"{owner}: {name} must be above 0, not {value!r}")


def full_name(instance: str, model: str) -> str:
    """`instance:model`; some models have their instance in the name already, as `openai:gpt-5.4` has."""
    return model if model.startswith(f"{instance}:") else f"{instance}:{model}"


@dataclass(frozen=True, slots=True)
class Deployment:
    """One model at one instance, and the limits that the provider sets there.

    Attributes:
        instance: the instance's id, for example `"openai-eu"`.
        model: the name that requests ask for, for example `"gpt-5.4"`.
        serves: what is called: a chat model, an embedding model or an image model.
        requests_per_second: how often a call may start; the router's own number where `None`, no limit for `math.inf`.
        tokens_per_second: how many tokens may go through, both ways together; likewise.
        max_concurrency: how many calls may be under way at once; the router's own number where `None`.

    Raises:
        ConfigurationError: when a limit is not above 0.
    """

    instance: str
    model: str
    serves: ServedModel
    requests_per_second: float | None = None
    tokens_per_second: float | None = None
    max_concurrency: int | None = None

    def __post_init__(self) -> None:
        for limit in ("requests_per_second", "tokens_per_second", "max_concurrency"):
            check_limit(self.name, limit, getattr(self, limit))

    @property
    def name(self) -> str:
        """`instance:model`, by which exactly this deployment can be asked for."""
        return full_name(self.instance, self.model)

    @property
    def kind(self) -> KindName:
        """The kind of the model."""
        if isinstance(self.serves, EmbeddingModel):
            return "embeddings"
        return "images" if isinstance(self.serves, ImageModel) else "chat"

    @property
    def features(self) -> Features:
        """What a chat model can do by itself."""
        return cast("LanguageModel", self.serves).features if self.kind == "chat" else _NO_FEATURES


def deployments_of(
    instances: Iterable[Instance], *, kind: KindName | None = None, model: str | None = None
) -> tuple[Deployment, ...]:
    """Return a deployment for each model of each instance, within the limits that the instance sets.

    Args:
        instances: the instances.
        kind: what every model is taken for; what the instance says, or the model's name tells, when `None`.
        model: the name of the only model that is wanted; all, when `None`.
    """
    return tuple(
        _deployment(instance, name, kind or instance.kind_of(name))
        for instance in instances
        for name in instance.models
        if model in (None, name)
    )


def group_by_kind(deployments: Iterable[Deployment]) -> dict[KindName, list[Deployment]]:
    """Return the deployments by the kinds of their models; each kind has a list."""
    groups: dict[KindName, list[Deployment]] = {kind: [] for kind in KIND_NAMES}
    for deployment in deployments:
        groups[deployment.kind].append(deployment)
    return groups


def _deployment(instance: Instance, model: str, kind: KindName) -> Deployment:
    return Deployment(
        instance.id,
        model,
        instance.serve(model, kind),
        instance.rate_limit(model),
        instance.token_limit(model),
        instance.concurrency(model),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentStatus:
    """How a deployment is doing.

    Attributes:
        kind: the kind of the model.
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
    kind: KindName = "chat"
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
