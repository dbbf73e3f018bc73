"""Permissions of a blueprint: the environment variables that it may read, and the hosts that it may reach."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, Self
from urllib.parse import urlsplit

from tactician.blueprint.origin import Origin
from tactician.environment import read_environment
from tactician.errors import Problem
from tactician.frozen import frozen
from tactician.llm import Responder
from tactician.secrets import has_secret

VARIABLES_VARIABLE: Final = "TACTICIAN_ALLOW_VARIABLES"
HOSTS_VARIABLE: Final = "TACTICIAN_ALLOW_HOSTS"


@frozen
class BuildPermissions:
    """Environment variables and hosts that a blueprint may use, beside the built-in providers'.

    A provider's own key is read for the provider's own address, in any blueprint.

    Attributes:
        variables: names of environment variables; all, when `None`.
        hosts: hosts of `baseUrl`, each as `host` or `host:port`; all, when `None`.
    """

    variables: frozenset[str] | None = None
    hosts: frozenset[str] | None = None

    @classmethod
    def choose(
        cls,
        origin: Origin,
        variables: Collection[str] | None,
        hosts: Collection[str] | None,
        environment: Mapping[str, str] | None,
    ) -> Self:
        """Return what a blueprint may use.

        By default, a text may use what `TACTICIAN_ALLOW_VARIABLES` and `TACTICIAN_ALLOW_HOSTS` name. A file
        of this machine and a blueprint that the program made may use everything, and so may all who are built with an
        environment of their own, of the variables in it.
        """
        permissions = read_environment(environment)
        if variables is None and not origin.is_trusted and environment is None:
            variables = ()
        if hosts is None and not origin.is_trusted:
            hosts = ()
        return cls(_join(variables, permissions, VARIABLES_VARIABLE), _join(hosts, permissions, HOSTS_VARIABLE))

    def find_problem_of_variable(self, name: str) -> str | None:
        """Return why a variable may not be read, or `None`."""
        if self.variables is None or name in self.variables:
            return None
        return f"the variable {name} is not allowed; allow it with build(variables=[{name!r}]) or {VARIABLES_VARIABLE}"

    def find_problems(self, responder: Responder) -> Iterator[Problem]:
        """Yield what a responder may not use."""
        providers, host, port = responder.providers, responder.host, responder.port
        if self.hosts is not None and host and not providers and self.hosts.isdisjoint((host, f"{host}:{port}")):
            why = f"the host {host} is not allowed; allow it with build(hosts=[{host!r}]) or {HOSTS_VARIABLE}"
            yield Problem("base_url", why)
        variable = responder.api_key_env
        if variable is None or variable in {provider.key_variable for provider in providers}:
            return
        if (why_not := self.find_problem_of_variable(variable)) is not None:
            yield Problem("api_key_env", why_not)


def find_problem_of_address(url: str, hosts: frozenset[str] | None) -> str | None:
    """Return why an address may not be used, or `None`.

    Args:
        url: the address.
        hosts: hosts that may be reached; `None` for all.
    """
    if has_secret(url):
        return "the address may hold a secret"
    try:
        parts = urlsplit(url)
        host, place = parts.hostname or "", parts.netloc
    except ValueError:
        return f"{url[:80]!r} is not an address"
    if hosts is None or not hosts.isdisjoint((host, place)):
        return None
    return f"the host {host} is not allowed; allow it with build(hosts=[{host!r}]) or {HOSTS_VARIABLE}"


def _join(names: Collection[str] | None, environment: Mapping[str, str], variable: str) -> frozenset[str] | None:
    """Return the names with those that a variable allows, separated by commas; `None` for all."""
    if names is None:
        return None
    allowed = (name.strip() for name in environment.get(variable, "").split(","))
    extra = (names,) if isinstance(names, str) else names
    return frozenset((*extra, *filter(None, allowed)))
