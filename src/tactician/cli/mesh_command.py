"""`tactician mesh` and `tactician node`: what a mesh offers, requests to it, and nodes of files."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root, is_blueprint_file
from tactician.cli.console import Debug, ModelName, Scripted, StoreUrl, err
from tactician.cli.formatting import format_time
from tactician.cli.loading import Loaded, find_agents, load_agents, load_module
from tactician.cli.mesh_views import describe_nodes, describe_topology, show_mesh
from tactician.cli.publishing import run_server
from tactician.cli.run_command import choose_models
from tactician.cli.stores import find_store, open_or_create
from tactician.errors import ConfigurationError
from tactician.platform import Platform

if TYPE_CHECKING:
    from tactician.mesh import Mesh, Node
    from tactician.mesh.calls.ticket import Ticket
    from tactician.mesh.directives import Command

Url = Annotated[
    str | None,
    typer.Option("--mesh", metavar="URL", help="Address of the mesh, such as nats://host:4222; or TACTICIAN_MESH."),
]
Realm = Annotated[str, typer.Option("--realm", help="Group of nodes under the same administration.")]
Watch = Annotated[bool, typer.Option("--watch", help="Show it again whenever it changes, until Ctrl-C.")]
ClientName = Annotated[str, typer.Option("--as", help="Name under which requests are sent.")]

mesh = typer.Typer(name="mesh", help="Nodes of a mesh, and requests to them.")


@mesh.command()
def asyncapi() -> None:
    """Print the AsyncAPI 3 document of all messages."""
    from tactician.mesh.messages.asyncapi import create_asyncapi

    typer.echo(json.dumps(create_asyncapi(), indent=2))


@mesh.command()
def nodes(url: Url = None, realm: Realm = "default", watch: Watch = False, debug: Debug = False) -> None:
    """List the nodes that are there, with their capabilities."""
    asyncio.run(show_mesh(open_mesh(url, realm), describe_nodes, watch))


@mesh.command()
def topology(url: Url = None, realm: Realm = "default", watch: Watch = False, debug: Debug = False) -> None:
    """Draw the realms with their nodes, the load of each instance, and the topics and schedules that connect them."""
    asyncio.run(show_mesh(open_mesh(url, realm), describe_topology, watch))


@mesh.command()
def schedules(url: Url = None, realm: Realm = "default", debug: Debug = False) -> None:
    """List the schedules of the nodes that are there, with the next time of each."""
    asyncio.run(_list_schedules(open_mesh(url, realm)))


@mesh.command()
def send(
    capability: Annotated[str, typer.Argument(help="Name of the capability.")],
    text: Annotated[str, typer.Argument(help="Input: text, or a JSON object.")],
    on: Annotated[str | None, typer.Option("--on", help="Node; any that offers the capability, by default.")] = None,
    request_id: Annotated[str | None, typer.Option("--id", help="Id: the same id is the same request.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait for the reply and print it.")] = True,
    seconds: Annotated[float | None, typer.Option(min=0.001, help="Time by which the reply is needed.")] = None,
    must_meet_deadline: Annotated[
        bool, typer.Option("--must-meet-deadline", help="Be refused at once when the node expects to need longer.")
    ] = False,
    url: Url = None,
    realm: Realm = "default",
    name: ClientName = "command-line",
    debug: Debug = False,
) -> None:
    """Send a request, and print the reply; with --no-wait the id of the request, for `status` and `cancel`."""
    if must_meet_deadline and seconds is None:
        raise ConfigurationError("--must-meet-deadline needs --seconds, the time by which the reply is needed.")
    deadline = None if seconds is None else timedelta(seconds=seconds)
    options = {
        "on": on,
        "request_id": request_id,
        "deadline": deadline,
        "must_meet_deadline": must_meet_deadline,
    }
    asyncio.run(_send(open_mesh(url, realm, name), capability, _read_input(text), wait, options))


@mesh.command()
def status(
    request_id: Annotated[str, typer.Argument(help="Id of the request.")],
    on: Annotated[str, typer.Option("--on", help="Node that works on it.")],
    url: Url = None,
    realm: Realm = "default",
    name: ClientName = "command-line",
    debug: Debug = False,
) -> None:
    """Print the status of a request as JSON, with the reply once there is one."""
    asyncio.run(_show_status(open_mesh(url, realm, name), request_id, on))


@mesh.command()
def cancel(
    request_id: Annotated[str, typer.Argument(help="Id of the request.")],
    on: Annotated[str, typer.Option("--on", help="Node that works on it.")],
    url: Url = None,
    realm: Realm = "default",
    name: ClientName = "command-line",
    debug: Debug = False,
) -> None:
    """Cancel a request: its work ends, wherever it runs."""
    asyncio.run(_cancel(open_mesh(url, realm, name), request_id, on))


@mesh.command()
def direct(
    target: Annotated[str, typer.Argument(help="Node, or capability:NAME, tag:NAME or realm:NAME.")],
    text: Annotated[str, typer.Argument(help="Guidance for all work that starts from now on.")],
    by: Annotated[str, typer.Option("--by", help="The person who directs.")],
    hours: Annotated[float | None, typer.Option("--hours", min=0.001, help="How long it holds.")] = None,
    url: Url = None,
    realm: Realm = "default",
    name: ClientName = "command-line",
    debug: Debug = False,
) -> None:
    """Give guidance to the nodes of a mesh, and print its id, for `withdraw`."""
    asyncio.run(_direct(open_mesh(url, realm, name), target, text, by, hours))


@mesh.command()
def control(
    target: Annotated[str, typer.Argument(help="Node, or capability:NAME, tag:NAME or realm:NAME.")],
    command: Annotated[str, typer.Argument(help="Such as set-tier, pause, disable or set-concurrency.")],
    value: Annotated[str | None, typer.Argument(help="Value of the command: a name or a number.")] = None,
    by: Annotated[str, typer.Option("--by", help="The person who directs.")] = "command-line",
    hours: Annotated[float | None, typer.Option("--hours", min=0.001, help="How long it holds.")] = None,
    running: Annotated[bool, typer.Option("--running", help="set-tier: also for runs that have begun.")] = False,
    url: Url = None,
    realm: Realm = "default",
    name: ClientName = "command-line",
    debug: Debug = False,
) -> None:
    """Give a command to the nodes of a mesh, and print its id, for `withdraw`.

    Commands: set-tier NAME, pause, continue, set-weight MINUTES, enable NAME, disable NAME, set-queue-limit N,
    set-concurrency N, drain.
    """
    chosen = _read_command(command, value, running=running)
    asyncio.run(_direct(open_mesh(url, realm, name), target, chosen, by, hours))


@mesh.command()
def directives(url: Url = None, realm: Realm = "default", debug: Debug = False) -> None:
    """List the directives that hold."""
    asyncio.run(_list_directives(open_mesh(url, realm)))


@mesh.command()
def withdraw(
    directive_id: Annotated[str, typer.Argument(help="Id of the directive.")],
    url: Url = None,
    realm: Realm = "default",
    debug: Debug = False,
) -> None:
    """Withdraw a directive."""
    asyncio.run(_withdraw(open_mesh(url, realm), directive_id))


def node(
    file: Annotated[Path, typer.Argument(help="Python file with a Node, or with agents to offer; or a blueprint.")],
    name: Annotated[str | None, typer.Option("--name", help="Name of the node; that of the file by default.")] = None,
    url: Url = None,
    realm: Realm = "default",
    parallel: Annotated[int, typer.Option("--parallel", min=1, help="How many requests it works on at once.")] = 10,
    store: StoreUrl = None,
    model: ModelName = None,
    scripted: Scripted = False,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Offer the agents in a file to a mesh, until Ctrl-C or SIGTERM, which finish what runs.

    A `Node` in the file says what is offered; else it is every agent in the file.
    """
    from tactician.mesh import Node

    module = None if is_blueprint_file(file) else load_module(file)
    declared = [value for value in vars(module).values() if isinstance(value, Node)] if module is not None else []
    if declared:
        run_server(_run_all(declared))
        return
    agents = (
        load_agents(file, BlueprintAccess.of(allow, modules, root)) if module is None else find_agents(module, file)
    )
    connection = open_mesh(url, realm, name or file.stem)

    async def work() -> None:
        async with AsyncExitStack() as stack:
            kept = find_store(store)
            opened = await stack.enter_async_context(open_or_create(kept))
            models = choose_models(Loaded.merge([agents]), file, model, scripted)
            platform = await stack.enter_async_context(Platform(models=models, store=opened))
            agents.register(platform)
            await stack.enter_async_context(connection)
            offering = Node(name or file.stem, platform, connection, max_concurrent=parallel)
            for agent in platform.agents.values():
                offering.offer(agent)
            if kept is None:
                err.print("Runs end with this program: add --store FILE to keep them.", style="yellow")
            await _run_all([offering])

    run_server(work())


