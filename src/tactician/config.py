"""`tactician.toml`: settings that belong to a project, not to its code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from tactician.documents import DocumentModel, UnreadableFileError, load_document, validate_document
from tactician.errors import ConfigurationError

FILE_NAME = "tactician.toml"
PATH_VARIABLE = "TACTICIAN_CONFIG"


RoutingPolicy: TypeAlias = Literal["round_robin", "least_loaded", "sticky"]
_Dollars: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Above: TypeAlias = Annotated[float, Field(gt=0)]
_Seconds: TypeAlias = Annotated[float, Field(ge=0)]
_Factor: TypeAlias = Annotated[float, Field(ge=1)]


class PriceSettings(DocumentModel):
    """What a model costs, in US dollars per million tokens: a line of `[models.prices]`.

    Without prices of their own, cached tokens cost what input costs.
    """

    input: _Dollars
    output: _Dollars
    cache_read: _Dollars | None = None
    cache_write: _Dollars | None = None


class RetryRuleSettings(DocumentModel):
    """A line of `[models.router.retries]`: see `tactician.llm.RetryRule`. What is left out is as usual."""

    attempts: int | None = Field(default=None, ge=1)
    base: _Seconds | None = None
    factor: _Factor | None = None
    longest: _Seconds | None = None


class RetryPolicySettings(DocumentModel):
    """The `[models.router.retries]` table: see `tactician.llm.ModelRetryPolicy`."""

    rate_limit: RetryRuleSettings | None = None
    timeout: RetryRuleSettings | None = None
    server: RetryRuleSettings | None = None
    connection: RetryRuleSettings | None = None
    content_filter: RetryRuleSettings | None = None
    truncated: RetryRuleSettings | None = None
    malformed: RetryRuleSettings | None = None
    first_timeout: _Above | None = None
    statuses: frozenset[int] | None = None


class CircuitBreakerSettings(DocumentModel):
    """Settings of the `[models.router.circuit_breaker]` table; see `tactician.llm.CircuitBreakerPolicy`."""

    failure_threshold: int | None = Field(default=None, ge=0)
    cooldown: _Above | None = None
    cooldown_factor: _Factor | None = None
    max_cooldown: _Above | None = None


class RouterSettings(DocumentModel):
    """The `[models.router]` table: how calls are spread, limited and tried again. What is left out is as usual.

    Attributes:
        policy: which instance takes a call.
        requests_per_second: the limit of each model at each instance that has none of its own.
        tokens_per_second: likewise, in tokens.
        max_concurrency: likewise, how many calls may be under way at once.
        max_retries: attempts after the first at calls that fail for reasons which pass.
        deadline: seconds for all waiting and all attempts of a call.
        retries: what is tried again, by what went wrong; it comes before `max_retries`.
        circuit_breaker: when a failing deployment is left alone, and for how long.
    """

    policy: RoutingPolicy = "round_robin"
    requests_per_second: _Above | None = None
    tokens_per_second: _Above | None = None
    max_concurrency: int | None = Field(default=None, ge=1)
    max_retries: int | None = Field(default=None, ge=0)
    deadline: _Above | None = None
    retries: RetryPolicySettings = Field(default_factory=RetryPolicySettings)
    circuit_breaker: CircuitBreakerSettings = Field(default_factory=CircuitBreakerSettings)


class ModelSettings(DocumentModel):
    """The `[models]` table.

    Attributes:
        default: the model where nobody names one.
        default_embedding: the embedding model where nobody names one.
        default_image: the model that makes pictures where nobody names one.
        roles: the model that each role stands for.
        fallbacks: the models to use, in order, when a model cannot answer.
        prices: prices of one's own, by the beginning of `model` or `instance:model`; the longest that fits wins.
        facts: profiles of models, before the built-in ones: see `tactician.llm.model_profiles`.
        instances: endpoints, with the fields that an entry of `LLM_INSTANCES` has; that variable comes before them.
        router: how calls are spread over the endpoints.
    """

    default: str | None = None
    default_embedding: str | None = None
    default_image: str | None = None
    roles: dict[str, str] = Field(default_factory=dict)
    fallbacks: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    facts: tuple[dict[str, object], ...] = ()
    instances: tuple[dict[str, object], ...] = Field(default=(), repr=False)
    router: RouterSettings = Field(default_factory=RouterSettings)

    def named(self, name: str) -> str:
        """The name of a model: for `role:<role>`, that of the model which the role stands for.

        Raises:
            ConfigurationError: when the role stands for no model.
        """
        prefix, colon, role = name.partition(":")
        if prefix != "role" or not colon:
            return name
        if (model := self.roles.get(role)) is None:
            known = ", ".join(sorted(self.roles)) or "none"
            raise ConfigurationError(
                f'No model has the role {role!r}. Add `{role} = "<model>"` to [models.roles] in tactician.toml '
                f"(configured roles: {known})."
            )
        if model.startswith("role:"):
            raise ConfigurationError(f"The role {role!r} stands for {model!r}: a role has to name a model, not a role.")
        return model


class ProcessSettings(DocumentModel):
    """The `[process]` table.

    Attributes:
        store: where the command line keeps processes where nobody names a store: a SQLite file, or a database URL.
    """

    store: str | None = None


class PlanningTable(DocumentModel):
    """The `[planning]` table: the limits of one decision of a planner.

    Attributes:
        time: seconds of processor time.
        expansions: number of states that one search may explore.
        memory: megabytes that one search may hold, as estimated.
    """

    time: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    expansions: int = Field(default=250_000, ge=0)
    memory: float = Field(default=300.0, ge=0, allow_inf_nan=False)


class PlatformSettings(DocumentModel):
    """The `[platform]` table.

    Attributes:
        personality: how the command line tells progress where nobody says so: see `tactician run --personality`.
        ranking_model: whom `Autonomy` asks; the default model, when `None`.
        agent_cutoff: how sure it has to be of an agent, from 0 to 1.
        goal_cutoff: how sure it has to be of a goal, from 0 to 1.
    """

    personality: str | None = None
    ranking_model: str | None = None
    agent_cutoff: float = Field(default=0.6, ge=0, le=1)
    goal_cutoff: float = Field(default=0.6, ge=0, le=1)


class ToolGroupSettings(DocumentModel):
    """A table `[tool_groups.<name>]`: a tool group that is made of tools of others.

    Attributes:
        tools: their names, or patterns such as `brave_*`; with the name of their group before them where one of
            several is meant, as in `docker:fetch`.
        description: what they can do.
        provider: who offers them.
        version: of the group.
        permissions: what they reach outside of the program.
    """

    tools: tuple[str, ...] = Field(min_length=1)
    description: str = ""
    provider: str = ""
    version: str = ""
    permissions: tuple[Literal["internet_access", "host_access"], ...] = ()


class PromptSettings(DocumentModel):
    """A table `[prompts.<name>]`: a provider of prompts.

    Attributes:
        kind: what it is; the keys of `langfuse` are in the environment.
        folder: where the prompts of a `folder` are, seen from the working directory.
    """

    kind: Literal["folder", "langfuse"] = "folder"
    folder: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _has_its_folder(self) -> Self:
        if (self.folder is not None) != (self.kind == "folder"):
            raise ValueError('say `folder = "..."`, or `kind = "langfuse"` and no folder')
        return self


class TemplateSettings(DocumentModel):
    """The `[templates]` table.

    Attributes:
        folder: where the Jinja templates of prompts are, seen from the working directory; `prompts`, when `None`.
    """

    folder: str | None = Field(default=None, min_length=1)


class Settings(DocumentModel):
    """All that `tactician.toml` can say."""

    models: ModelSettings = Field(default_factory=ModelSettings)
    process: ProcessSettings = Field(default_factory=ProcessSettings)
    planning: PlanningTable = Field(default_factory=PlanningTable)
    platform: PlatformSettings = Field(default_factory=PlatformSettings)
    tool_groups: dict[str, ToolGroupSettings] = Field(default_factory=dict)
    prompts: dict[str, PromptSettings] = Field(default_factory=dict)
    templates: TemplateSettings = Field(default_factory=TemplateSettings)


def load_settings(path: str | Path | None = None) -> Settings:
    """The settings in `path`, else in the file that TACTICIAN_CONFIG names, else in `./tactician.toml`.

    Without any of these, the defaults.

    Raises:
        ConfigurationError: when a named file is missing, or a file is not TOML; with every setting that does not exist
            or has a wrong value.
    """
    named = path or os.environ.get(PATH_VARIABLE)
    file = Path(named or FILE_NAME)
    try:
        document = load_document(file, format="toml")
    except UnreadableFileError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        if named is None:
            return Settings()
        raise ConfigurationError(f"{file}: the configuration file does not exist") from None
    return validate_document(document, Settings.model_validate, f"{file} is wrong")
