"""`tactician mcp`: agents for MCP clients."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root, is_blueprint_file
from tactician.cli.console import AgentNames, Debug, File, ModelName, Scripted, StoreUrl
from tactician.cli.loading import Loaded, find_agents, load_agents, load_module
from tactician.cli.publishing import LetsCallersApprove, PublishingOptions, may_callers_approve, run_server

if TYPE_CHECKING:
    from tactician.serve import McpPublisher

TOKEN_VARIABLE: Final = "TACTICIAN_MCP_TOKEN"
SECRET_VARIABLE: Final = "TACTICIAN_MCP_SECRET"
mcp = typer.Typer(name="mcp", help="Agents for MCP clients, such as desktop assistants and editors.")


@mcp.callback()
def _group() -> None:
    """Agents for MCP clients, such as desktop assistants and editors."""


@mcp.command()
def serve(
    file: File,
    agent: AgentNames = None,
    http: Annotated[
        int | None, typer.Option("--http", metavar="PORT", min=1, max=65535, help="Serve over HTTP instead of stdio.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address for HTTP.")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="A host name that clients may call, as agents.acme.com.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="The name of the server.")] = "Tactician",
    lets_callers_approve: LetsCallersApprove = None,
    store: StoreUrl = None,
    model: ModelName = None,
    scripted: Scripted = False,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Publish the agents in a file as an MCP server, over stdio or HTTP.

    A `McpPublisher` in the file says what is published. Else it is the goals that are exported with
    `Export(remote=True)`, or, if no goal has it, all agents. TACTICIAN_MCP_TOKEN is the token for clients over HTTP.
    """
    from tactician.serve import McpPublisher

    module = None if is_blueprint_file(file) else load_module(file)
    declared = _find_publisher(module, McpPublisher)
    if declared is not None:
        run_server(_serve(declared, http, host, allow_host or ()))
        return
    agents = (
        load_agents(file, BlueprintAccess.of(allow, modules, root)) if module is None else find_agents(module, file)
    )
    options = PublishingOptions(file, agent or (), store, model, scripted)
    approve = may_callers_approve(lets_callers_approve)
    run_server(_open(agents, options, name, http, host, allow_host or (), approve))


def _find_publisher(module: ModuleType | None, kind: type[McpPublisher]) -> McpPublisher | None:
    values = () if module is None else vars(module).values()
    return next((value for value in values if isinstance(value, kind)), None)


async def _open(
    agents: Loaded,
    options: PublishingOptions,
    name: str,
    http: int | None,
    host: str,
    allowed_hosts: list[str] | tuple[str, ...],
    lets_callers_approve: bool,
) -> None:
    from tactician.serve import McpPublisher

    async with options.open(agents) as published:
        token, secret = os.environ.get(TOKEN_VARIABLE) or None, os.environ.get(SECRET_VARIABLE) or None
        publisher = McpPublisher(
            published.platform,
            *published.agents,
            name=name,
            token=token,
            secret=secret,
            lets_callers_approve=lets_callers_approve,
        )
        await _serve(publisher, http, host, allowed_hosts)


async def _serve(
    publisher: McpPublisher, http: int | None, host: str, allowed_hosts: list[str] | tuple[str, ...]
) -> None:
    if http is None:
        await publisher.run_stdio()
    else:
        await publisher.run_http(http, host=host, allowed_hosts=allowed_hosts)
