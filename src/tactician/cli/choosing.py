"""Choice of the agent that a request is for, by a model."""

from __future__ import annotations

from collections.abc import Iterable

from rich.markup import escape

from tactician.agents.planned.components import ComponentAgent
from tactician.cli.console import err
from tactician.cli.formatting import shorten
from tactician.config.loading import load_settings
from tactician.errors import AgentNotFoundError, ConfigurationError
from tactician.llm import ModelCatalog
from tactician.platform import Autonomy, Platform
from tactician.platform.autonomy import AgentChoice, Mode
from tactician.runs import Runnable

EMBEDDED = "local"
_ADVICE = (
    "{subject} several agents: {names}. Choose with --agent NAME. With a key such as OPENAI_API_KEY, a model "
    "chooses by what is asked."
)


async def choose_by_request(platform: Platform, request: str, subject: str, mode: Mode = "closed") -> Runnable:
    """Let a model choose an agent or a goal for a request, and say which.

    Args:
        platform: the platform with the agents.
        request: the request.
        subject: beginning of the error, such as `"agents.py has"`.
        mode: `"closed"` to choose an agent, `"open"` to choose a goal.

    Raises:
        AgentNotFoundError: when there is no model that can choose.
        NoAgentFitsError: when the model is not sure enough.
    """
    if not can_rank(platform):
        raise AgentNotFoundError(_ADVICE.format(subject=subject, names=_join(platform.candidates)))
    choice = await Autonomy(platform).choose(request, mode=mode)
    print_choice(choice)
    return choice.agent


def find_only_agent(platform: Platform) -> Runnable | None:
    """Return the only agent; where there are only components, all that they can do together; else `None`."""
    candidates = platform.candidates
    if len(candidates) == 1:
        return next(iter(candidates.values()))
    return platform.as_agent() if all(isinstance(agent, ComponentAgent) for agent in candidates.values()) else None


def can_rank(platform: Platform) -> bool:
    """Return whether there is a model that can choose among agents. The embedded model is too small for that."""
    models = platform.services.models
    if not isinstance(models, ModelCatalog) or load_settings().platform.ranking.model is not None:
        return True
    return find_default_model(models) not in (None, EMBEDDED)


def find_default_model(models: ModelCatalog) -> str | None:
    """Return the name of the default model; `None` when there is no model."""
    try:
        return models.default[0]
    except ConfigurationError:
        return None


def print_choice(choice: AgentChoice) -> None:
    """Print what was chosen, how sure the model is, and why."""
    best = choice.best
    why = escape(f"{best.confidence:.2f}: {shorten(best.reason)}" if best.reason else f"{best.confidence:.2f}")
    err.print(f"[dim]chosen[/dim] [bold]{escape(best.name)}[/bold] [dim]{why}[/dim]", soft_wrap=True, highlight=False)


def _join(names: Iterable[str]) -> str:
    return ", ".join(names)
