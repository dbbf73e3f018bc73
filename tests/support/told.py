"""What scripted models were told."""

from __future__ import annotations

from tactician.llm.messages import SystemMessage
from tactician.testing import ScriptedModel


def told(model: ScriptedModel) -> list[str]:
    """The system message at the beginning of each request, where there is one."""
    first = (request.messages[0] for request in model.calls)
    return [message.text for message in first if isinstance(message, SystemMessage)]
