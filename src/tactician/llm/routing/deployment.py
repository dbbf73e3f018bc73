"""Deployments of models at instances, and their status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Final, TypeAlias, cast
from urllib.parse import urlsplit

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.llm.embeddings.model import EmbeddingModel
from tactician.llm.images import ImageModel
from tactician.llm.instance import Instance
from tactician.llm.model import Features, LanguageModel
from tactician.llm.model_kinds import KIND_NAMES, KindName
from tactician.llm.usage import NO_USAGE, Usage

ServedModel: TypeAlias = LanguageModel | EmbeddingModel | ImageModel
"""Any model that a router can call."""
_PORTS: Final = {"http": 80, "https": 443}
DEFAULT_CONCURRENCY: Final = 100
"""Number of calls of a model at an instance that may run at once, as many as aiohttp has connections by default."""
_NO_FEATURES = Features()


@frozen(kw_only=True)
class CallLimits:
    """Limits of the calls of a model at an instance.

    Attributes:
        requests_per_second: calls that may start; unlimited if `None`.
        tokens_per_second: tokens that may go through, input and output together; unlimited if `None`.
        max_concurrency: number of calls that may run at once.

    Raises:
        ConfigurationError: when a limit is not greater than 0.
    """

    requests_per_second: float | None = None
    tokens_per_second: float | None = None
    max_concurrency: int = DEFAULT_CONCURRENCY

    def __post_init__(self) -> None:
        for field in fields(self):
            check_limit("router", field.name, getattr(self, field.name))


def check_limit(owner: str, name: str, value: float | None) -> None:
    """Check that a limit is greater than 0.

    Raises:
        ConfigurationError: when it is not.
    """
    if value is not None and not value > 0:
        raise ConfigurationError(f"{owner}: {name} must be greater than 0, not {value!r}")


def format_full_name(instance: str, model: str) -> str:
    """Return `instance:model`. Some model names include their instance already, as `openai:gpt-5.4` does."""
    return model if model.startswith(f"{instance}:") else f"{instance}:{model}"


@frozen
class Deployment:
    """Model at an instance, with the limits that the provider sets there.

    Attributes:
        instance: the instance's id, for example `"openai-eu"`.
        model: the name that requests ask for, for example `"gpt-5.4"`.
        served_model: the model to call: a chat model, an embedding model or an image model.
        requests_per_second: calls that may start; the router's limit if `None`, unlimited for `math.inf`.
        tokens_per_second: tokens that may go through, input and output together; likewise.
        max_concurrency: number of calls that may run at once; the router's limit if `None`.

    Raises:
        ConfigurationError: when a limit is not greater than 0.
    """

    instance: str
    model: str
    served_model: ServedModel
    requests_per_second: float | None = None
    tokens_per_second: float | None = None
    max_concurrency: int | None = None

    def __post_init__(self) -> None:
        for limit in ("requests_per_second", "tokens_per_second", "max_concurrency"):
            check_limit(self.name, limit, getattr(self, limit))

    @property
    def name(self) -> str:
        """Full name, `instance:model`, by which a request can ask for exactly this deployment."""
        return format_full_name(self.instance, self.model)

    @property
    def kind(self) -> KindName:
        """Kind of the model."""
        if isinstance(self.served_model, EmbeddingModel):
            return "embeddings"
        return "images" if isinstance(self.served_model, ImageModel) else "chat"

    @property
    def features(self) -> Features:
        """Features of the model, if it is a chat model."""
        return cast("LanguageModel", self.served_model).features if self.kind == "chat" else _NO_FEATURES


def create_deployments(
    instances: Iterable[Instance], *, kind: KindName | None = None, model: str | None = None
) -> tuple[Deployment, ...]:
    """Return a deployment for each model of each instance, with the limits that the instance sets.

    Args:
        instances: the instances.
        kind: the kind of every model; if `None`, the instance or the model's name decides.
        model: the name of the only model to include; all models if `None`.
    """
    return tuple(
        _create_deployment(instance, name, kind or instance.find_kind(name))
        for instance in instances
        for name in instance.models
        if model in (None, name)
    )


def group_by_kind(deployments: Iterable[Deployment]) -> dict[KindName, list[Deployment]]:
    """Return a list of the deployments for each kind of model."""
    groups: dict[KindName, list[Deployment]] = {kind: [] for kind in KIND_NAMES}
    for deployment in deployments:
        groups[deployment.kind].append(deployment)
    return groups


def _create_deployment(instance: Instance, model: str, kind: KindName) -> Deployment:
    return Deployment(
        instance.id,
        model,
        instance.create_model_of_kind(model, kind),
        instance.find_rate_limit(model),
        instance.find_token_limit(model),
        instance.find_concurrency(model),
    )


@frozen(kw_only=True)
class DeploymentStatus:
    """Status of a deployment.

    Attributes:
        kind: the kind of the model.
        in_flight: calls that are running.
        waiting: calls that wait for the model, at whichever of its instances.
        max_concurrency: number of calls that may run at once.
        requests_per_second: calls that may start; unlimited if `None`.
        tokens_per_second: tokens that may go through; unlimited if `None`.
        is_open: true when its circuit is open, or half-open.
        requests: all calls that were started; each ends as an answer, as a failure, or cancelled.
        answers: calls that returned an answer.
        failures: calls that failed.
        failure: the kind of failure of the last call, for example `"rate_limit"`; `None` if it succeeded.
        cooldown_until: when the deployment may be called again, by the router's clock; `None` if now.
        cooldown_seconds: seconds until then; `inf` while a trial call is running.
        usage: the usage of all answers together.
        latency: seconds that the last answer took; `None` before the first answer.
        average_latency: average seconds of an answer.
    """

    instance: str
    model: str
    kind: KindName = "chat"
    in_flight: int = 0
    waiting: int = 0
    max_concurrency: int | None = None
    requests_per_second: float | None = None
    tokens_per_second: float | None = None
    is_open: bool = False
    requests: int = 0
    answers: int = 0
    failures: int = 0
    failure: str | None = None
    cooldown_until: float | None = None
    cooldown_seconds: float = 0.0
    usage: Usage = NO_USAGE
    latency: float | None = None
    average_latency: float | None = None

    @property
    def name(self) -> str:
        """Full name, `instance:model`."""
        return format_full_name(self.instance, self.model)


def find_address(deployment: Deployment) -> tuple[str, int | None]:
    """Return the host and the port of the server of a deployment; no host for a model in this process."""
    url: str = getattr(getattr(deployment.served_model, "endpoint", None), "url", "")
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