async def _run_all(offering: list[Node]) -> None:
    for each in offering:
        offered = ", ".join(card.name for card in each.capabilities)
        err.print(f"{each.name} offers {offered}. Ctrl-C ends it.", highlight=False, markup=False)
    await asyncio.gather(*(each.run() for each in offering))


def open_mesh(url: str | None, realm: str, name: str | None = None) -> Mesh:
    """Return the mesh at an address, or at the address and with the keys in the environment.

    Raises:
        ConfigurationError: when there is no address.
    """
    from tactician.mesh import Mesh
    from tactician.mesh.sources import MESH_VARIABLE, read_mesh_keys

    address = url or os.environ.get(MESH_VARIABLE)
    if not address:
        raise ConfigurationError(f"Say where the mesh is: --mesh nats://host:4222, or the variable {MESH_VARIABLE}.")
    return Mesh(address, name=name, realm=realm, key=read_mesh_keys())


def _read_input(text: str) -> object:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


async def _list_schedules(connection: Mesh) -> None:
    async with connection:
        await connection.directory.find(connection.realm, "")
        cards = await connection.nodes()
    listed = {(card.node, each.name): each for card in cards for each in card.schedules}
    if not listed:
        err.print("No node has a schedule: Node.schedule(...) gives it one.")
    for (name, _), each in listed.items():
        topic = f"  to {each.publish_to}" if each.publish_to else ""
        typer.echo(f"{name}  {each.name}  {each.timetable}  next {format_time(each.next_at)}{topic}")


