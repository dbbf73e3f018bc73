"""Personalities of the log and the progress display: the same facts in the voices of well-known stories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tactician.errors import ConfigurationError
from tactician.events.span_facts import RunMoment
from tactician.frozen import frozen


@frozen
class Personality:
    """Phrases and colours of a voice. Names in braces are filled in.

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

    started: str = "{agent} towards {goals}"
    planned: str = "plan {plan}"
    acting: str = "{action}"
    acted: str = "{action}"
    failed: str = "{action}"
    waiting: str = "waiting"
    completed: str = "completed"
    ended: str = "{status}"
    accent: str = "cyan"
    good: str = "green"
    bad: str = "red"

    def phrase(self, moment: RunMoment) -> str:
        """Return the phrase for a moment."""
        template: str = getattr(self, moment.name)
        return template.format(**moment.values)


PLAIN: Final = Personality()

PERSONALITIES: Final[Mapping[str, Personality]] = {
    "plain": PLAIN,
    "starwars": Personality(
        started="{agent} leaves the hangar, course set for {goals}",
        planned="the rebel briefing: {plan}",
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
        started="{agent} steps out of the lift to refine {goals}",
        planned="the numbers suggest: {plan}",
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
        started="{agent} IS ONLINE. OBJECTIVE: {goals}",
        planned="COMPUTED, NOT DEBATED: {plan}",
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
        started="{agent} sticks out a thumb for {goals}",
        planned="the Guide, which is mostly right, says: {plan}",
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
        started="{agent} rides out, coconuts clapping, to seek {goals}",
        planned="and now for something quite planned: {plan}",
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


def get_personality(name: str) -> Personality:
    """Return the personality with a name.

    Raises:
        ConfigurationError: when no personality has the name.
    """
    if (personality := PERSONALITIES.get(name)) is None:
        raise ConfigurationError(f"There is no personality {name!r}. There are: {', '.join(PERSONALITIES)}.")
    return personality
