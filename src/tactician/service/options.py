"""Options of requests to agents and to models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tactician.llm import LlmOptions
from tactician.platform.conversations.request import RequestOptions
from tactician.tools.toolbox import ToolLike


class AgentOptions(RequestOptions, total=False):
    """Options of a request to an agent.

    Attributes:
        variables: the values of the `{{variables}}` in its instructions.
    """

    variables: Mapping[str, object]


class ModelOptions(RequestOptions, total=False):
    """Options of a request to a model.

    Attributes:
        instructions: what it has to know and do.
        tools: what it may use.
        web_search, code_interpreter: tools that the provider runs itself.
        temperature, max_tokens, reasoning_effort, timeout, instances: see `LlmOptions`.
    """

    instructions: str
    tools: Sequence[ToolLike]
    web_search: bool
    code_interpreter: bool
    temperature: float | None
    max_tokens: int | None
    reasoning_effort: str | None
    timeout: float | None
    instances: Sequence[str]


def model_options(model: str, options: ModelOptions) -> LlmOptions:
    """Return the options of the model itself."""
    native = (("web_search", options.get("web_search")), ("code_interpreter", options.get("code_interpreter")))
    return LlmOptions(
        model=model,
        temperature=options.get("temperature"),
        max_tokens=options.get("max_tokens"),
        reasoning_effort=options.get("reasoning_effort"),
        timeout=options.get("timeout"),
        native_tools=tuple(name for name, is_enabled in native if is_enabled),
        instances=tuple(options.get("instances") or ()),
    )
