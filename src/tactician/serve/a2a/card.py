"""Agent card of a server: made of what is published now, signed, and with headers for caches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Final

from a2a.server.routes import create_agent_card_routes
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import (
    AGENT_CARD_WELL_KNOWN_PATH,
    PROTOCOL_VERSION_0_3,
    PROTOCOL_VERSION_1_0,
    TransportProtocol,
)
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from tactician.a2a.cards import sign_card
from tactician.frozen import frozen
from tactician.serve.a2a.contexts import ENDPOINT
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.skills import PublishedSkill

CARD_PATH: Final = AGENT_CARD_WELL_KNOWN_PATH
INPUT_MODES: Final = (
    "text/plain",
    "text/markdown",
    "application/json",
    "application/pdf",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
)
_BEARER: Final = {"bearer": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))}
_NEEDS_BEARER: Final = (SecurityRequirement(schemes={"bearer": StringList()}),)
OUTPUT_MODES: Final = ("text/plain", "application/json")


@frozen
class _IssuedCard:
    unsigned: AgentCard
    card: AgentCard
    changed_at: float


class CardSource:
    """Source of the cards of the server and of each skill, which has an endpoint of its own.

    A card changes when other skills are published, and is signed again then.

    Args:
        url: address of the server.
        skills: returns the published skills by id.
        settings: settings of the server.
        clock: returns the time in seconds since the epoch.
        extended: returns the skills of the extended card; `None` for no extended card.

    Attributes:
        find_grpc_url: returns the host and the port of the gRPC server; empty without such a server.
    """

    def __init__(
        self,
        url: str,
        skills: Callable[[], Mapping[str, PublishedSkill]],
        settings: A2aSettings,
        clock: Callable[[], float],
        extended: Callable[[], Mapping[str, PublishedSkill]] | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._skills = skills
        self._settings = settings
        self._clock = clock
        self._extended = extended
        self.find_grpc_url: Callable[[], str] = str
        self._issued: dict[str, _IssuedCard] = {}

    def list_skills(self, endpoint: str, *, is_authenticated: bool) -> Mapping[str, PublishedSkill]:
        """Return the skills that a user may use at an endpoint, by id.

        Args:
            endpoint: id of the skill whose endpoint it is; empty for the server's endpoint.
            is_authenticated: true when it is known who the user is.
        """
        skills = self._extended() if self._extended is not None and is_authenticated else self._skills()
        return skills if not endpoint else {name: skill for name, skill in skills.items() if name == endpoint}

    def find_extended_card(self) -> AgentCard | None:
        """Return the extended card as it is now, or `None`."""
        return None if self._extended is None else self._sign(self._create(self._extended()))

    def get_card(self) -> AgentCard:
        """Return the card of the server as it is now."""
        return self._issue("", self._create(self._skills())).card

    async def serve(self, request: Request) -> Response:
        """Answer with the card of an endpoint. The SDK adds an `ETag`, and what clients of version 0.3 read."""
        endpoint = request.path_params.get(ENDPOINT, "")
        skills = self.list_skills(endpoint, is_authenticated=bool(endpoint) and is_authenticated(request.scope))
        issued = self._issue(endpoint, self._create(skills, endpoint))
        cache_control = f"public, max-age={self._settings.max_age}"
        route = create_agent_card_routes(issued.card, cache_control=cache_control)[0]
        response: Response = await route.endpoint(request)
        response.headers["Last-Modified"] = formatdate(issued.changed_at, usegmt=True)
        return response

    def _issue(self, endpoint: str, card: AgentCard) -> _IssuedCard:
        """Return the signed card of an endpoint, which stays the same as long as what it says does."""
        issued = self._issued.get(endpoint)
        if issued is None or issued.unsigned != card:
            issued = self._issued[endpoint] = _IssuedCard(card, self._sign(card), self._clock())
        return issued

    def _create(self, published: Mapping[str, PublishedSkill], endpoint: str = "") -> AgentCard:
        settings, skills = self._settings, tuple(published.values())
        is_extended = self._extended is not None and not endpoint
        needs_token = settings.needs_token or (bool(endpoint) and endpoint not in self._skills())
        only = skills[0] if len(skills) == 1 else None
        return AgentCard(
            name=(not endpoint and settings.name) or (only.name if only is not None else "Tactician"),
            description=(not endpoint and settings.description)
            or (only.description if only is not None else "Agents that plan"),
            version=settings.version,
            supported_interfaces=self._list_interfaces(endpoint),
            capabilities=AgentCapabilities(
                streaming=True, push_notifications=True, extended_agent_card=is_extended or None
            ),
            security_schemes=_BEARER if is_extended or needs_token else None,
            security_requirements=_NEEDS_BEARER if needs_token else None,
            default_input_modes=INPUT_MODES,
            default_output_modes=OUTPUT_MODES,
            skills=list(map(_describe_skill, skills)),
        )

    def _list_interfaces(self, endpoint: str) -> list[AgentInterface]:
        url = f"{self._url}/{endpoint}" if endpoint else self._url
        bindings = ((f"{url}/", TransportProtocol.JSONRPC), (url, TransportProtocol.HTTP_JSON))
        versions = [PROTOCOL_VERSION_1_0, *([PROTOCOL_VERSION_0_3] if self._settings.supports_v03 else [])]
        interfaces = [
            AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for version in versions
            for url, binding in bindings
        ]
        if place := self.find_grpc_url():  # which has no paths: the tenant is the skill
            interfaces.append(
                AgentInterface(
                    url=place,
                    protocol_binding=TransportProtocol.GRPC,
                    protocol_version=PROTOCOL_VERSION_1_0,
                    tenant=endpoint,
                )
            )
        return interfaces

    def _sign(self, card: AgentCard) -> AgentCard:
        if self._settings.signing_key is None:
            return card
        signed = AgentCard()
        signed.CopyFrom(card)
        return sign_card(signed, self._settings.signing_key, self._settings.key_id)


def is_authenticated(scope: Scope) -> bool:
    """Return whether it is known who has sent a request."""
    user = scope.get("user")
    return user is not None and bool(user.is_authenticated)


def _describe_skill(skill: PublishedSkill) -> AgentSkill:
    return AgentSkill(id=skill.id, name=skill.name, description=skill.description, tags=["agent"])
