"""Assignments: tasks with the Runnables that do them, and with their settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from tactician.agents import Agent, AgentSettings
from tactician.ensemble.default_agent import create_default_agent
from tactician.ensemble.handler import HandlerRunnable
from tactician.ensemble.learning import LearningStores
from tactician.ensemble.prompts import GUIDANCE
from tactician.ensemble.roster import NO_ROSTER, Roster, get_role
from tactician.ensemble.task import Task
from tactician.ensemble.worker import expect_type
from tactician.llm import ModelLike
from tactician.runs import Runnable
from tactician.tools import Toolbox, ToolLike

HANDLER_ROLE: Final = "(deterministic)"
NO_STORES: Final = LearningStores()
_LONGEST_KEY: Final = 80


@dataclass(frozen=True, slots=True)
class Assignment:
    """Task of an ensemble with the Runnable that does it.

    Attributes:
        task: the task.
        context: the tasks whose outputs it sees.
        runnable: the agent, with the settings of the task and of the ensemble where it leaves them open.
        role: the role of the agent.
        key: key of the checkpoint of the task.
        model: the model for all that the task runs and that has no model of its own.
        stores: the stores with which the ensemble learns.
    """

    task: Task
    context: tuple[Task, ...]
    runnable: Runnable
    role: str
    key: str
    model: ModelLike | None
    stores: LearningStores = NO_STORES

    @property
    def output_kind(self) -> object:
        """The declared type of the parsed output."""
        declared = self.task.output_type or getattr(self.runnable, "output_type", None)
        return object if declared in (None, str) else declared

    @property
    def is_examined(self) -> bool:
        """True when something follows on the output, so that the output is saved before."""
        return bool(self.task.guards.output or self.task.memory or self.task.reflection)


def assign(
    task: Task,
    context: tuple[Task, ...],
    model: ModelLike | None,
    tools: Sequence[ToolLike],
    roster: Roster = NO_ROSTER,
) -> Assignment:
    """Return a task with the Runnable that does it.

    Args:
        task: the task.
        context: the tasks whose outputs it sees.
        model: the model of the ensemble.
        tools: the tools of the ensemble.
        roster: the agents to which its agent may delegate, if it may delegate.
    """
    chosen = model if task.model is None else task.model
    key = _create_key(task.id)
    if task.handler is not None:
        handler = expect_type(HandlerRunnable(task.handler, task.description), task.output_type)
        return Assignment(task, context, handler, HANDLER_ROLE, key, chosen)
    agent = task.runnable or create_default_agent(task)
    role = get_role(agent)
    if not isinstance(agent, Agent):
        return Assignment(task, context, expect_type(agent, task.output_type), role, key, chosen)
    return Assignment(task, context, _equip(agent, task, chosen, tools, roster), role, key, chosen)


def _equip(
    agent: Agent[object], task: Task, model: ModelLike | None, tools: Sequence[ToolLike], roster: Roster
) -> Agent[object]:
    """Return an agent for a task: with its own settings, else those of the task, else those of the ensemble."""
    own = Toolbox((*task.tools, *roster.create_tools(agent)))
    merged = tuple(Toolbox(tools).with_preferred(own))
    settings: AgentSettings = {
        "model": model,
        "max_tool_calls": task.max_tool_calls,
        "max_turns": task.max_tool_calls,
        "max_attempts": task.max_output_retries + 1,
        "max_tool_output_chars": task.max_tool_output_chars,
    }
    return add_guidance(agent.with_defaults(task.output_type, more_tools=merged, **settings))


def add_guidance(agent: Agent[object]) -> Agent[object]:
    """Return an agent whose instructions have, if it has a role, the guidance for tasks behind its goal."""
    if not agent.spec.role:
        return agent
    own = agent.spec.instructions
    text = f"{GUIDANCE}\n{own}" if isinstance(own, str) and own else GUIDANCE
    return agent.with_changes(instructions=agent.spec.with_settings(instructions=text).prompt)


def _create_key(task_id: str) -> str:
    """Return the id of a task as the key of a checkpoint, which is saved with each step: a long one is shortened."""
    if len(task_id) <= _LONGEST_KEY:
        return task_id
    return f"{task_id[: _LONGEST_KEY - 17]}-{sha256(task_id.encode()).hexdigest()[:16]}"
