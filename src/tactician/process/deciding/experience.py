"""Experience with the actions of agents, from the histories of earlier processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tactician.frozen import frozen
from tactician.planning.forecast.experience import Experience, RunTrial
from tactician.process.state.state import REVIEW, ActionRun

_INTERRUPTED = "cancelled"


@frozen
class ActionTrial:
    """A run of an action as its history has it.

    Attributes:
        agent: name of the agent.
        action: name of the action.
        trial: its duration, its price, and whether it raised nothing.
        gave: True when it gave an object.
        models: the models that it called.
    """

    agent: str
    action: str
    trial: RunTrial
    gave: bool
    models: tuple[str, ...]


def list_trials(agent: str, history: Iterable[ActionRun]) -> Iterator[ActionTrial]:
    """Yield the runs of actions in a history, and in the histories of the processes inside it."""
    for run in history:
        if run.error != _INTERRUPTED and run.action != REVIEW:  # a person takes as long as a person takes
            usage = run.usage
            trial = RunTrial(run.started_at + run.seconds, run.seconds, usage.known_cost, run.error is None)
            yield ActionTrial(agent, run.action, trial, bool(run.outputs), tuple(run.tally.by_model))
        for child in run.children:
            yield from list_trials(child.agent, child.history)


class ExperienceTable:
    """Experience with actions, by their agents and names.

    Args:
        trials: runs of actions, in any order.
        now: the time from which their age counts; later runs do not count.

    Attributes:
        now: the same.
    """

    def __init__(self, trials: Iterable[ActionTrial], now: float) -> None:
        self.now = now
        self._trials: dict[tuple[str, str], list[ActionTrial]] = defaultdict(list)
        for trial in trials:
            if trial.trial.at <= now:
                self._trials[trial.agent, trial.action].append(trial)

    @property
    def size(self) -> int:
        """Number of runs of actions."""
        return sum(map(len, self._trials.values()))

    @property
    def names(self) -> list[tuple[str, str]]:
        """The agents and the names of all actions, in alphabetical order."""
        return sorted(self._trials)

    def find(self, action: str, agent: str | None = None) -> Experience:
        """Return the experience with an action of an agent; with all actions of this name, where that has never run."""
        own = [] if agent is None else self._trials.get((agent, action), [])
        trials = own or [each for (_, name), listed in self._trials.items() if name == action for each in listed]
        by_model: dict[str, list[ActionTrial]] = defaultdict(list)
        for trial in trials:
            for model in trial.models:
                by_model[model].append(trial)
        return Experience(
            self._judge(trials).trials,
            self.now,
            tuple((model, self._judge(listed)) for model, listed in sorted(by_model.items())),
        )

    def _judge(self, trials: Sequence[ActionTrial]) -> Experience:
        """Return the experience; a run without an object has failed, where other runs of the action gave any."""
        gives = any(trial.gave for trial in trials)
        judged = (
            RunTrial(each.trial.at, each.trial.seconds, each.trial.dollars, each.trial.succeeded and each.gave >= gives)
            for each in trials
        )
        return Experience.of(judged, self.now)
