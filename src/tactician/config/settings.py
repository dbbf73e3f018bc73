"""Settings of a project: the tables of `tactician.toml`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from tactician.amounts import Amount
from tactician.config.defaults import REMEMBERED_MESSAGES, REMEMBERED_PROCESSES
from tactician.config.fields import Above, Factor, Seconds, create_table
from tactician.config.model_settings import ModelSettings
from tactician.documents.models import DocumentModel
from tactician.resilience.backoff import compute_backoff


class ProcessSettings(DocumentModel):
    """Settings of the `[process]` table.

    Attributes:
        store: the default store of the command line for processes: a SQLite file, or a database URL.
    """

    store: str | None = None


class PlanningTable(DocumentModel):
    """The `[planning]` table: the limits of a decision of a planner.

    Attributes:
        time: seconds of processor time.
        expansions: number of states that a search may explore.
        memory: megabytes that a search may hold, as estimated.
        objective: what plans are to save: `cost`, `time`, `dollars`, or weights of `cost`, `seconds` and `dollars`; the
            declared costs by default.
        explore: seed of the exploration of actions that have run seldom; no exploration by default.
    """

    time: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    expansions: int = Field(default=250_000, ge=0)
    memory: float = Field(default=300.0, ge=0, allow_inf_nan=False)
    objective: Literal["cost", "time", "dollars"] | dict[Literal["cost", "seconds", "dollars"], Amount] | None = None
    explore: int | None = None


class AttemptSettings(DocumentModel):
    """Settings of the `[platform.data_binding]` table: attempts at valid objects.

    Attributes:
        attempts: number of answers of a model, where an agent has no `max_attempts`.
        base: seconds to wait after the first answer that is not valid.
        factor: growth of the wait with each further answer.
        longest: the longest wait in seconds.
    """

    attempts: int = Field(default=3, ge=1)
    base: Seconds = 0.0
    factor: Factor = 1.0
    longest: Seconds = 180.0

    def pause_after(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt, counted from 1."""
        return compute_backoff(attempt, base=self.base, factor=self.factor, longest=self.longest)


class RankingSettings(AttemptSettings):
    """Settings of the `[platform.ranking]` table: the choice of agents and goals by `Autonomy`.

    Attributes:
        model: the model that ranks; the default model if `None`.
        agent_cutoff: the minimum confidence in an agent, from 0 to 1.
        goal_cutoff: the minimum confidence in a goal, from 0 to 1.
        attempts: number of rankings of the model, when they are not valid.
        base: seconds to wait after the first ranking that is not valid.
        factor: growth of the wait with each further ranking.
        longest: the longest wait in seconds.
    """

    model: str | None = None
    agent_cutoff: float = Field(default=0.6, ge=0, le=1)
    goal_cutoff: float = Field(default=0.6, ge=0, le=1)


class MemorySettings(DocumentModel):
    """Settings of the `[platform.memory]` table: what a platform remembers beside what runs and waits.

    Attributes:
        processes: number of processes that have ended, or wait in a store, which can be looked up by their ids.
        messages: number of messages in conversations that nobody uses, which need not be read from the store again.
    """

    processes: int = Field(default=REMEMBERED_PROCESSES, ge=0)
    messages: int = Field(default=REMEMBERED_MESSAGES, ge=0)


class PlatformSettings(DocumentModel):
    """Settings of the `[platform]` table.

    Attributes:
        personality: the default voice of progress on the command line and of `log.enable`; see
            `tactician run --personality`.
        data_binding: attempts at valid objects.
        ranking: the choice of agents and goals.
        memory: what is remembered.
    """

    personality: str | None = None
    data_binding: AttemptSettings = create_table(AttemptSettings)
    ranking: RankingSettings = create_table(RankingSettings)
    memory: MemorySettings = create_table(MemorySettings)


class ToolGroupSettings(DocumentModel):
    """Table `[tool_groups.<name>]`: a tool group that is composed of existing tools.

    Attributes:
        tools: names, or patterns such as `brave_*`; with a group's name before them if several groups have the
            tool, as in `docker:fetch`.
        exclude: names, or patterns such as `brave_local_*`, of tools that are left out.
        description: the purpose of the tools.
        provider: the provider of the tools.
        version: the version of the group.
        permissions: the access of the tools outside of the program.
    """

    tools: tuple[str, ...] = Field(min_length=1)
    exclude: tuple[str, ...] = ()
    description: str = ""
    provider: str = ""
    version: str = ""
    permissions: tuple[Literal["internet_access", "host_access"], ...] = ()


class McpOAuthSettings(DocumentModel):
    """Table `[mcp.<name>.oauth]`: the program as a client of the authorization server with the tokens for the URL.

    `${NAME}` and `${NAME:-default}` stand for environment variables in all of its fields.

    Attributes:
        client_id: the id of the program at the authorization server.
        client_secret: its secret.
        issuer: the URL of the authorization server, to which alone the secret goes.
        scope: the scopes to ask for, with spaces between them; those that the MCP server names by default.
    """

    client_id: str = Field(min_length=1)
    client_secret: str = Field(min_length=1, repr=False)
    issuer: str = Field(min_length=1)
    scope: str | None = Field(default=None, min_length=1)


