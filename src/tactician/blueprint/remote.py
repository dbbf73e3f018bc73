"""Blueprint of an agent of another program: `remote`."""

from __future__ import annotations

from typing import Any, Literal

from tactician.a2a import RemoteAgent
from tactician.a2a.settings import RemoteSettings
from tactician.blueprint.blueprint import Blueprint, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter, blueprint_exporter
from tactician.blueprint.permissions import find_problem_of_address
from tactician.blueprint.schema_base import Flag, Name, Positive, Seconds
from tactician.secrets import has_secret

_OPTIONS = ("skill", "api_key_env", "verify_key", "timeout", "idle", "max_bytes", "allow_private")


@blueprint_type("remote")
class RemoteBlueprint(Blueprint):
    """Blueprint of an agent of another program, which speaks A2A. Times are in seconds."""

    type: Literal["remote"] = "remote"
    name: Name
    url: Name
    description: str | None = None
    skill: Name | None = None
    api_key_env_var: Name | None = None
    verify_key: Name | None = None
    timeout: Seconds | None = None
    idle: Seconds | None = None
    max_bytes: Positive | None = None
    allow_private: Flag | None = None

    def build_with(self, builder: Builder) -> RemoteAgent | None:
        """Return the agent; its card is loaded when it is first needed."""
        if (problem := find_problem_of_address(self.url, builder.permissions.hosts)) is not None:
            builder.add_problem(problem, "url")
            return None
        if (name := self.api_key_env_var) is not None:
            if (why_not := builder.permissions.find_problem_of_variable(name)) is not None:
                builder.add_problem(why_not, "apiKeyEnvVar")
            elif not builder.environment.get(name):
                builder.add_problem(f"the environment variable {name} is not set", "apiKeyEnvVar")
        settings: dict[str, Any] = {"api_key_env": name, "environment": builder.environment}
        settings |= {option: getattr(self, option) for option in _OPTIONS if option != "api_key_env"}
        options = {option: value for option, value in settings.items() if value is not None}
        return builder.attempt(
            lambda: RemoteAgent(self.url, name=self.name, description=self.description or "", **options)
        )


@blueprint_exporter(RemoteAgent)
def export_remote(remote: RemoteAgent, exporter: Exporter) -> RemoteBlueprint | None:
    """Return the blueprint of a remote agent."""
    settings = remote.settings
    default = RemoteSettings(settings.url)
    if settings.headers:
        exporter.add_problem("headers may hold a secret: name the variable of the key with api_key_env", "headers")
    if has_secret(settings.url):
        exporter.add_problem("the address may hold a secret", "url")
    options = {name: getattr(settings, name) for name in _OPTIONS}
    fields = {name: value for name, value in options.items() if value != getattr(default, name)}
    if (variable := fields.pop("api_key_env", None)) is not None:
        fields["api_key_env_var"] = variable
    description = remote.description or None
    return exporter.make(
        RemoteBlueprint, {"name": remote.name, "url": settings.url, "description": description, **fields}
    )
