"""Planned agents that a model supervises: a single action, in which the model calls the others as tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json

from tactician.agents.supervision.curried_action import CurriedAction, SupervisionState, describe_type
from tactician.errors import GoalNotReachedError, ToolError
from tactician.llm import ModelLike, UserMessage
from tactician.llm.model import OutputSpec
from tactician.loop import output_type
from tactician.loop.endings import Answer
from tactician.loop.policy import TurnPolicy
from tactician.loop.turns import TurnLoop
from tactician.planning import Action, AStarPlanner, Goal
from tactician.process import ActionRetryPolicy, OperationContext
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.board.looks import IsSet
from tactician.process.objects import DEFAULT_BINDING
from tactician.process.state.goals import GoalSpec
from tactician.runs import TurnLimitError
from tactician.text import snake_case
from tactician.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from tactician.planning.rules import Rule

_MOST_NUDGES: Final = 2


class PersistentEnding:
    """Ending that returns the reply to the model while work remains, at most twice in a row.

    Args:
        left: function that describes the remaining work; `None` when nothing remains or can be done.
        done: function that counts the finished work.
    """

    instructions = ""
    spec: OutputSpec | None = None

    def __init__(self, left: Callable[[], str | None], done: Callable[[], int]) -> None:
        self.nudge = ""
        self._describe_remaining_work = left
        self._done = done
        self._nudges = 0
        self._done_then = -1

    def tools(self, agent_tools: Toolbox) -> Toolbox:
        """Return the tools that the model has."""
        return agent_tools

    def answer(self, text: str) -> Answer[str] | None:
        """Return the answer in a reply; `None` when the model has to continue."""
        if (done := self._done()) != self._done_then:
            self._nudges, self._done_then = 0, done
        if self._nudges >= _MOST_NUDGES or (left := self._describe_remaining_work()) is None:
            return Answer(text)
        self._nudges += 1
        self.nudge = left
        return None


DEFAULT_SUPERVISOR_ROUNDS: Final = 10
LEADER: Final = "supervise"
_RAN: Final = f"ran {LEADER}"
_INSTRUCTIONS: Final = """You lead the work towards a goal. Call tools until the goal is reached.
What a tool gives is kept, and goes to every tool that needs it: pass only the arguments that a tool asks for.
Tools that are READY can be called at once, also several together. One that is NOT READY says what it needs first."""


def supervise(
    spec: PlannedAgentSpec,
    *,
    model: ModelLike | None = None,
    max_rounds: int = DEFAULT_SUPERVISOR_ROUNDS,
    instructions: str = "",
) -> PlannedAgentSpec:
    """Return the agent with a model as its supervisor instead of a planner.

    The model sees the actions as tools, with the types that they take and give, and what is on the blackboard. Its
    tools are created again before each of its turns: ready ones come first. Calling the action of a goal ends
    the work; when the model stops before that, the action runs nevertheless if possible. A process fails when no goal
    is reached.

    Args:
        spec: what it can do.
        model: the supervising model; the default model of the platform, when `None`.
        max_rounds: number of turns in which the model may call tools.
        instructions: further instructions for the model.
    """
    effects = dict.fromkeys((_RAN, *map(_name_reached_condition, spec.goals)), True)
    leading = _create_supervisor_action(_Supervisor(spec, model, max_rounds, instructions), effects)
    goals = tuple(replace(g, plan=Goal(g.name, {_name_reached_condition(g): True}, g.plan.value)) for g in spec.goals)
    return replace(
        spec,
        actions=(*spec.actions, leading),
        goals=goals,
        observations={**spec.observations, **{name: IsSet(name) for name in effects}},
        conditions={name: spec.conditions[name] for name in spec.rule_conditions if name in spec.conditions},
        prices={},
        states=(),  # its leader is there in all of them
        planner=AStarPlanner(),
        refresher=None,  # it would read the agent without its leader
        rule_reader=None if spec.rule_reader is None else partial(_read_again, spec),
    )


def _read_again(inner: PlannedAgentSpec, spec: PlannedAgentSpec, rules: tuple[Rule, ...]) -> PlannedAgentSpec:
    """Return a supervised agent under other rules."""
    assert inner.rule_reader is not None
    fresh = inner.rule_reader(inner, rules)
    conditions = {name: fresh.conditions[name] for name in fresh.rule_conditions if name in fresh.conditions}
    observations = {**fresh.observations, **spec.observations}
    return replace(spec, rule_book=fresh.rule_book, conditions=conditions, observations=observations)


def _create_supervisor_action(lead: _Supervisor, effects: Mapping[str, bool]) -> ActionSpec:
    return ActionSpec(
        Action(LEADER, {_RAN: False}, effects),
        "Lets a model lead",
        lead.perform,
        needs=(),
        gives=(),
        output_types=(),
        output_binding=DEFAULT_BINDING,
        sets=(),
        condition_ran=_RAN,
        retry=ActionRetryPolicy(attempts=1),
        leads=True,
    )


class _Supervisor:
    """The single action of a supervised agent."""

    def __init__(self, spec: PlannedAgentSpec, model: ModelLike | None, max_rounds: int, instructions: str) -> None:
        self._spec = spec
        self._model = model
        self._policy = TurnPolicy(max_turns=max_rounds)
        self._instructions = "\n".join(filter(None, (_INSTRUCTIONS, instructions)))
        self._names = _list_tool_names(spec.actions)

    async def perform(self, context: OperationContext) -> None:
        """Let the model call actions until a goal is reached.

        Raises:
            GoalNotReachedError: when none is.
        """
        situation = SupervisionState(self._spec, self._names, context)
        message = await self._run_model(situation, LEADER, _describe_task(context))
        goal = _find_reached_goal(context) or await self._finish_goal(situation)
        for number in range(_MOST_NUDGES):
            if goal is None or not (owed := await context.process.list_owed_rules()):
                break
            task = f"The goal is reached, but these rules are not met yet: {', '.join(owed)}. Call what they ask for."
            message = await self._run_model(situation, f"{LEADER} {number + 2}", task)
        if goal is not None and (owed := await context.process.list_owed_rules()):
            raise GoalNotReachedError(
                f"The rules {', '.join(owed)} are not met. In the end, the supervisor said: {message}"
            )
        if goal is None:
            raise GoalNotReachedError(
                f"{self._describe_obstacles(situation)} In the end, the supervisor said: {message}"
            )
        context.blackboard.set_condition(_name_reached_condition(goal), True)

    async def _run_model(self, situation: SupervisionState, step: str, task: str) -> str:
        """Run the model on a task, and return its last text."""
        run = situation.context.run
        model, options = run.find_model(self._model)
        loop = TurnLoop(
            model,
            output_type(str),
            run.step(step),
            instructions=self._instructions,
            tools=lambda: self._build_toolbox(situation),
            options=options,
            policy=self._policy,
            ending=PersistentEnding(
                lambda: self._describe_remaining_work(situation), lambda: len(situation.context.process.history)
            ),
        )
        try:
            return (await loop.run([UserMessage(task)])).output
        except TurnLimitError as error:
            return str(error)

    def _build_toolbox(self, situation: SupervisionState) -> Toolbox:
        """Return the actions as tools, those with the fewest missing objects first.

        Raises:
            Exception: when an action raised an exception that stops all of them.
        """
        if situation.failure is not None:
            raise situation.failure
        actions = filter(situation.can_run, self._spec.actions)
        tools = [CurriedAction(action, situation) for action in actions]
        tools.sort(key=lambda tool: (tool.missing, len(tool.blocked)))
        return Toolbox(tools)

    def _describe_remaining_work(self, situation: SupervisionState) -> str | None:
        """Return the work that remains before the model may stop; `None` when no action can run."""
        process = situation.context.process
        names = {goal.name for goal in process.goals}
        tools = [CurriedAction(action, situation) for action in filter(situation.can_run, self._spec.actions)]
        ready = [tool for tool in tools if not (tool.missing or process.has_run(tool.action.name))]
        if (
            not ready
            or _find_reached_goal(situation.context) is not None
            or any(tool.action.name in names for tool in ready)
        ):
            return None
        calls = " or ".join(tool.name for tool in ready)
        lacking = (f"{tool.name} needs {tool.obstacle}." for tool in tools if tool.action.name in names)
        return f"The goal is not reached yet: {' '.join(lacking)} Call a tool: {calls}."

    async def _finish_goal(self, situation: SupervisionState) -> GoalSpec | None:
        """Run the action of a goal that the model did not call, and return the goal."""
        for goal in situation.context.process.goals:
            tool = CurriedAction(self._spec.action(goal.name), situation)
            if not tool.missing:
                with suppress(ToolError):
                    await tool.call("{}", situation.context.run)
                    return goal
        return None

    def _describe_obstacles(self, situation: SupervisionState) -> str:
        return " ".join(
            f"{goal.name!r} was not reached: {self._describe_obstacle(goal, situation)}."
            for goal in situation.context.process.goals
        )

    def _describe_obstacle(self, goal: GoalSpec, situation: SupervisionState) -> str:
        history = situation.context.process.history
        tool = CurriedAction(self._spec.action(goal.name), situation)
        failure = next((run.error for run in reversed(history) if run.action == goal.name), None)
        return failure or (f"it needs {tool.obstacle}" if tool.obstacle else "its action did not run")


def _find_reached_goal(context: OperationContext) -> GoalSpec | None:
    """Return the goal whose action ran and returned an object."""
    ended = [run for run in context.process.history if run.error is None]
    ran, gave = {run.action for run in ended}, {run.action for run in ended if run.outputs}
    return next((goal for goal in context.process.goals if goal.name in (gave if goal.output_types else ran)), None)


def _name_reached_condition(goal: GoalSpec) -> str:
    """Return the condition that a goal was reached."""
    return f"supervised to {goal.name}"


def _describe_task(context: OperationContext) -> str:
    """Return the goals and the objects on the blackboard as text."""
    goals = (
        f"- {' or '.join(map(describe_type, goal.output_types)) or goal.name}: {goal.description}"
        for goal in context.process.goals
    )
    there = (
        f"- {type(value).__name__}: {to_json(value, fallback=str).decode()}" for value in context.blackboard.objects
    )
    return "\n".join(("Goal:", *goals, "", "What there is:", *there))


def _list_tool_names(actions: Sequence[ActionSpec]) -> dict[str, str]:
    """Return the tool names: method names, with class names where methods have the same name."""
    short = {action.name: snake_case(action.name.rpartition(".")[2]) for action in actions}
    names = list(short.values())
    return {
        name: abbreviation if names.count(abbreviation) == 1 else snake_case(name)
        for name, abbreviation in short.items()
    }
