"""`McpPublisher`: the MCP server of a platform."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import mcp_types as types
from mcp.server import NotificationOptions, Server
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import ListenHandler
from mcp.server.transport_security import TransportSecuritySettings
from typing_extensions import override

from tactician import __version__
from tactician.listening import listen
from tactician.platform import Platform
from tactician.serve.mcp.access import SharedToken, create_auth, create_seal, create_security
from tactician.serve.mcp.banner import Banner
from tactician.serve.mcp.catalog import Catalog
from tactician.serve.mcp.changes import ChangeNotices
from tactician.serve.mcp.handlers import Handlers
from tactician.serve.mcp.logs import LogLevels
from tactician.serve.mcp.prompts import ServedPrompt
from tactician.serve.mcp.resources import McpResource
from tactician.serve.mcp.resuming import make_resumable
from tactician.serve.mcp.sources import McpSource
from tactician.serve.mcp.task_params import TaskParams, TaskUpdateParams
from tactician.serve.mcp.tasks import TASKS, ClientTasks
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from starlette.applications import Starlette

DEFAULT_PORT = 8000
_GRACE = 2


@suggest_options
class McpPublisher:
    """MCP server of a platform, for clients of both protocol eras: over stdio, and over streamable HTTP.

    Each goal with `Export(remote=True)` is a tool and a prompt, also the goals of agents that are registered later.
    What waits for a person asks at the client, if that can show a form; else its run is answered by the tool `respond`.

    Args:
        platform: the platform.
        *sources: what else is published: names of registered agents, Runnables, tools and functions, objects with
            methods that are tools, tool groups, references. A planned agent is published with all of its goals.
        name: name of the server.
        instructions: what a model should know about the server.
        resources: resources besides the resources of references and agents.
        prompts: prompts besides the prompts of goals and Runnables.
        secret: key of at least 32 characters that seals what clients send back with an answer. Without it, a call that
            has asked cannot be answered by another worker, or after a restart, but by the tool `respond`.
        token: token that clients over HTTP send as `Authorization: Bearer ...`.
        token_verifier: verifier of tokens, in place of a single token. A role that a request requires is a scope.
        auth: the authorization server that issues the tokens.
        lets_callers_approve: true when the tool `respond`, which the model of a client calls, may approve calls of
            tools and give answers that need a role. Otherwise a person does, in a form of the client or in this
            program.
        task_only: names of goals and Runnables that take so long that they only run as tasks: clients without the tasks
            extension cannot call them. It needs a platform with a store.

    Attributes:
        server: the server of the SDK.
        banner: the banner.

    Raises:
        DeclarationError: when something cannot be published.
        ConfigurationError: when a token, the secret or the authorization is not set up well.
    """

    def __init__(
        self,
        platform: Platform,
        *sources: McpSource,
        name: str = "Tactician",
        instructions: str | None = None,
        resources: Iterable[McpResource] = (),
        prompts: Iterable[ServedPrompt] = (),
        secret: str | None = None,
        token: str | None = None,
        token_verifier: TokenVerifier | None = None,
        auth: AuthSettings | None = None,
        lets_callers_approve: bool = False,
        task_only: Collection[str] = (),
    ) -> None:
        self.platform = platform
        self.banner = Banner(name, datetime.fromtimestamp(platform.services.clock.time(), UTC))
        self._verifier = token_verifier if token is None else SharedToken(token)
        self._auth = create_auth(self._verifier, auth)
        self._is_stopping: Callable[[], bool] = lambda: False
        self._notices = notices = ChangeNotices()
        catalog = Catalog(
            platform,
            sources,
            resources,
            prompts,
            self.banner,
            lambda: self._is_stopping(),
            lets_callers_approve=lets_callers_approve,
        )
        levels = LogLevels()
        self._tasks = tasks = ClientTasks(platform, catalog.load_tools, task_only)
        self._handlers = Handlers(catalog, levels, tasks)
        self.server = _create_server(name, instructions, self._handlers, notices)
        self.server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, levels.set_level)
        if tasks.is_offered:
            _offer_tasks(self.server, self._handlers)
        self.server.middleware.append(RequestStateBoundary(create_seal(secret), default_audience=name))
        platform.watch_agents(notices.announce)

    def __repr__(self) -> str:
        return f"McpPublisher({self.banner.name!r})"

    def announce_change(self, uri: str) -> None:
        """Tell the clients that watch a resource that its content has changed; they read it again.

        Args:
            uri: address of the resource.
        """
        self._notices.announce_resource(uri)

    def app(
        self,
        *,
        host: str = "127.0.0.1",
        path: str = "/mcp",
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
    ) -> Starlette:
        """Return the server as an ASGI app, which any ASGI server runs. Its lifespan has to run too.

        Args:
            host: address that the app is served at. On addresses of this machine, only its own names may be called.
            path: path of the endpoint.
            allowed_hosts: values of `Host` that requests may have, as `agents.acme.com` or `localhost:*`.
            allowed_origins: values of `Origin` that requests of browsers may have.

        Raises:
            ConfigurationError: when other machines may call, and no token or no host is set.
        """
        security = create_security(host, allowed_hosts, allowed_origins, has_tokens=self._verifier is not None)
        return self._with_tasks(
            self.server.streamable_http_app(
                streamable_http_path=path,
                host=host,
                transport_security=security,
                auth=self._auth,
                token_verifier=self._verifier,
            )
        )

    def create_mounted_app(self, *, path: str = "/mcp", is_stopping: Callable[[], bool]) -> Starlette:
        """Return the server as an ASGI app for an application that checks hosts, origins and tokens itself.

        Args:
            path: path of the endpoint.
            is_stopping: returns whether the application stops: then calls that it ends leave their runs as they are.
        """
        self._is_stopping = is_stopping
        return self._with_tasks(
            self.server.streamable_http_app(
                streamable_http_path=path,
                transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            )
        )

    async def run_http(
        self,
        port: int = DEFAULT_PORT,
        *,
        host: str = "127.0.0.1",
        path: str = "/mcp",
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
    ) -> None:
        """Serve clients over streamable HTTP until the program is interrupted, or the call cancelled.

        The banner goes to stderr.

        Raises:
            ConfigurationError: as `app`, and when the address cannot be used.
        """
        import uvicorn

        app = self.app(host=host, path=path, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins)
        with listen(host, port) as listening:
            self.show_banner()
            config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_GRACE, access_log=False)
            server = uvicorn.Server(config)
            self._is_stopping = lambda: server.should_exit
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            try:
                await asyncio.shield(serving)
            except asyncio.CancelledError:
                server.should_exit = True  # it closes its connections
                await serving
                raise

    async def run_stdio(self) -> None:
        """Serve the client that started this program, over its standard input and output, until it ends.

        The banner goes to stderr; whatever else the program prints does, too.
        """
        self.show_banner()
        async with stdio_server() as (receive, send):
            try:
                await self.server.run(receive, send, self.server.create_initialization_options())
            finally:
                await self._tasks.aclose()

    def _with_tasks(self, app: Starlette) -> Starlette:
        """Return the app, whose clients resume their streams, and which interrupts the tasks when it stops."""
        make_resumable(self.server.session_manager)
        begin = app.router.lifespan_context

        @asynccontextmanager
        async def live(app: Starlette) -> AsyncIterator[None]:
            async with begin(app):
                try:
                    yield
                finally:
                    await self._tasks.aclose()

        app.router.lifespan_context = live
        return app

    def show_banner(self) -> None:
        """Print the banner to stderr."""
        print(*self.banner.lines, sep="\n", file=sys.stderr, flush=True)


class _Server(Server[dict[str, object]]):
    """Server that tells clients of the old era, too, that its lists change."""

    @override
    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, object]] | None = None,
        extensions: dict[str, dict[str, object]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def _offer_tasks(server: _Server, handlers: Handlers) -> None:
    server.extensions[TASKS] = {}
    server.add_request_handler("tasks/get", TaskParams, handlers.get_task)
    server.add_request_handler("tasks/update", TaskUpdateParams, handlers.update_task)
    server.add_request_handler("tasks/cancel", TaskParams, handlers.cancel_task)


def _create_server(name: str, instructions: str | None, handlers: Handlers, notices: ChangeNotices) -> _Server:
    server = _Server(
        name,
        version=__version__,
        instructions=instructions,
        on_list_tools=handlers.list_tools,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_completion=handlers.complete,
        on_subscribe_resource=notices.subscribe,
        on_unsubscribe_resource=notices.unsubscribe,
        on_subscriptions_listen=ListenHandler(notices.bus),
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, handlers.call_tool)  # which may give a task
    server.add_notification_handler("notifications/initialized", types.NotificationParams, notices.greet)
    return server
