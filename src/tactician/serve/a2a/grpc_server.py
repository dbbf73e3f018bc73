"""Server of A2A over gRPC: the same requests as over HTTP, with the same users."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

import grpc
from a2a.auth.user import User
from a2a.server.request_handlers import GrpcHandler
from a2a.server.request_handlers.grpc_handler import DefaultGrpcServerCallContextBuilder
from a2a.server.routes.common import StarletteUser
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from a2a.utils.constants import PROTOCOL_VERSION_1_0, VERSION_HEADER
from a2a.utils.errors import A2AError, VersionNotSupportedError
from starlette.authentication import AuthenticationBackend, AuthenticationError, BaseUser, UnauthenticatedUser
from starlette.requests import HTTPConnection
from typing_extensions import override

from tactician.errors import ConfigurationError, TacticianError
from tactician.loggers import get_logger
from tactician.serve.a2a.handler import TaskHandler
from tactician.serve.a2a.settings import A2aSettings, GrpcSettings
from tactician.serve.problems import ApiError

_logger = get_logger(__name__)
_Call: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_caller: ContextVar[BaseUser] = ContextVar("caller")
_CODES: Final[Mapping[int, grpc.StatusCode]] = {
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_FAILED: Final = "The server could not answer the call: its log says why."
_GRACE: Final = 1.0
"""Seconds in which calls may end when the server stops."""
_MOST_CALLS: Final = 1000
"""Number of calls at a time, streams among them."""


class GrpcContextBuilder(DefaultGrpcServerCallContextBuilder):
    """Builder of the context of a call, with the user whom the guard identified."""

    @override
    def build_user(self, context: _Call) -> User:
        return StarletteUser(_caller.get())


class CallGuard(grpc.aio.ServerInterceptor):
    """Guard in front of all calls.

    Args:
        servicer: describes errors of A2A.
        authentication: tells who calls; nobody is authenticated without it.
    """

    def __init__(self, servicer: GrpcHandler, authentication: AuthenticationBackend | None) -> None:
        self._servicer = servicer
        self._authentication = authentication

    @override
    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        reader, writer = handler.request_deserializer, handler.response_serializer
        if handler.unary_stream is not None:
            return grpc.unary_stream_rpc_method_handler(self._guard_stream(handler.unary_stream), reader, writer)
        assert handler.unary_unary is not None  # A2A has no streams of requests
        return grpc.unary_unary_rpc_method_handler(self._guard_call(handler.unary_unary), reader, writer)

    def _guard_call(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(request: object, call: _Call) -> object:
            try:
                await self._admit(call)
                return await answer(request, call)
            except Exception as error:
                await self._refuse(error, call)
                raise

        return guarded

    def _guard_stream(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(request: object, call: _Call) -> AsyncIterator[object]:
            try:
                await self._admit(call)
                async for event in answer(request, call):
                    yield event
            except Exception as error:
                await self._refuse(error, call)
                raise

        return guarded

    async def _admit(self, call: _Call) -> None:
        """Find out who calls.

        Raises:
            AuthenticationError: when the token is not valid.
            ApiError: when the caller may not call.
            VersionNotSupportedError: when the caller speaks another version of the protocol.
        """
        headers = [(name.encode(), _as_bytes(value)) for name, value in call.invocation_metadata() or ()]
        conn = HTTPConnection({"type": "http", "path": "/", "headers": headers, "client": _find_client(call.peer())})
        identity = None if self._authentication is None else await self._authentication.authenticate(conn)
        _caller.set(UnauthenticatedUser() if identity is None else identity[1])
        version = conn.headers.get(VERSION_HEADER, PROTOCOL_VERSION_1_0)
        if version.partition(".")[0] != PROTOCOL_VERSION_1_0.partition(".")[0]:
            raise VersionNotSupportedError(f"Version {version!r} of A2A is not available over gRPC: use 1.0.")

    async def _refuse(self, error: Exception, call: _Call) -> None:
        """End a call with the status that an error means; what the server did not foresee stays in its log."""
        match error:
            case grpc.aio.AbortError():
                return
            case A2AError():
                await self._servicer.abort_context(error, call)
            case ApiError():
                await call.abort(_CODES.get(error.status, grpc.StatusCode.UNAVAILABLE), str(error))
            case AuthenticationError():
                await call.abort(grpc.StatusCode.UNAUTHENTICATED, str(error))
            case TacticianError():
                _logger.warning("%s", error)
                await call.abort(grpc.StatusCode.INTERNAL, _FAILED)
            case _:
                _logger.exception("a call over gRPC failed")
                await call.abort(grpc.StatusCode.INTERNAL, _FAILED)


def _as_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _find_client(peer: str) -> tuple[str, int] | None:
    """Return the address of a peer such as `ipv4:127.0.0.1:50432` or `ipv6:%5B::1%5D:50432`."""
    kind, _, place = unquote(peer).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return None
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port)


class GrpcServer:
    """Server of A2A over gRPC.

    Args:
        handler: handler of the requests.
        settings: settings of the server.
        grpc: its settings of gRPC.

    Attributes:
        url: host and port at which clients reach it; empty until the server has a port.
    """

    def __init__(self, handler: TaskHandler, settings: A2aSettings, grpc: GrpcSettings) -> None:
        self._servicer = GrpcHandler(handler, GrpcContextBuilder())
        self._settings = settings
        self._grpc = grpc
        self.url = grpc.url or (_write_place(grpc.host, grpc.port) if grpc.port else "")

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Serve until the end.

        Raises:
            ConfigurationError: when the port or the certificate cannot be used.
        """
        server = grpc.aio.server(
            interceptors=[CallGuard(self._servicer, self._grpc.authentication)],
            maximum_concurrent_rpcs=_MOST_CALLS,
            options=[
                ("grpc.max_receive_message_length", self._settings.max_request_bytes),
                ("grpc.so_reuseport", 0),  # a port that another server has is an error
            ],
        )
        add_A2AServiceServicer_to_server(self._servicer, server)  # type: ignore[no-untyped-call]  # generated
        port = self._open_port(server)
        self.url = self._grpc.url or _write_place(self._grpc.host, port)
        await server.start()
        try:
            yield
        finally:
            await server.stop(_GRACE)

    def _open_port(self, server: grpc.aio.Server) -> int:
        place = _write_place(self._grpc.host, self._grpc.port)
        try:
            if self._grpc.certificate is None or self._grpc.key is None:
                return server.add_insecure_port(place)
            pair = (self._grpc.key.encode(), self._grpc.certificate.encode())
            return server.add_secure_port(place, grpc.ssl_server_credentials([pair]))
        except (RuntimeError, ValueError) as error:
            raise ConfigurationError(
                f"{place} cannot be used for gRPC: another program uses the port, or the certificate or its key is "
                "not valid."
            ) from error


def _write_place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