class McpServerSettings(DocumentModel):
    """Table `[mcp.<name>]`: an MCP server, whose tools are the tool group of that name.

    `${NAME}` and `${NAME:-default}` stand for environment variables in `command`, `args`, `env`, `cwd`, `url` and
    `headers`.

    Attributes:
        command: the program of a local server.
        args: the arguments of the program.
        env: environment variables of the program, which inherits only `PATH`, `HOME` and a few others.
        cwd: the working directory of the program.
        url: the URL of a remote server.
        headers: the headers of each request to the URL.
        oauth: the authorization server that gives the tokens for the URL.
        transport: the transport to the URL: streamable HTTP, or `sse` for old servers.
        tools: names or patterns of the tools to take; all by default.
        exclude: names or patterns of tools to leave out.
        prefix: text before the names of the tools.
        approval: names or patterns of tools whose calls wait for an approval.
        approval_role: role that a person needs to approve these calls.
        description: the purpose of the tools.
        permissions: the access of the tools outside of the program.
        timeout: seconds that a call may take.
        sampling: true when the model of an agent answers when the server asks for a model.
        max_samples: number of answers of that model that a call may ask for.
        repeats_calls: true when a call of a server before 2026 may be made again that asked a person, and ended before
            the answer came.
    """

    command: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = Field(default=(), repr=False)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = Field(default=None, min_length=1, repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    oauth: McpOAuthSettings | None = None
    transport: Literal["http", "sse"] = "http"
    tools: tuple[str, ...] | None = Field(default=None, min_length=1)
    exclude: tuple[str, ...] = ()
    prefix: str | None = None
    approval: tuple[str, ...] = ()
    approval_role: str | None = Field(default=None, min_length=1)
    description: str = ""
    permissions: tuple[Literal["internet_access", "host_access"], ...] = ()
    timeout: Above = 300.0
    sampling: bool = True
    max_samples: int = Field(default=10, ge=0)
    repeats_calls: bool = False

    @model_validator(mode="after")
    def _is_one_server(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError('set `command = "..."` for a program, or `url = "..."` for a remote server')
        if self.oauth is not None and self.url is None:
            raise ValueError('`oauth` is for a remote server: set `url = "..."`')
        return self


class PromptSettings(DocumentModel):
    """Table `[prompts.<name>]`: a provider of prompts.

    Attributes:
        kind: the kind of provider; the keys of `langfuse` are in the environment.
        folder: the folder of the prompts, relative to the working directory.
    """

    kind: Literal["folder", "langfuse"] = "folder"
    folder: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _has_its_folder(self) -> Self:
        if (self.folder is not None) != (self.kind == "folder"):
            raise ValueError('set `folder = "..."`, or `kind = "langfuse"` without a folder')
        return self


class TelemetrySettings(DocumentModel):
    """Settings of the `[telemetry]` table: traces of results, and OpenTelemetry, with the extra `otel`.

    `OTEL_*` variables say the rest.

    Attributes:
        enabled: send traces and metrics.
        content: send prompts, answers, arguments and results of tools, and messages of errors, too.
        service_name: the name of the program, where `OTEL_SERVICE_NAME` gives none.
        capture: how much of runs is captured: in traces of results, in stores, and by servers. Without it, results of
            ensembles have no traces, and stores and servers have what `"standard"` means.
    """

    enabled: bool = False
    content: bool = False
    service_name: str | None = Field(default=None, min_length=1)
    capture: Literal["off", "standard", "full"] | None = None


class A2aTable(DocumentModel):
    """Settings of the `[a2a]` table: servers of A2A that the command line starts.

    Attributes:
        private_push: true to send notifications to private addresses.
        grpc_port: the port for gRPC; no gRPC without it.
        grpc_url: the host and the port at which clients reach it, behind a proxy.
        grpc_certificate: a file with the certificate chain of the server, as PEM: gRPC is encrypted.
        grpc_key: a file with its private key, as PEM.
    """

    private_push: bool = False
    grpc_port: int | None = Field(default=None, ge=0, le=65535)
    grpc_url: str | None = Field(default=None, min_length=1)
    grpc_certificate: str | None = None
    grpc_key: str | None = None


class TemplateSettings(DocumentModel):
    """Settings of the `[templates]` table.

    Attributes:
        folders: the folders of the Jinja templates, relative to the working directory, or in packages, as
            `package:acme.support/prompts`; the first with a template counts. By default, `prompts`. A text,
            such as an environment variable, has them with commas between them.
    """

    folders: tuple[Annotated[str, Field(min_length=1)], ...] = ()

    @field_validator("folders", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


class ServeSettings(DocumentModel):
    """Settings of the `[serve]` table, for `tactician serve`, `tactician mcp serve` and `tactician a2a serve`.

    Attributes:
        lets_callers_approve: true when programs that call over MCP or A2A may approve calls of tools themselves.
        events_per_run: number of events of a run that a server keeps in its memory for readers that come late.
        runs_with_events: number of runs of which it keeps events.
    """

    lets_callers_approve: bool = False
    events_per_run: int = Field(default=10_000, ge=1)
    runs_with_events: int = Field(default=1000, ge=1)


class Settings(DocumentModel):
    """Content of `tactician.toml`."""

    models: ModelSettings = create_table(ModelSettings)
    process: ProcessSettings = create_table(ProcessSettings)
    planning: PlanningTable = create_table(PlanningTable)
    platform: PlatformSettings = create_table(PlatformSettings)
    tool_groups: dict[str, ToolGroupSettings] = Field(default_factory=dict)
    mcp: dict[str, McpServerSettings] = Field(default_factory=dict)
    prompts: dict[str, PromptSettings] = Field(default_factory=dict)
    templates: TemplateSettings = create_table(TemplateSettings)
    telemetry: TelemetrySettings = create_table(TelemetrySettings)
    a2a: A2aTable = create_table(A2aTable)
    serve: ServeSettings = create_table(ServeSettings)
