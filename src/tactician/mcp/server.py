"""MCP servers, whose tools, resources and prompts agents use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from typing_extensions import Unpack, override

from tactician.amounts import need_amount
from tactician.clock import SYSTEM_CLOCK
from tactician.errors import TacticianError
from tactician.llm import Message
from tactician.mcp.calls import CallsInProgress, ToolOfServerCall, has_asked
from tactician.mcp.connection import Connection, McpHealth
from tactician.mcp.content import read_contents, read_message, read_output, read_texts
from tactician.mcp.errors import McpError, find_cause, is_loss
from tactician.mcp.listing import Page, list_all
from tactician.mcp.options import McpOptions
from tactician.mcp.output_check import OutputChecks
from tactician.mcp.references import McpPrompt, McpReference
from tactician.mcp.selection import SelectedTools, ServerTools
from tactician.mcp.server_tasks import find_task
from tactician.mcp.tool_selection import ToolSelection
from tactician.mcp.tools import McpResult, McpTool, create_tools, is_repeatable, is_task
from tactician.mcp.transports import HttpTransport, InProcessTransport, ProgramTransport, ServerTransport
from tactician.runs import RunContext
from tactician.text import describe_error
from tactician.tools import Tool, ToolOutput

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.client.session import IncomingMessage
    from mcp_types import CallToolResult, Prompt, Resource, ResourceTemplate

    from tactician.mcp.transports import InProcess, Target

T = TypeVar("T")
P = TypeVar("P", bound=Page)
_CALL_SECONDS: Final = 300.0
_CONNECT_SECONDS: Final = 60.0
_LONGEST_ERROR = 10_000
_NEWER_PROTOCOL = "2026-"
"""Beginning of the versions of the protocol in which the SDK keeps lists for as long as the server says."""
_NOTHING: Final[Mapping[str, str]] = {}


class McpServer(ServerTools):
    """Server of tools, resources and prompts, by the Model Context Protocol.

    `McpServer.stdio` starts a program, `McpServer.http` uses a URL. The connection is opened by `async with`, or when
    it is used, and closed at the end of the `async with` of the server or of the platform. A server that dies is
    started again; meanwhile its tools answer with an error.
    """

    def __init__(self, transport: ServerTransport, **options: Unpack[McpOptions]) -> None:
        self.name = options.get("name") or transport.label
        self._transport = transport
        self._timeout = options.get("timeout", _CALL_SECONDS)
        self._is_sampling = options.get("sampling", True)
        self._max_samples = options.get("max_samples", 10)
        need_amount("McpServer.max_samples", self._max_samples, whole=True)
        self._repeats_calls = options.get("repeats_calls", False)
        self._repeatable: frozenset[str] = frozenset()
        self._tasks: frozenset[str] = frozenset()
        self._protocol = options.get("protocol", "auto")
        clock = options.get("clock", SYSTEM_CLOCK)
        limit = options.get("connect_timeout", _CONNECT_SECONDS)
        self._connection = Connection(self.name, transport, self._create_client, clock, limit)
        self._calls = CallsInProgress()
        self._outputs = OutputChecks()
        self._tools: tuple[McpTool, ...] | None = None
        self._is_listed = False

    @classmethod
    def stdio(
        cls,
        command: str,
        *arguments: str,
        env: Mapping[str, str] = _NOTHING,
        cwd: str | Path | None = None,
        **options: Unpack[McpOptions],
    ) -> Self:
        """Return a server that is a program, which reads its standard input and writes to its standard output.

        Args:
            command: the program.
            *arguments: its arguments.
            env: environment variables. Of this program's variables it only gets `PATH`, `HOME` and a few others.
            cwd: its working directory.
            **options: see `McpOptions`.
        """
        return cls(ProgramTransport(command, arguments, dict(env), cwd), **options)

    @classmethod
    def http(
        cls,
        url: str,
        *,
        auth: httpx2.Auth | str | None = None,
        headers: Mapping[str, str] = _NOTHING,
        **options: Unpack[McpOptions],
    ) -> Self:
        """Return a server at a URL, by streamable HTTP.

        Args:
            url: the URL.
            auth: a bearer token, or an `httpx2.Auth`, such as the SDK's `OAuthClientProvider`.
            headers: headers of each request.
            **options: see `McpOptions`.
        """
        return cls(HttpTransport(url, dict(headers), auth), **options)

    @classmethod
    def sse(
        cls,
        url: str,
        *,
        auth: httpx2.Auth | str | None = None,
        headers: Mapping[str, str] = _NOTHING,
        **options: Unpack[McpOptions],
    ) -> Self:
        """Return an old server at a URL, by HTTP with server-sent events; see `http`."""
        return cls(HttpTransport(url, dict(headers), auth, is_sse=True), **options)

    @classmethod
    def in_process(cls, server: InProcess, **options: Unpack[McpOptions]) -> Self:
        """Return a server of the SDK that runs in this program, as in tests."""
        return cls(InProcessTransport(server), **options)

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"

    async def __aenter__(self) -> Self:
        await self._connection.use()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @override
    async def aclose(self) -> None:
        """Close the connection, and end the program. The next use opens it again."""
        self._calls.close()
        await self._connection.aclose()

    @property
    def health(self) -> McpHealth:
        """The health of the connection."""
        return self._connection.health

    @override
    async def load_tools(self) -> tuple[Tool, ...]:
        """Return the tools as they are now; while the server is restarted, as they were.

        Raises:
            McpError: when the server cannot be reached.
            MissingExtraError: when the extra `mcp` is not installed.
        """
        return await self._select(lambda own: own).load_tools()

    async def call_tool(self, name: str, arguments: Mapping[str, object], context: RunContext) -> McpResult:
        """Call a tool by its name on the server, in a run.

        Raises:
            McpError: when the tool says that it failed, or the server does not answer as it should.
            Suspended: when the server asks a person who has not answered yet.
        """
        call = self._calls.take(context) or self._create_call(name, context)
        with self._calls.begin(call, context):
            result = await self._ask(lambda client: self._run(client, call, arguments))
        output = read_output(result)
        if result.is_error:
            raise McpError(output.text or f"{name} failed.")
        return McpResult(output, result.structured_content, read_texts(result))

    async def _run(self, client: Client, call: ToolOfServerCall, arguments: Mapping[str, object]) -> CallToolResult:
        self._outputs.install(client)
        return await call.run(client, dict(arguments), self._timeout)

    def _create_call(self, name: str, context: RunContext) -> ToolOfServerCall:
        """Create a call.

        Raises:
            McpError: when it was made before, and nobody says that it may be made again.
        """
        runs_as_task = name in self._tasks
        is_safe = self._repeats_calls or name in self._repeatable or (runs_as_task and find_task(context) is not None)
        if has_asked(context) and not is_safe:
            raise McpError(
                f"{name} asked a person, and the call ended before the answer came. It may have done a part of its "
                f"work, so it is not called again. McpServer(repeats_calls=True) allows that."
            )
        return ToolOfServerCall(self.name, name, context, self._max_samples, is_task=runs_as_task)

    async def list_resources(self) -> tuple[Resource, ...]:
        """Return the resources of the server, as the SDK describes them.

        Raises:
            McpError: when the server cannot be reached, or does not answer as it should.
        """
        return await self._list(
            "resources", lambda client, at: client.list_resources(cursor=at), lambda page: page.resources
        )

    async def list_resource_templates(self) -> tuple[ResourceTemplate, ...]:
        """Return the templates of the URIs of resources.

        Raises:
            McpError: when the server cannot be reached, or does not answer as it should.
        """
        return await self._list(
            "resources",
            lambda client, at: client.list_resource_templates(cursor=at),
            lambda page: page.resource_templates,
        )

    async def read_resource(self, uri: str) -> ToolOutput:
        """Return the content of a resource, as text and pictures.

        Raises:
            McpError: when there is no such resource, or the server does not answer as it should.
        """
        return read_contents((await self._ask(lambda client: client.read_resource(uri))).contents)

    async def load_reference(self, *patterns: str, name: str | None = None) -> McpReference:
        """Return the resources as a reference for `Ai.with_references` and agents: their list, and a tool to read them.

        Args:
            *patterns: patterns of the URIs that the model may read; all by default.
            name: the name of the reference; the name of the server by default.

        Raises:
            McpError: when the server cannot be reached, or does not answer as it should.
        """
        listed: list[Resource | ResourceTemplate] = [*await self.list_resources()]
        listed += await self.list_resource_templates()
        description = await self.load_instructions() or f"Resources of the MCP server {self.name}"
        return McpReference(name or self.name, description, listed, self, patterns or ("*",))

    async def list_prompts(self) -> tuple[Prompt, ...]:
        """Return the prompts of the server.

        Raises:
            McpError: when the server cannot be reached, or does not answer as it should.
        """
        return await self._list("prompts", lambda client, at: client.list_prompts(cursor=at), lambda page: page.prompts)

    async def load_prompt(self, name: str, /, **arguments: str) -> tuple[Message, ...]:
        """Return a prompt as messages, the input of an agent.

        Raises:
            McpError: when there is no such prompt, or the server does not answer as it should.
        """
        prompt = await self._ask(lambda client: client.get_prompt(name, arguments))
        return tuple(read_message(message.role, (message.content,)) for message in prompt.messages)

    def prompt(self, name: str, /, **arguments: str) -> McpPrompt:
        """Return a prompt as the instructions of an agent, which are loaded when a run begins."""
        return McpPrompt(self, name, tuple(arguments.items()))

    async def load_instructions(self) -> str:
        """Return what the server says about its use; nothing, where it says nothing.

        Raises:
            McpError: when the server cannot be reached.
        """
        return (await self._connection.use()).instructions or ""

    @override
    def _select(self, change: Callable[[ToolSelection], ToolSelection]) -> ServerTools:
        return SelectedTools(self, change(ToolSelection()))

    async def list_tools(self) -> tuple[McpTool, ...]:
        """Return the tools under their names on the server, as they are now or were before a restart.

        Raises:
            McpError: when the server cannot be reached.
        """
        try:
            client = await self._connection.use()
        except McpError:
            if self._tools is None:
                raise
            return self._tools
        is_current = self._tools is not None and self._is_listed
        if is_current and client.protocol_version < _NEWER_PROTOCOL:
            assert self._tools is not None
            return self._tools
        self._is_listed = True  # before the list comes: a change meanwhile is not lost
        listed = await self._list("tools", lambda client, at: client.list_tools(cursor=at), lambda page: page.tools)
        self._tools = create_tools(listed, self.name, self.call_tool)
        self._outputs.set_tools(listed)
        self._repeatable = frozenset(tool.name for tool in listed if is_repeatable(tool))
        self._tasks = frozenset(tool.name for tool in listed if is_task(tool))
        return self._tools

    async def _list(
        self, kind: str, load: Callable[[Client, str | None], Awaitable[P]], read: Callable[[P], Sequence[T]]
    ) -> tuple[T, ...]:
        async def collect(client: Client) -> list[T]:
            if getattr(client.server_capabilities, kind) is None:
                return []
            return await list_all(lambda cursor: load(client, cursor), read)

        return tuple(await self._ask(collect))

    async def _ask(self, question: Callable[[Client], Coroutine[object, object, T]]) -> T:
        """Return the answer of the server; report a server that does not answer any more.

        Raises:
            McpError: when the server refuses the question, or does not answer as it should.
        """
        try:
            return await self._connection.ask(question)
        except TacticianError:
            raise
        except Exception as error:
            cause = find_cause(error)
            text = self._transport.redact(describe_error(cause))[:_LONGEST_ERROR]
            if is_loss(cause):
                self._connection.report_loss(text)
            raise McpError(f"The MCP server {self.name!r}: {text}") from error

    def _create_client(self, target: Target) -> Client:
        from mcp import Client, Implementation

        elicit, sample = self._calls.create_callbacks(samples=self._is_sampling)
        self._is_listed = False
        return Client(
            target,
            mode=self._protocol,
            read_timeout_seconds=self._timeout,
            elicitation_callback=elicit,
            sampling_callback=sample,
            message_handler=self._note,
            client_info=Implementation(name="tactician", version=version("tactician")),
        )

    async def _note(self, message: IncomingMessage) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._is_listed = False
