"""Resources: texts and bytes that clients read by their URIs."""

from __future__ import annotations

import base64
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import mcp_types as types

from tactician.agents import BaseRunnable
from tactician.prompts import LlmReference
from tactician.runs import RunContext
from tactician.suggestions import suggest_options
from tactician.text import snake_case

Content: TypeAlias = str | bytes
_VARIABLE: Final = re.compile(r"\\\{(\w+)\\\}")


@suggest_options
@dataclass(frozen=True)
class McpResource:
    """Resource for clients: `McpResource("notes://today", read_notes)`.

    Attributes:
        uri: its address; with variables, as in `notes://{day}`, a template for several resources.
        read: function that returns the content, plain or `async`; it gets the variables by name.
        name: the name; the address by default.
        description: the description.
        mime_type: the media type of the content.
    """

    uri: str
    read: Callable[..., Content | Awaitable[Content]] = field(repr=False)
    name: str = ""
    description: str = ""
    mime_type: str = "text/plain"

    @property
    def is_template(self) -> bool:
        """True when the address has variables."""
        return "{" in self.uri

    @property
    def definition(self) -> types.Resource:
        """The resource as clients see it."""
        return types.Resource(
            uri=self.uri, name=self.name or self.uri, description=self.description or None, mime_type=self.mime_type
        )

    @property
    def template(self) -> types.ResourceTemplate:
        """The template as clients see it."""
        return types.ResourceTemplate(
            uri_template=self.uri,
            name=self.name or self.uri,
            description=self.description or None,
            mime_type=self.mime_type,
        )

    def match(self, uri: str) -> Mapping[str, str] | None:
        """Return the variables in an address; `None` when it is another's."""
        pattern = _VARIABLE.sub(r"(?P<\1>[^/]+)", re.escape(self.uri))
        match = re.fullmatch(pattern, uri)
        return None if match is None else match.groupdict()

    async def load(self, uri: str, variables: Mapping[str, str]) -> types.ReadResourceResult:
        """Return the content."""
        content = self.read(**variables)
        if isinstance(content, Awaitable):
            content = await content
        if isinstance(content, bytes):
            blob = base64.b64encode(content).decode("ascii")
            return types.ReadResourceResult(
                contents=[types.BlobResourceContents(uri=uri, blob=blob, mime_type=self.mime_type)]
            )
        text = types.TextResourceContents(uri=uri, text=content, mime_type=self.mime_type)
        return types.ReadResourceResult(contents=[text])


def describe_reference(reference: LlmReference) -> McpResource:
    """Return the resource of a reference: what it is, and its notes."""

    async def read() -> str:
        return await reference.contribute(RunContext.current())

    return McpResource(
        f"reference://{snake_case(reference.name)}",
        read,
        name=reference.name,
        description=reference.description,
    )


def describe_agent(agent: BaseRunnable[object]) -> McpResource:
    """Return the resource of an agent: its description, and its diagram."""

    def read() -> str:
        return f"# {agent.name}\n\n{agent.description}\n\n```mermaid\n{agent.to_mermaid()}\n```\n"

    return McpResource(
        f"tactician://agents/{snake_case(agent.name)}",
        read,
        name=agent.name,
        description=agent.description,
        mime_type="text/markdown",
    )
