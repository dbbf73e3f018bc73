"""Agents of other programs as Runnables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from typing_extensions import override

from tactician.a2a.extra import require_a2a
from tactician.agents import BaseRunnable
from tactician.runs import Input, RunContext, RunResult

if TYPE_CHECKING:
    from a2a.types import AgentCard


class RemoteAgent(BaseRunnable[object]):
    """Agent of another program, which speaks A2A, as a Runnable.

    It fits wherever a Runnable does. When the other side asks for input, the run waits: the answer to its request is
    sent on, whenever it comes and whichever process resumes the run. When the run is cancelled or killed, so is the
    task. What the task costs is not known here: the cost of the run is `None`.

    Its output is text; data, when the other side answers with data; or a file. For a type of one's own, use
    `with_output_type`.

    Args:
        url: address of its card, or of its server; the card is loaded when it is first needed.
        name: name of the Runnable; a name that is stored with runs.
        description: purpose of the agent.
        skill: id of the skill to use, where a Tactician server offers several.
        headers: headers of each request to the origin of the address, such as `{"Authorization": "Bearer ..."}`.
        verify_key: public key, in PEM form, that the card has to be signed with; no check by default.
        timeout: seconds that the task may take, without the time in which it waits for input.
        idle: seconds without a byte after which a connection is given up, and the task is looked up again.
        max_bytes: bytes of a response, and of all parts of the result.
        allow_private: true to reach private addresses that the card names. The address itself may be private.

    Raises:
        RemoteCardError: when the address is not valid.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        description: str = "",
        skill: str | None = None,
        headers: Mapping[str, str] | None = None,
        verify_key: str | None = None,
        timeout: float = 600.0,
        idle: float = 60.0,
        max_bytes: int = 20_000_000,
        allow_private: bool = False,
    ) -> None:
        with require_a2a():
            from tactician.a2a.connection import RemoteSettings, complete_url
        self.name = name
        self.description = description
        self.skill = skill
        self.timeout = timeout
        self._settings = RemoteSettings(complete_url(url), headers or {}, verify_key, idle, max_bytes, allow_private)
        self._card: AgentCard | None = None

    @classmethod
    async def discover(
        cls,
        url: str,
        *,
        name: str | None = None,
        skill: str | None = None,
        headers: Mapping[str, str] | None = None,
        verify_key: str | None = None,
        timeout: float = 600.0,
        idle: float = 60.0,
        max_bytes: int = 20_000_000,
        allow_private: bool = False,
    ) -> RemoteAgent:
        """Load the card of an agent, and return the agent with the name and the description that are there.

        Raises:
            RemoteUnavailableError: when there is no card at the address.
            RemoteCardError: when the signature of the card is not valid, or it has no such skill.
        """
        agent = cls(
            url,
            name=name or "",
            skill=skill,
            headers=headers,
            verify_key=verify_key,
            timeout=timeout,
            idle=idle,
            max_bytes=max_bytes,
            allow_private=allow_private,
        )
        await agent._describe_itself()
        return agent

    @property
    def url(self) -> str:
        """Address of the card."""
        return self._settings.url

    def __repr__(self) -> str:
        return f"RemoteAgent({self.name!r}, {self.url!r})"

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        from tactician.a2a.remote_task import RemoteTask

        card = await self._load_card()
        return await RemoteTask(self.name, self._settings, card, context).run(input, self.skill, self.timeout)

    async def _load_card(self) -> AgentCard:
        from tactician.a2a.connection import load_card

        if self._card is None:
            self._card = await load_card(self._settings)
        return self._card

    async def _describe_itself(self) -> None:
        from tactician.a2a.errors import RemoteCardError

        card = await self._load_card()
        skills = {skill.id: skill for skill in card.skills}
        if self.skill is not None and self.skill not in skills:
            known = ", ".join(skills) or "none"
            raise RemoteCardError(f"{self.url}: the agent has no skill {self.skill!r}; it has: {known}")
        chosen = None if self.skill is None else skills[self.skill]
        self.name = self.name or card.name if chosen is None else self.name or chosen.name
        lines = [f"- {skill.name}: {skill.description}" for skill in skills.values()]
        self.description = "\n".join([card.description, *lines]) if chosen is None else chosen.description