async def _send(connection: Mesh, capability: str, value: object, wait: bool, options: Mapping[str, object]) -> None:
    submit: Callable[..., Awaitable[Ticket]] = connection.submit
    async with connection:
        ticket = await submit(capability, value, **options)
        if not wait:
            typer.echo(ticket.request_id)
            return
        output = await ticket.result()
    typer.echo(output if isinstance(output, str) else json.dumps(output, indent=2))


async def _show_status(connection: Mesh, request_id: str, on: str) -> None:
    async with connection:
        report = await connection.ticket(request_id, on=on).status()
    typer.echo(report.model_dump_json(indent=2, exclude_none=True))


async def _cancel(connection: Mesh, request_id: str, on: str) -> None:
    async with connection:
        ticket = connection.ticket(request_id, on=on)
        if (await ticket.status()).status == "unknown":
            raise ConfigurationError(f"The node {on!r} has no request {request_id!r}. `mesh send` prints the id.")
        await ticket.cancel("cancelled on the command line")


def _read_command(name: str, value: str | None, *, running: bool) -> Command:
    """Return the command of a name such as `set-tier`, with its value.

    Raises:
        ConfigurationError: when there is no such command, or the value is not valid.
    """
    from tactician.mesh.directives import COMMANDS, read_command
    from tactician.mesh.messages.directives import CommandData

    action = "".join(part.capitalize() for part in name.split("-"))
    kind = COMMANDS.get(action)
    names = [] if kind is None else [field.name for field in fields(kind)]
    if kind is not None and bool(names) is (value is None):
        needs = f"needs a value: {name} {names[0].upper()}" if names else "takes no value"
        raise ConfigurationError(f"The command {name} {needs}.")
    values = {names[0]: value} if names else {}
    return read_command(CommandData(action=action, value=values | ({"running": True} if running else {})))


async def _direct(connection: Mesh, target: str, directive: str | Command, by: str, hours: float | None) -> None:
    async with connection:
        await connection.directory.find(connection.realm, "")  # the nodes that are there say what they can do
        ttl = None if hours is None else timedelta(hours=hours)
        active = await connection.direct(target, directive, by=by, ttl=ttl)
        typer.echo(active.id)
        receipts = await connection.receipts(active.id)
        for receipt in receipts:
            err.print(f"{receipt.node}: {receipt.status}. {receipt.message}".rstrip(), highlight=False, markup=False)
        if not await connection.nodes():
            err.print("No node is on the mesh now; the directive is for nodes that come later.")


async def _list_directives(connection: Mesh) -> None:
    async with connection:
        await connection.directory.find(connection.realm, "")  # nodes send them on in that time
        held = await connection.directives()
    if not held:
        err.print("No directives hold. `tactician mesh direct` gives one.")
    for directive in held:
        typer.echo(f"{directive.id}  {directive.target}  {directive.describe()}")


async def _withdraw(connection: Mesh, directive_id: str) -> None:
    async with connection:
        await connection.directory.find(connection.realm, "")
        if not await connection.withdraw(directive_id):
            raise ConfigurationError(f"No directive {directive_id!r} holds. `tactician mesh directives` lists them.")
