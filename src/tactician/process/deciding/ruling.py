"""Progress of a process with its rules, and the actions that they refuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tactician.errors import RuleRefusedError
from tactician.planning import UNKNOWN, Plan, WorldState
from tactician.planning.rules import Rule
from tactician.planning.ruling.progress import RuleBook, RuleProgress
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.deciding.observation import Observer
from tactician.process.state.state import REVIEW, ActionRun, ProcessState


async def read_rules(
    book: RuleBook, agent: PlannedAgentSpec, state: ProcessState, observer: Observer, now: float
) -> Ruling:
    """Read what has happened since the last decision, and return where the process stands.

    Args:
        book: the rules of the agent.
        agent: the agent.
        state: the state of the process, which keeps how far its rules were read.
        observer: observer of the world of now.
        now: seconds since the epoch.
    """
    world = await _observe(book, agent, observer)
    progress = _restore(book, agent, state)
    news = state.history[state.rules_read :]
    if progress is None:
        progress = book.begin(world if not news else None)
    progress = _read(progress, [run for run in news if has_succeeded(agent, run)], state, world)
    progress = _end_deadlines(progress, state, now)
    state.rules_read = len(state.history)
    state.rule_states = {str(ruled.rule): number for ruled, number in progress}
    return Ruling(progress, world)


async def _observe(book: RuleBook, agent: PlannedAgentSpec, observer: Observer) -> WorldState:
    """Return the world, with the conditions in the rules evaluated."""
    world = await observer.look()
    evaluated = {name: await observer.find_out(name) for name in book.conditions if name in agent.conditions}
    return world.with_({name: UNKNOWN if holds is None else holds for name, holds in evaluated.items()})


def has_succeeded(agent: PlannedAgentSpec, run: ActionRun) -> bool:
    """Return whether an action counts for rules: it raised nothing, and gave something if it declares to."""
    if run.action == REVIEW:
        return False
    specs = agent.find_actions([run.action])
    return run.error is None and (bool(run.outputs) or not any(spec.output_types for spec in specs))


def _restore(book: RuleBook, agent: PlannedAgentSpec, state: ProcessState) -> RuleProgress | None:
    """Return where the process stood at its last decision, from its checkpoint; `None` before the first."""
    if state.rule_states is None:
        return None
    saved = state.rule_states
    names = [run.action for run in state.history[: state.rules_read] if has_succeeded(agent, run)]
    replayed = book.replay(names, None)  # for a rule that is new since
    numbers = tuple(saved.get(str(ruled.rule), number) for ruled, number in replayed)
    return RuleProgress(book, numbers, is_beginning=not names)


def _read(progress: RuleProgress, runs: Sequence[ActionRun], state: ProcessState, world: WorldState) -> RuleProgress:
    if not runs:  # a person, a handler or an action that failed may have changed something
        return progress.after(None, None, world)
    for number, run in enumerate(runs, start=1):
        progress = _end_deadlines(progress, state, run.started_at + run.seconds)
        progress = progress.after(run.action, None, world if number == len(runs) else None)
    return progress


def _end_deadlines(progress: RuleProgress, state: ProcessState, now: float) -> RuleProgress:
    return progress.end_deadlines(state.rule_timers, now if state.history else state.began_at, now)


def explain_rules(book: RuleBook, agent: PlannedAgentSpec, state: ProcessState, world: WorldState) -> Iterator[str]:
    """Yield a sentence for each rule that keeps an action or a goal of a stuck process back."""
    if (progress := _restore(book, agent, state)) is None:
        return
    for rule in progress.broken:
        yield f"The rule {rule} is broken, so no action may start."
    refused = dict[Rule, list[str]]()
    for action in agent.actions if not progress.broken else ():
        for rule in progress.find_refusals(action.plan, world):
            refused.setdefault(rule, []).append(repr(action.name))
    for rule, names in refused.items():
        yield f"The rule {rule} keeps {' and '.join(names)} from running."
    for rule in progress.open:
        if rule not in progress.broken:
            yield f"The rule {rule} is not met yet."


class Ruling:
    """Judgement of the rules over the actions that may start now.

    Attributes:
        progress: where the process stands with its rules.
    """

    def __init__(self, progress: RuleProgress, world: WorldState) -> None:
        self.progress = progress
        self._world = world

    def follows(self, before: Ruling | None, plan: Plan) -> bool:
        """Return whether the rules stand where the first action of a plan was to lead, so that its rest is as good.

        Never with preferences: what they cost belongs to a whole plan.
        """
        if before is None or not plan.actions or any(ruled.rule.penalty is not None for ruled, _ in self.progress):
            return False
        expected = before.progress.after(plan.actions[0].name, None, self._world)
        return expected.book is self.progress.book and expected.states == self.progress.states

    def find_refusals(self, action: ActionSpec, running: Iterable[ActionSpec] = ()) -> list[Rule]:
        """Return the rules that an action would break, whether or not those that run succeed, and in any order."""
        return self.progress.find_refusals(action.plan, self._world, [each.name for each in running])

    def select(
        self, actions: Sequence[ActionSpec], running: Iterable[ActionSpec] = ()
    ) -> tuple[tuple[ActionSpec, ...], dict[str, list[Rule]]]:
        """Return the actions that may start, and the refused actions with the rules that refuse them."""
        begun, refused = list(running), dict[str, list[Rule]]()
        allowed = list[ActionSpec]()
        for action in actions:
            if rules := self.find_refusals(action, begun):
                refused[action.name] = rules
                continue
            allowed.append(action)
            begun.append(action)
        return tuple(allowed), refused


def create_refusal(action: str, rules: Iterable[Rule]) -> RuleRefusedError:
    """Return the error of an action that rules refuse."""
    texts = list(map(str, rules))
    kept = "the rule " + texts[0] if len(texts) == 1 else "the rules " + ", ".join(texts)
    return RuleRefusedError(f"{action!r} was not started, as it would break {kept}.", action, tuple(texts))
