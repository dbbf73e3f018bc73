"""Matching of requests to a scripted model, for replies and for checks."""

from __future__ import annotations

from tactician.frozen import frozen
from tactician.llm import ModelRequest
from tactician.loop import output_type


@frozen
class RequestMatch:
    """Conditions on a request, all of which have to hold.

    Attributes:
        prompt_contains: a text in the prompt.
        wants: the type that the answer must be of; `str` for text.
        tool: the name of a tool that the model may call.
    """

    prompt_contains: str | None = None
    wants: type | None = None
    tool: str | None = None

    def fits(self, request: ModelRequest) -> bool:
        """Return whether the conditions hold for a request."""
        if self.prompt_contains is not None and self.prompt_contains not in request.prompt:
            return False
        if self.wants is not None and request.output != output_type(self.wants).spec:
            return False
        return self.tool is None or self.tool in [tool.name for tool in request.tools]

    def __str__(self) -> str:
        wants = None if self.wants is None else f"wants={getattr(self.wants, '__name__', self.wants)}"
        prompt = None if self.prompt_contains is None else f"prompt_contains={self.prompt_contains!r}"
        tool = None if self.tool is None else f"tool={self.tool!r}"
        return ", ".join(filter(None, (prompt, wants, tool))) or "any request"
