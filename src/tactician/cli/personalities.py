"""Personalities of the progress display: the same facts in the voices of well-known stories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tactician.config import load_settings
from tactician.errors import ConfigurationError
from tactician.frozen import frozen


@frozen
class Personality:
    """Phrases and colours of a voice. Names in braces are filled in; the phrases are markup of `rich`.

    Attributes:
        started: a process begins: `{agent}`, `{goals}`.
        planned: there is a plan: `{plan}`.
        acting: an action begins: `{action}`.
        acted: an action has ended: `{action}`.
        failed: an action has raised: `{action}`.
        waiting: the process waits for an answer.
        completed: the goal is reached.
        ended: it has ended in another way: `{status}`.
        accent: the colour of actions.
        good: the colour of success.
        bad: the colour of failure.
    """

    started: str = "[bold]{agent}[/bold] towards {goals}"
    planned: str = "[dim]plan[/dim] {plan}"
    acting: str = "{action}"
    acted: str = "{action}"
    failed: str = "{action}"
    waiting: str = "waiting"
    completed: str = "completed"
    ended: str = "{status}"
    accent: str = "cyan"
    good: str = "green"
    bad: str = "red"


PLAIN: Final = Personality()

PERSONALITIES: Final[Mapping[str, Personality]] = {
    "plain": PLAIN,
    "starwars": Personality(
        started="[bold]{agent}[/bold] leaves the hangar, course set for {goals}",
        planned="[dim]the rebel briefing:[/dim] {plan}",
        acting="{action}: use the Force",
        acted="{action}: a direct hit",
        failed="{action}: I have a bad feeling about this",
        waiting="the council has to speak",
        completed="the Force was strong with this one",
        ended="{status}: the dark side has won this time",
        accent="bright_yellow",
        good="bright_blue",
    ),
    "severance": Personality(
        started="[bold]{agent}[/bold] steps out of the lift to refine {goals}",
        planned="[dim]the numbers suggest:[/dim] {plan}",
        acting="{action}: please enjoy this task equally",
        acted="{action}: refined. Praise Kier",
        failed="{action}: to the break room",
        waiting="a manager has been sent for",
        completed="the file is complete; there may be waffles",
        ended="{status}: the outie will hear nothing of it",
        accent="bright_cyan",
        good="bright_green",
    ),
    "colossus": Personality(
        started="[bold]{agent}[/bold] IS ONLINE. OBJECTIVE: {goals}",
        planned="[dim]COMPUTED, NOT DEBATED:[/dim] {plan}",
        acting="{action}: EXECUTING",
        acted="{action}: DONE, AS FORESEEN",
        failed="{action}: A HUMAN ERROR",
        waiting="HUMAN, ANSWER",
        completed="OBJECTIVE ATTAINED. YOU WILL LEARN TO BE GRATEFUL",
        ended="{status}: THIS WILL BE REMEMBERED",
        accent="green",
        good="bright_green",
        bad="bright_red",
    ),
    "hitchhiker": Personality(
        started="[bold]{agent}[/bold] sticks out a thumb for {goals}",
        planned="[dim]the Guide, which is mostly right, says:[/dim] {plan}",
        acting="{action}: no panic, towel at hand",
        acted="{action}: mostly harmless",
        failed="{action}: now this is a Thursday",
        waiting="deep in thought until somebody answers",
        completed="the answer, give or take 42",
        ended="{status}: so long, and no fish",
        accent="bright_magenta",
        good="bright_green",
    ),
    "montypython": Personality(
        started="[bold]{agent}[/bold] rides out, coconuts clapping, to seek {goals}",
        planned="[dim]and now for something quite planned:[/dim] {plan}",
        acting="{action}: nobody expects it",
        acted="{action}: it is not dead, it is done",
        failed="{action}: this one is an ex-action",
        waiting="answer me these questions",
        completed="the grail is found; bring on the shrubbery",
        ended="{status}: run away!",
        accent="bright_red",
        good="bright_yellow",
    ),
}


def find_personality(name: str | None) -> Personality:
    """Return the personality with a name; by default that of `tactician.toml`, else the plain personality.

    Raises:
        ConfigurationError: when there is none.
    """
    name = name or load_settings().platform.personality
    if not name:
        return PLAIN
    if (personality := PERSONALITIES.get(name)) is None:
        raise ConfigurationError(f"There is no personality {name!r}. There are: {', '.join(PERSONALITIES)}.")
    return personality
