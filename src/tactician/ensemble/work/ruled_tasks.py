"""Ensembles under rules: which of the rules hold for a run, and what is owed at its end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tactician.ensemble.values.errors import TaskFailedError
from tactician.ensemble.values.results import EnsembleResult
from tactician.ensemble.values.task_rules import TaskRules
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.planning.rules import Rule
from tactician.planning.ruling.calls import find_call_mistakes, select_rules
from tactician.runs import RunContext

_Run: TypeAlias = Callable[[TaskEnvironment, RunContext], Coroutine[object, object, EnsembleResult]]


@dataclass(frozen=True, slots=True)
class RuledTasks:
    """Tasks of an ensemble under rules.

    Attributes:
        ensemble: the name of the ensemble.
        rules: its rules.
        names: the ids of its tasks, and the roles to which its agents delegate.
    """

    ensemble: str
    rules: Sequence[Rule]
    names: Collection[str]

    def find_mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield the place and the description of each mistake in the rules."""
        for place, rule in enumerate(self.rules):
            for mistake in find_call_mistakes([rule], self.names, is_complete=True):
                yield f"rules[{place}]", mistake

    async def run(self, run: _Run, environment: TaskEnvironment, context: RunContext) -> EnsembleResult:
        """Run the ensemble under its rules, and those of the platform that speak of its tasks.

        Raises:
            TaskFailedError: when a task fails, would break a rule, or a rule asks for what no task has done.
        """
        rules = tuple(dict.fromkeys((*self.rules, *select_rules(context.services.rules, self.names))))
        if not rules:
            return await run(environment, context)
        ruling = TaskRules(rules, context, context.find(TaskRules))
        result = await run(environment, context.inside({TaskRules: ruling}))
        if owed := ruling.owed:
            message = f"{self.ensemble}: all tasks have ended, and these rules are not met: {', '.join(owed)}"
            completed = {output.task_id: output for output in result.task_outputs}
            raise TaskFailedError(message, result, completed, {}, result.skipped)
        return result
