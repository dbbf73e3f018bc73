"""Rules over the tasks and the delegations in a run of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from tactician.ensemble.values.task_output import TaskOutput
from tactician.errors import RuleRefusedError
from tactician.runs import RunContext

if TYPE_CHECKING:
    from tactician.planning.rules import Rule

Complete: TypeAlias = Callable[[TaskOutput], None]
"""Function that notes that a task has succeeded, before its output is saved."""


class TaskRules:
    """Rules of an ensemble, which runs inside it find; what the run has done is kept in its checkpoint.

    Args:
        rules: the rules.
        context: the context of the run of the ensemble.
        outer: the rules of the ensemble around it, if any, which hold too.
    """

    __slots__ = ("_context", "_guard", "_outer", "_values")

    def __init__(self, rules: tuple[Rule, ...], context: RunContext, outer: TaskRules | None) -> None:
        from tactician.planning.ruling.calls import RuleGuard

        assert context.checkpoint is not None
        saved = context.checkpoint.data.get("rules")
        self._context = context
        self._guard = RuleGuard(rules, context.clock.time(), saved if isinstance(saved, dict) else None)
        self._outer = outer
        self._values: dict[str, object] = {}

    def find_objection(self, name: str) -> str | None:
        """Return why a task, or a delegation to a role, may not start now."""
        rules = self._find_refusals(name)
        return f"it would break {_list_rules(rules)}" if rules else None

    def check(self, name: str) -> None:
        """Check that a task may start.

        Raises:
            RuleRefusedError: when it would break a rule.
        """
        if rules := self._find_refusals(name):
            message = f"task {name!r} was not started, as it would break {_list_rules(rules)}"
            raise RuleRefusedError(message, name, tuple(map(str, rules)))

    @contextmanager
    def observe(self, name: str) -> Iterator[Complete]:
        """Note that a task runs during the `with` block, and give the function that notes its success."""
        outputs = list[TaskOutput]()

        def complete(output: TaskOutput) -> None:
            outputs.append(output)
            self.note_output(name, output)
            self._end(name, has_succeeded=True)

        self._start(name)
        try:
            yield complete
        finally:
            if not outputs:
                self._end(name, has_succeeded=False)

    def note_output(self, name: str, output: TaskOutput) -> None:
        """Note the output of a task, for conditions."""
        self._values[name] = output.raw if output.parsed is None else output.parsed
        if self._outer is not None:
            self._outer.note_output(name, output)

    @property
    def owed(self) -> tuple[str, ...]:
        """The rules of the ensemble that are not met."""
        return tuple(map(str, self._guard.find_owed(self._context.clock.time())))

    def _find_refusals(self, name: str) -> list[Rule]:
        own = self._guard.find_refusals(name, self._values, (), self._context.clock.time())
        return own if self._outer is None else [*own, *self._outer._find_refusals(name)]

    def _start(self, name: str) -> None:
        self._guard.start(name)
        if self._outer is not None:
            self._outer._start(name)

    def _end(self, name: str, *, has_succeeded: bool) -> None:
        assert self._context.checkpoint is not None
        self._guard.end(name, self._context.clock.time(), has_succeeded=has_succeeded)
        if has_succeeded:
            self._context.checkpoint.set(rules=self._guard.to_data())
        if self._outer is not None:
            self._outer._end(name, has_succeeded=has_succeeded)


@contextmanager
def observe_task(name: str, context: RunContext) -> Iterator[Complete]:
    """Note that a task runs during the `with` block, where an ensemble has rules."""
    if (rules := context.find(TaskRules)) is None:
        yield lambda output: None
        return
    with rules.observe(name) as complete:
        yield complete


def _list_rules(rules: list[Rule]) -> str:
    return f"the {'rule' if len(rules) == 1 else 'rules'} {', '.join(map(str, rules))}"
