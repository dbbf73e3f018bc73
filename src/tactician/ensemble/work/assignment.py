"""Assignments: tasks with the Runnables that do them, and with their settings."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from typing_extensions import override

from tactician.agents import Agent, BaseRunnable
from tactician.agents.spec import AgentSettings
from tactician.ensemble.delegation.roster import Roster, get_role
from tactician.ensemble.delegation.worker import expect_type
from tactician.ensemble.learning.recollection import LearningStores
from tactician.ensemble.tasks.default_agent import create_default_agent
from tactician.ensemble.tasks.drawing import Drawable, Drawing
from tactician.ensemble.tasks.prompts import GUIDANCE
from tactician.ensemble.tasks.task import Handler, Task
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.composite import NO_STORES, Equipment, find_composite
from tactician.frozen import frozen
from tactician.llm import ModelLike
from tactician.process.people.questions import allow_questions
from tactician.runs import Input, RunContext, Runnable, RunResult
from tactician.tools.toolbox import Toolbox, ToolLike

HANDLER_ROLE: Final = "(deterministic)"
_LONGEST_KEY: Final = 80


class HandlerRunnable(BaseRunnable[object]):
    """Handler of a task as a Runnable, whose input is a `TaskInput`. It may ask people, with `ask_human`."""

    def __init__(self, handler: Handler, description: str) -> None:
        self.name = str(getattr(handler, "__name__", type(handler).__name__))
        self.description = description
        self._handler = handler

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        assert isinstance(input, TaskInput)
        await context.begin_step()
        with allow_questions(context.as_internal()):
            output = self._handler(input)
            if inspect.isawaitable(output):
                output = await output
        return RunResult(output, tally=context.tally, run_id=context.run_id)


@frozen
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

    def draw(self, prefix: str) -> Drawing:
        """Return a drawing of the task, whose nodes have ids that begin with the prefix."""
        if isinstance(self.runnable, Drawable):
            return self.runnable.draw(prefix)
        return Drawing.of_node(prefix, (self.task.label, self.role))

    @property
    def output_kind(self) -> object:
        """The declared type of the parsed output."""
        declared = self.task.output_type or getattr(self.runnable, "output_type", None)
        return object if declared in (None, str) else declared

    def has_run(self, output: TaskOutput) -> bool:
        """Return whether the saved run of the task gives what a saved output lacks: an object, or outputs of others."""
        return bool(output.parts) or (self.task.handler is None and output.parsed is not None)


def assign(task: Task, context: tuple[Task, ...], equipment: Equipment) -> Assignment:
    """Return a task with the Runnable that does it.

    Args:
        task: the task.
        context: the tasks whose outputs it sees.
        equipment: the settings of the ensemble.
    """
    task = equipment.casting.find(task)
    chosen = equipment._replace(model=equipment.model if task.model is None else task.model)
    runnable, role = _choose_runnable(task, chosen)
    return Assignment(task, context, runnable, role, _create_key(task.id), chosen.model, equipment.stores)


def _choose_runnable(task: Task, equipment: Equipment) -> tuple[Runnable, str]:
    """Return who does a task, and the role."""
    if (composite := find_composite(task)) is not None:
        tools = Toolbox(equipment.tools).with_preferred(Toolbox(task.tools)).contents
        return composite.bind(equipment._replace(tools=tools)), composite.role
    if task.handler is not None:
        return expect_type(HandlerRunnable(task.handler, task.description), task.output_type), HANDLER_ROLE
    agent = task.runnable or create_default_agent(task)
    role = get_role(agent)
    if not isinstance(agent, Agent):
        return expect_type(agent, task.output_type), role
    return _equip(agent, task, equipment.model, equipment.tools, equipment.roster), role


def _equip(
    agent: Agent[object], task: Task, model: ModelLike | None, tools: Sequence[ToolLike], roster: Roster
) -> Agent[object]:
    """Return an agent for a task: with its own settings, else the task's, else the ensemble's."""
    toolbox = Toolbox((*task.tools, *roster.create_tools(agent)))
    merged = Toolbox(tools).with_preferred(toolbox).contents
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
    instructions = agent.spec.instructions
    text = f"{GUIDANCE}\n{instructions}" if isinstance(instructions, str) and instructions else GUIDANCE
    return agent.with_changes(instructions=agent.spec.with_settings(instructions=text).prompt)


def _create_key(task_id: str) -> str:
    """Return the id of a task as the key of a checkpoint, which is saved with each step: a long id is shortened."""
    if len(task_id) <= _LONGEST_KEY:
        return task_id
    digest = sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{task_id[: _LONGEST_KEY - 17]}-{digest[:16]}"
