"""Options of servers of A2A on the command line, and in the table `[a2a]` of `tactician.toml`."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tactician.config.loading import load_settings
from tactician.config.settings import A2aTable
from tactician.errors import ConfigurationError
from tactician.listening import listen

if TYPE_CHECKING:
    from tactician.serve import A2aSettings, GrpcSettings

PrivatePush = Annotated[
    bool, typer.Option("--private-push", help="Send notifications of A2A tasks to private addresses too.")
]
GrpcPort = Annotated[
    int | None, typer.Option("--grpc-port", min=0, max=65535, help="Serve A2A over gRPC too, at this port.")
]


def create_a2a_settings(
    host: str,
    *,
    private_push: bool = False,
    grpc_port: int | None = None,
    name: str = "",
    key: Path | None = None,
    v03: bool = False,
    lets_callers_approve: bool = False,
) -> A2aSettings:
    """Return the settings of a server that options and `tactician.toml` describe.

    Args:
        host: address to listen at.
        private_push: true when the option allows notifications to private addresses.
        grpc_port: port of the option; the port in the file by default.
        name: name on the card.
        key: file with the private key that signs the card.
        v03: true to answer clients of version 0.3.
        lets_callers_approve: true when the other side may approve calls of tools.

    Raises:
        ConfigurationError: when a file cannot be read or used, or another program uses the port of gRPC.
    """
    from tactician.serve import A2aSettings

    table = load_settings().a2a
    return A2aSettings(
        name=name,
        signing_key=_read_pem(key, "signing key"),
        supports_v03=v03,
        lets_callers_approve=lets_callers_approve,
        allows_private_push=private_push or table.private_push,
        grpc=_create_grpc(host, table.grpc_port if grpc_port is None else grpc_port, table),
    )


def _create_grpc(host: str, port: int | None, table: A2aTable) -> GrpcSettings | None:
    if port is None:
        return None
    from tactician.serve import GrpcSettings

    if port:
        listen(host, port).close()  # a port that another program has is an error now
    certificate = _read_pem(table.grpc_certificate, "certificate")
    key = _read_pem(table.grpc_key, "key of the certificate")
    settings = GrpcSettings(host=host, port=port, url=table.grpc_url, certificate=certificate, key=key)
    if table.grpc_certificate is not None and table.grpc_key is not None:
        _check_certificate(table.grpc_certificate, table.grpc_key)
    return settings


def _check_certificate(certificate: str, key: str) -> None:
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise ConfigurationError(
            f"{certificate} and {key} cannot be used for gRPC: they have to be a certificate chain and its key, as PEM."
        ) from error


def _read_pem(path: Path | str | None, kind: str) -> str | None:
    try:
        return None if path is None else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: the {kind} cannot be read.") from error
