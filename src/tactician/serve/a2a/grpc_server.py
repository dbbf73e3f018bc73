"""Server of A2A over gRPC: the same requests as over HTTP, with the same users."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import grpc
from a2a.server.request_handlers import GrpcHandler
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server

from tactician.errors import ConfigurationError
from tactician.serve.a2a.grpc_calls import CallGuard, GrpcContextBuilder
from tactician.serve.a2a.handler import TaskHandler
from tactician.serve.a2a.settings import A2aSettings, GrpcSettings

_GRACE: Final = 1.0
"""Seconds in which calls may end when the server stops."""
_MOST_CALLS: Final = 1000
"""Number of calls at a time, streams among them."""


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
