"""Prompts in Langfuse, over its public HTTP API (https://langfuse.com/docs/prompt-management)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.environment import read_environment
from tactician.errors import ConfigurationError
from tactician.llm.http import http_session, read_body
from tactician.prompts.variables import render_variables
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from aiohttp import ClientResponse

DEFAULT_HOST: Final = "https://cloud.langfuse.com"
_KEYS: Final = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
_HOSTS: Final = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")  # newer programs call it a base URL
_ASKED_FOR: Final = ("label", "version")
_PASSING: Final = (408, 429)
_MAX_PROMPT: Final = 2**20


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: str = ""
    content: str = ""  # a placeholder for other messages has neither


class _Prompt(BaseModel):
    model_config = ConfigDict(extra="ignore")
    prompt: str | tuple[_Message, ...]

    @property
    def text(self) -> str:
        """The instructions: the system messages, or all messages without these."""
        if isinstance(self.prompt, str):
            return self.prompt
        messages = [message for message in self.prompt if message.content]
        instructions = [message for message in messages if message.role in ("system", "developer")]
        return "\n\n".join(message.content for message in instructions or messages)


@suggest_options
class LangfusePrompts:
    """Prompts of a project in Langfuse, cached, and for longer while Langfuse does not answer.

    The filters `label` and `version` select a version of a prompt; the default is the version in production. Other
    filters are the values of its `{{variables}}`.

    Args:
        public_key: the project's public key.
        secret_key: its secret key. No `repr` and no error shows it.
        host: the address of Langfuse.
        seconds: time for which a prompt is cached.
        timeout: time limit of a request in seconds.
        clock: the time.

    Raises:
        ConfigurationError: when a key is empty, or the host is not an address.
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
        if not public_key or not secret_key:
            raise ConfigurationError(
                "Langfuse needs the public and the secret key of a project; at least one is empty."
            )
        self.host = _check_host(host)
        self._authorization = f"Basic {b64encode(f'{public_key}:{secret_key}'.encode(errors='replace')).decode()}"
        self._seconds = seconds
        self._timeout = timeout
        self._clock = clock
        self._templates: dict[tuple[str, ...], tuple[float, str]] = {}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Return the prompts of the project with `LANGFUSE_PUBLIC_KEY` and `LANGFUSE_SECRET_KEY`.

        `LANGFUSE_HOST`, or `LANGFUSE_BASE_URL`, is its address, unless it is in Langfuse's cloud.

        Raises:
            ConfigurationError: when a key is not set, or the host is not an address.
        """
        environment = read_environment(environment)
        keys = [environment.get(name, "").strip() for name in _KEYS]
        if missing := [name for name, key in zip(_KEYS, keys, strict=True) if not key]:
            raise ConfigurationError(
                f"Langfuse needs {' and '.join(missing)}: set what the settings of your project in Langfuse show."
            )
        hosts = [environment.get(name, "").strip() for name in _HOSTS]
        return cls(*keys, host=next(filter(None, hosts), DEFAULT_HOST))

    def __repr__(self) -> str:
        return f"LangfusePrompts({self.host!r})"

    async def get_prompt(self, name: str, filters: Mapping[str, str]) -> str:
        """Return the text of a prompt, with filters as values of its variables.

        Raises:
            ConfigurationError: when there is no such prompt, or Langfuse does not answer and never did.
            MissingPromptVariable: when a variable of the prompt has no value.
        """
        template = await self._load_template(name, _select_version(name, filters))
        values = {key: value for key, value in filters.items() if key not in _ASKED_FOR}
        return render_variables(template, values, agent_id=name, argument="filters")

    async def _load_template(self, name: str, filters: Mapping[str, str]) -> str:
        now, key = self._clock.monotonic(), (name, *filters, *filters.values())
        cached_template = self._templates.get(key)
        if cached_template is not None:
            if now - cached_template[0] < self._seconds:
                return cached_template[1]
            self._templates[key] = now, cached_template[1]  # while a run fetches it, others use the old prompt
        try:
            text = await self._fetch(name, filters)
        except ConnectionError as error:
            if cached_template is not None:
                return cached_template[1]
            raise ConfigurationError(f"The prompt {name!r} cannot be loaded from {self.host}: {error}.") from None
        except ConfigurationError:
            self._templates.pop(key, None)
            raise
        self._templates[key] = now, text
        return text

    async def _fetch(self, name: str, filters: Mapping[str, str]) -> str:
        from aiohttp import ClientError, ClientTimeout

        # Langfuse keeps prompts in folders, and takes a name with slashes as a single part of the path.
        url = f"{self.host}/api/public/v2/prompts/{quote(name, safe='', errors='replace')}"
        headers, timeout = {"Authorization": self._authorization}, ClientTimeout(total=self._timeout)
        try:
            session = await http_session()
            async with session.get(
                url, params=filters, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                return await self._read(response, name, filters)
        except TimeoutError:
            raise ConnectionError(f"no answer within {self._timeout:g} s") from None
        except ClientError as error:
            raise ConnectionError(str(error) or type(error).__name__) from None

    async def _read(self, response: ClientResponse, name: str, filters: Mapping[str, str]) -> str:
        if response.status >= 500 or response.status in _PASSING:
            raise ConnectionError(f"it answers {response.status}")
        if response.status != 200:
            raise ConfigurationError(self._describe_refusal(response.status, name, filters))
        try:
            return _Prompt.model_validate_json(await read_body(response, _MAX_PROMPT)).text
        except ValidationError:
            raise ConnectionError("its answer is not a prompt of Langfuse") from None

    def _describe_refusal(self, status: int, name: str, filters: Mapping[str, str]) -> str:
        if status in (401, 403):
            return f"{self.host} refuses the keys ({status}): check the public and the secret key of the project."
        which = " ".join(f"{key} {value!r}" for key, value in (filters or {"label": "production"}).items())
        if status == 404:
            return f"{self.host} has no prompt {name!r} with the {which}. Create it there, or ask for another."
        moved = "; redirects are not followed" if status < 400 else ""
        return f"{self.host} answers {status} when it is asked for the prompt {name!r} with the {which}{moved}."


def _select_version(name: str, filters: Mapping[str, str]) -> Mapping[str, str]:
    selected = {key: value for key in _ASKED_FOR if (value := filters.get(key))}
    if len(selected) > 1 or not selected.get("version", "1").isdecimal():
        raise ConfigurationError(
            f"Which version of the prompt {name!r} is meant? Say `label` or `version`, not both; a version is a number."
        )
    return selected


def _check_host(host: str) -> str:
    try:
        parts = urlsplit(host)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
        raise ConfigurationError(
            f"The host of Langfuse must be an address such as {DEFAULT_HOST}, without a name or a password in it."
        )
    return host.rstrip("/")
