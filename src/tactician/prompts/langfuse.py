"""Prompts in Langfuse, over its public HTTP API (https://langfuse.com/docs/prompt-management)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import ConfigurationError
from tactician.llm import http_session
from tactician.prompts.variables import rendered

if TYPE_CHECKING:
    from aiohttp import ClientResponse

DEFAULT_HOST: Final = "https://cloud.langfuse.com"
_ASKED_FOR: Final = ("label", "version")


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: str = "system"
    content: str = ""


class _Prompt(BaseModel):
    model_config = ConfigDict(extra="ignore")
    prompt: str | tuple[_Message, ...]

    @property
    def text(self) -> str:
        """What instructions there are: those of the system, or all that is said where it says nothing."""
        if isinstance(self.prompt, str):
            return self.prompt
        told = [one.content for one in self.prompt if one.role in ("system", "developer")]
        return "\n\n".join(told or [one.content for one in self.prompt])


class LangfusePrompts:
    """The prompts of a project in Langfuse. What was read is used for a while, longer while Langfuse does not answer.

    The filters `label` and `version` say which version of a prompt is meant: that in production, without them. Other
    filters stand in the place of its `{{variables}}`.

    Args:
        public_key: the project's public key.
        secret_key: its secret key. No `repr` and no error shows it.
        host: where Langfuse is.
        seconds: for how long what was read is used without asking again.
        timeout: seconds for a request.
        clock: the time.
    """

    def __init__(
        self,
        public_key: str,
        secret_key: str,
        *,
        host: str = DEFAULT_HOST,
        seconds: float = 60.0,
        timeout: float = 10.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.host = host.rstrip("/")
        self._keys = public_key, secret_key
        self._seconds = seconds
        self._timeout = timeout
        self._clock = clock
        self._known: dict[tuple[str, str, str], tuple[float, str]] = {}

    def __repr__(self) -> str:
        return f"LangfusePrompts({self.host!r})"

    async def prompt(self, name: str, filters: Mapping[str, str]) -> str:
        """The text of a prompt, with filters in the place of its variables.

        Raises:
            ConfigurationError: when there is no such prompt, or Langfuse does not answer and never did.
            MissingPromptVariable: when a variable of the prompt has no value.
        """
        template = await self._template(name, *(filters.get(one, "") for one in _ASKED_FOR))
        return rendered(template, {k: v for k, v in filters.items() if k not in _ASKED_FOR}, agent_id=name)

    async def _template(self, name: str, label: str, version: str) -> str:
        now, key = self._clock.now(), (name, label, version)
        known = self._known.get(key)
        if known is not None and now - known[0] < self._seconds:
            return known[1]
        try:
            text = await self._asked(name, label, version)
        except ConnectionError as error:
            if known is None:
                raise ConfigurationError(f"The prompt {name!r} cannot be had from {self.host}: {error}.") from error
            text = known[1]  # an old prompt is better than none
        self._known[key] = now, text
        return text

    async def _asked(self, name: str, label: str, version: str) -> str:
        from aiohttp import BasicAuth, ClientError, ClientTimeout

        url = f"{self.host}/api/public/v2/prompts/{quote(name, safe='')}"
        wanted = {key: value for key, value in zip(_ASKED_FOR, (label, version), strict=True) if value}
        auth, timeout = BasicAuth(*self._keys), ClientTimeout(total=self._timeout)
        try:
            session = await http_session()
            async with session.get(url, params=wanted, auth=auth, timeout=timeout) as response:
                return await self._read(response, name, wanted)
        except (ClientError, TimeoutError) as error:
            raise ConnectionError(str(error) or type(error).__name__) from error

    async def _read(self, response: ClientResponse, name: str, wanted: Mapping[str, str]) -> str:
        if response.status >= 500 or response.status == 429:
            raise ConnectionError(f"it answers {response.status}")
        if response.status != 200:
            raise ConfigurationError(self._refusal(response.status, name, wanted))
        try:
            return _Prompt.model_validate_json(await response.read()).text
        except ValidationError as error:
            raise ConfigurationError(f"{self.host} does not answer as Langfuse does: no prompt in it.") from error

    def _refusal(self, status: int, name: str, wanted: Mapping[str, str]) -> str:
        if status in (401, 403):
            return f"{self.host} refuses the keys ({status}): check the public and the secret key of the project."
        which = f" with {', '.join(f'{key} {value!r}' for key, value in wanted.items())}" if wanted else ""
        if status == 404:
            return f"{self.host} has no prompt {name!r}{which}."
        return f"{self.host} answers {status} when it is asked for the prompt {name!r}{which}."
