"""Settings of a server of A2A."""

from __future__ import annotations

from dataclasses import field

from starlette.authentication import AuthenticationBackend

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.runs.life.holding import DEFAULT_LEASE


@frozen(kw_only=True)
class GrpcSettings:
    """Settings of the gRPC endpoint of a server of A2A, which needs the extra `a2a-grpc`.

    Attributes:
        port: port; any free port, when 0.
        host: address to listen at.
        url: host and port at which clients reach it, such as `agents.example.com:443`; by default those above.
        certificate: certificate chain of the server, in PEM form: connections are encrypted.
        key: its private key, in PEM form.
        authentication: tells who calls by the metadata of a call, as headers: the backend of the middleware around the
            application. Without it, nobody is authenticated.

    Raises:
        ConfigurationError: when the port is out of range, or a certificate has no key, or a key no certificate.
    """

    port: int = 0
    host: str = "127.0.0.1"
    url: str | None = None
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    authentication: AuthenticationBackend | None = None

    def __post_init__(self) -> None:
        need_amount("GrpcSettings.port", self.port, most=65535, whole=True)
        if (self.certificate is None) != (self.key is None):
            raise ConfigurationError("GrpcSettings needs both a certificate and its key, or neither.")


@frozen(kw_only=True)
class A2aSettings:
    """Settings of a server of A2A.

    Attributes:
        name: name on the card; by default the name of the only skill.
        description: purpose on the card; by default the only skill's.
        version: version of the agent on the card.
        signing_key: private key of the curve P-256, in PEM form, that signs the card; no signature, when `None`.
        key_id: name of the key in the signature.
        supports_v03: true to answer clients of version 0.3 of the protocol too.
        lets_callers_approve: true when the other side may approve calls of tools here. Otherwise such a run waits for
            somebody of this program, while its task is `working`.
        allows_private_push: true to send notifications to private addresses.
        needs_token: true when the application around the server takes requests with a bearer token only: the card says
            so.
        grpc: settings of gRPC; no gRPC, when `None`.
        max_age: seconds for which clients may keep the card.
        max_request_bytes: bytes of a request.
        max_parallel: number of tasks at a time; others stay `submitted`.
        poll: seconds between two looks at tasks that continue in other processes.
        lease: seconds after which another server continues the tasks of a server that died.

    Raises:
        ConfigurationError: when a number is out of range.
    """

    name: str = ""
    description: str = ""
    version: str = "1.0.0"
    signing_key: str | None = field(default=None, repr=False)
    key_id: str = "tactician"
    supports_v03: bool = False
    lets_callers_approve: bool = False
    allows_private_push: bool = False
    needs_token: bool = False
    grpc: GrpcSettings | None = None
    max_age: int = 3600
    max_request_bytes: int = 10_000_000
    max_parallel: int = 100
    poll: float = 1.0
    lease: float = DEFAULT_LEASE

    def __post_init__(self) -> None:
        for name in ("max_age", "max_request_bytes", "max_parallel"):
            need_amount(f"A2aSettings.{name}", getattr(self, name), least=1, whole=True)
        for name in ("poll", "lease"):
            need_amount(f"A2aSettings.{name}", getattr(self, name), least=0.001)
