"""Tool groups of a platform: registered groups, and selections in `tactician.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError, DeclarationError
from tactician.runs import RunContext
from tactician.tools.configured_servers import create_common_groups, create_server_groups
from tactician.tools.groups import (
    CoreToolGroups,
    ToolGroup,
    ToolGroupPermission,
    create_math_group,
    describe_unknown_groups,
    merge_tools,
)
from tactician.tools.provider import OpenProviders, ToolProvider
from tactician.tools.tool import Tool

if TYPE_CHECKING:
    from tactician.config.settings import ToolGroupSettings


class ToolGroups(Mapping[str, ToolGroup]):
    """Tool groups by name. `tactician.toml` is read at the first look-up."""

    def __init__(self, groups: Iterable[ToolGroup] = ()) -> None:
        self._registered: dict[str, ToolGroup] = {}
        self._selected: dict[str, ToolGroup] | None = None
        self._servers: dict[str, ToolGroup] = {}
        self._common: dict[str, ToolGroup] = {}
        self._built_in = {CoreToolGroups.MATH: create_math_group()}
        self.add(groups)

    def __getitem__(self, name: str) -> ToolGroup:
        return self._load_all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load_all())

    def __len__(self) -> int:
        return len(self._load_all())

    @property
    def registered(self) -> tuple[ToolGroup, ...]:
        """The registered groups."""
        return tuple(self._registered.values())

    def add(self, groups: Iterable[ToolGroup]) -> None:
        """Register groups, all or none.

        Raises:
            DeclarationError: when a name is taken.
        """
        self._registered = self._with(groups)

    def check(self, groups: Iterable[ToolGroup]) -> None:
        """Check that the groups can be registered.

        Raises:
            DeclarationError: when a name is taken.
        """
        self._with(groups)

    def _with(self, groups: Iterable[ToolGroup]) -> dict[str, ToolGroup]:
        fresh = dict(self._registered)
        for group in groups:
            if fresh.setdefault(group.name, group) is not group:
                raise DeclarationError(repr(group), ["another tool group has this name; rename either"])
        return fresh

    def _load_all(self) -> Mapping[str, ToolGroup]:
        if self._selected is None:
            settings = load_settings()
            self._servers = create_server_groups(settings.mcp)
            self._common = create_common_groups(self._servers)
            self._selected = {
                name: self._create_selection(name, group_settings)
                for name, group_settings in settings.tool_groups.items()
            }
        if twice := self._selected.keys() & self._registered.keys():
            raise ConfigurationError(
                f"tactician.toml: tool_groups: a group of the name {', '.join(sorted(twice))} is registered by the "
                "program; rename either"
            )
        if twice := self._servers.keys() & (self._selected.keys() | self._registered.keys()):
            raise ConfigurationError(
                f"tactician.toml: mcp: another tool group has the name {', '.join(sorted(twice))}; rename either"
            )
        return {**self._built_in, **self._common, **self._servers, **self._registered, **self._selected}

    def _create_selection(self, name: str, settings: ToolGroupSettings) -> ToolGroup:
        return ToolGroup(
            name,
            partial(self._select_tools, name, settings.tools),
            description=settings.description,
            provider=settings.provider,
            version=settings.version,
            permissions=map(ToolGroupPermission, settings.permissions),
            exclude=settings.exclude,
        )

    async def _select_tools(self, name: str, selections: Iterable[str]) -> tuple[Tool, ...]:
        """Return the tools that match patterns such as `search`, `brave_*`, or `docker:fetch` of a group."""
        chosen: list[Tool] = []
        missing: list[str] = []
        for selection in selections:
            group, _, pattern = selection.rpartition(":")
            groups = (*self._registered.values(), *self._servers.values())
            sources = [source for source in groups if group in ("", source.name)]
            matching = [
                tool for source in sources for tool in await source.load_tools() if fnmatchcase(tool.name, pattern)
            ]
            chosen += matching
            missing += [] if matching else [selection]
        if missing:
            group_names = ", ".join((*self._registered, *self._servers)) or "none"
            raise ConfigurationError(
                f"tactician.toml: tool_groups.{name}.tools: no tool of a registered group is called "
                f"{' or '.join(map(repr, missing))}; the registered groups: {group_names}"
            )
        return merge_tools(chosen)


async def load_group_tools(groups: Iterable[str | ToolProvider], context: RunContext) -> tuple[Tool, ...]:
    """Return the tools of groups, which may be names in the context, and of other providers.

    Of two groups of the same name, the last counts. A tool that several groups have is there once. The platform of the
    context closes the providers.

    Raises:
        ConfigurationError: when a name is unknown, or two groups have different tools of the same name.
    """
    groups_by_name = {group.name if isinstance(group, ToolGroup) else group: group for group in groups}
    tool_groups = context.services.find(ToolGroups)
    unknown = [group for group in groups_by_name.values() if isinstance(group, str) and group not in tool_groups]
    if unknown:
        raise ConfigurationError(describe_unknown_groups(unknown, tool_groups))
    resolved = [tool_groups[group] if isinstance(group, str) else group for group in groups_by_name.values()]
    opened = context.services.find(OpenProviders)
    for provider in resolved:
        opened.add(provider)
    return merge_tools([tool for provider in resolved for tool in await provider.load_tools()])
