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
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tactician.a2a import sign_card
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.skills import PublishedSkill

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


class CardSource:
    """Source of the card: it changes when other skills are published, and is signed again then.

    Args:
        url: address of the server.
        skills: returns the published skills by id.
        settings: settings of the server.
        clock: returns the time in seconds since the epoch.
        extended: returns the skills of the extended card; there is none, when `None`.
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
        self._unsigned = AgentCard()
        self._card = AgentCard()
        self._changed_at = clock()

    def get_skills(self, *, is_authenticated: bool) -> Mapping[str, PublishedSkill]:
        """Return the skills that a user may use, by id."""
        return self._extended() if self._extended is not None and is_authenticated else self._skills()

    def find_extended_card(self) -> AgentCard | None:
        """Return the extended card as it is now; `None` when there is none."""
        return None if self._extended is None else self._sign(self._create(self._extended()))

    def get_card(self) -> AgentCard:
        """Return the card as it is now."""
        card = self._create(self._skills())
        if card != self._unsigned:
            self._unsigned, self._card, self._changed_at = card, self._sign(card), self._clock()
        return self._card

    def create_route(self) -> Route:
        """Return the route of the card. The SDK adds an `ETag`, and what clients of version 0.3 read."""

        async def get_current(_: AgentCard) -> AgentCard:
            return self.get_card()

        settings = self._settings
        route = create_agent_card_routes(
            self.get_card(), get_current, cache_control=f"public, max-age={settings.max_age}"
        )[0]

        async def serve(request: Request) -> Response:
            response: Response = await route.endpoint(request)
            response.headers["Last-Modified"] = formatdate(self._changed_at, usegmt=True)
            return response

        return Route(route.path, serve, methods=["GET"])

    def _create(self, known: Mapping[str, PublishedSkill]) -> AgentCard:
        settings, skills, is_extended = self._settings, tuple(known.values()), self._extended is not None
        only = skills[0] if len(skills) == 1 else None
        return AgentCard(
            name=settings.name or (only.name if only is not None else "Tactician"),
            description=settings.description or (only.description if only is not None else "Agents that plan"),
            version=settings.version,
            supported_interfaces=self._list_interfaces(),
            capabilities=AgentCapabilities(
                streaming=True, push_notifications=True, extended_agent_card=is_extended or None
            ),
            security_schemes=_BEARER if is_extended or settings.needs_token else None,
            security_requirements=_NEEDS_BEARER if settings.needs_token else None,
            default_input_modes=INPUT_MODES,
            default_output_modes=OUTPUT_MODES,
            skills=list(map(_describe_skill, skills)),
        )

    def _list_interfaces(self) -> list[AgentInterface]:
        bindings = ((f"{self._url}/", TransportProtocol.JSONRPC), (self._url, TransportProtocol.HTTP_JSON))
        versions = [PROTOCOL_VERSION_1_0, *([PROTOCOL_VERSION_0_3] if self._settings.supports_v03 else [])]
        return [
            AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for version in versions
            for url, binding in bindings
        ]

    def _sign(self, card: AgentCard) -> AgentCard:
        if self._settings.signing_key is None:
            return card
        signed = AgentCard()
        signed.CopyFrom(card)
        return sign_card(signed, self._settings.signing_key, self._settings.key_id)


def _describe_skill(skill: PublishedSkill) -> AgentSkill:
    return AgentSkill(id=skill.id, name=skill.name, description=skill.description, tags=["agent"])
