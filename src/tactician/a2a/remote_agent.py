"""Agents of other programs as Runnables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import Unpack, override

from tactician.a2a.errors import RemoteCardError, RemoteUnavailableError
from tactician.a2a.settings import RemoteOptions, RemoteSettings, complete_url
from tactician.agents import BaseRunnable
from tactician.agents.remote import RemoteTask
from tactician.extras import require_extra
from tactician.runs import Input, RunContext, RunResult
from tactician.text import escape_controls

if TYPE_CHECKING:
    from a2a.types import AgentCard


class RemoteAgent(BaseRunnable[object]):
    """Agent of another program, which speaks A2A, as a Runnable.

    It fits wherever a Runnable does. When the other side asks for input, the run waits: the answer to its request is
    sent on, whenever it comes and whichever process resumes the run. When the run is cancelled or killed, so is the
    task. What the task costs is not known here: the cost of the run is `None`.

    Its output is text; data, when the other side answers with data; or a file. For another type, use
    `with_output_type`.

    Args:
        url: address of its card, or of its server; the card is loaded when it is first needed.
        name: name of the Runnable, under which its runs are kept.
        description: purpose of the agent.
        **options: see `RemoteOptions`.

    Raises:
        RemoteCardError: when the address is not valid.
        MissingExtraError: when the extra `a2a` is not installed.
    """

    def __init__(self, url: str, *, name: str, description: str = "", **options: Unpack[RemoteOptions]) -> None:
        with require_extra("a2a", "A2A needs"):
            from tactician.a2a import connection  # noqa: F401 - a missing extra is an error now
        self.name = name
        self.description = description
        self._settings = RemoteSettings(complete_url(url), **options)
        self._card: AgentCard | None = None

    @classmethod
    async def discover(cls, url: str, *, name: str | None = None, **options: Unpack[RemoteOptions]) -> RemoteAgent:
        """Load the card of an agent, and return the agent with the name and the description that are there.

        Args:
            url: address of the card, or of the server.
            name: name of the Runnable; that on the card by default.
            **options: see `RemoteOptions`.

        Raises:
            RemoteUnavailableError: when there is no card at the address.
            RemoteCardError: when the signature of the card is not valid, or it has no such skill.
        """
        agent = cls(url, name=name or "", **options)
        await agent._describe_itself()
        return agent

    @property
    def url(self) -> str:
        """Address of the card."""
        return self._settings.url

    @property
    def settings(self) -> RemoteSettings:
        """Address of the card, and the options."""
        return self._settings

    def __repr__(self) -> str:
        return f"RemoteAgent({self.name!r}, {self.url!r})"

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        from tactician.a2a.channel import A2aChannel

        card = await self._load_card()
        channel = A2aChannel(self.name, self._settings, card, context)
        try:
            return await RemoteTask(self.name, channel, context).run(input)
        except RemoteUnavailableError:
            self._card = None  # it may have moved
            raise

    async def _load_card(self) -> AgentCard:
        from tactician.a2a.connection import load_card

        if self._card is None:
            self._card = await load_card(self._settings)
        return self._card

    async def _describe_itself(self) -> None:
        """Take the name and the description from the card, or from the skill that is used."""
        card, skill_id = await self._load_card(), self._settings.skill
        skills = {skill.id: skill for skill in card.skills}
        if skill_id is None:
            lines = [f"- {skill.name}: {skill.description}" for skill in skills.values()]
            self._adopt(card.name, "\n".join([card.description, *lines]))
            return
        if skill_id not in skills:
            listed = escape_controls(", ".join(skills)) or "none"
            raise RemoteCardError(f"{self.url}: the agent has no skill {skill_id!r}; it has: {listed}")
        self._adopt(skills[skill_id].name, skills[skill_id].description)

    def _adopt(self, name: str, description: str) -> None:
        """Take a name and a description of another program, which command nothing on a terminal."""
        self.name, self.description = self.name or escape_controls(name), escape_controls(description)
