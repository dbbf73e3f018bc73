"""Prompts of tasks: sections in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pydantic_core import to_json
from typing_extensions import TypeForm

from tactician.agents import Agent, BaseRunnable
from tactician.agents.base import TypedRunnable
from tactician.agents.function import FunctionRunnable
from tactician.context_format import ContextFormatter
from tactician.ensemble.learning.sections import list_memory_sections, list_note_sections
from tactician.ensemble.values.delegation import DelegationPriority, DelegationRequest
from tactician.ensemble.values.ensemble_runnable import EnsembleRunnable
from tactician.ensemble.values.task_input import Revision, TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.loop import output_type
from tactician.runs import RunContext, Runnable
from tactician.runs.context.part_settings import find_formatter, format_data

GUIDANCE: Final = (
    "Work on the task that you are given, and answer with its result alone. "
    "Use your tools where they help, and do not make up what you could not find out."
)
"""Instructions of every agent with a role, behind its goal."""


def build_prompt(task: TaskInput, kind: TypeForm[object] | None, context: RunContext) -> str:
    """Return the prompt of a task. Data in it has the format of the run; schemas and earlier answers are JSON.

    Args:
        task: the task, with its templates filled in.
        kind: the output type; text, when `None`.
        context: the context of the task.
    """
    sections: list[str] = []
    if task.memory:
        sections += list_memory_sections(task.memory, context)
    if task.context_outputs or task.earlier_outputs:
        sections += list_context_sections(task.context_outputs, context, task.earlier_outputs)
    if task.reflections:
        sections += list_note_sections(task.reflections)
    if task.revision is not None:
        sections.append(format_revision(task.revision))
    if task.text and task.shows_text:
        sections.append(f"## Input\n\n{task.text}")
    sections.append(f"## Task\n\n{task.description}")
    if task.expected_output:
        sections.append(f"## Expected Output\n\n{task.expected_output}")
    if kind is not None:
        sections += list_format_sections(kind)
    return "\n\n".join(sections)


def find_prompt_type(runnable: Runnable, kind: TypeForm[object] | None) -> TypeForm[object] | None:
    """Return the output type that the prompt of a Runnable describes; `None` when no model of it writes the output.

    A planned agent gives an object of a goal, the tasks of an ensemble have their own types, and so may others. A
    function that returns an object has made it itself; one that returns a text may have asked a model for it.
    """
    while isinstance(runnable, TypedRunnable):
        runnable = runnable.inner
    if kind is None or isinstance(runnable, Agent):
        return kind
    is_planned = isinstance(runnable, BaseRunnable) and runnable.planned_spec is not None
    declared = (
        runnable.result_type if isinstance(runnable, FunctionRunnable) else getattr(runnable, "output_type", None)
    )
    has_type = declared not in (None, str)
    return None if is_planned or has_type or isinstance(runnable, EnsembleRunnable) else kind


def list_context_sections(
    outputs: Sequence[TaskOutput], context: RunContext, earlier: Sequence[TaskOutput] = ()
) -> list[str]:
    """Return the section with the outputs of other tasks; without outputs, nothing.

    Args:
        outputs: the outputs.
        context: the context of the task.
        earlier: outputs of earlier iterations of a loop, which stand before them.
    """
    if not outputs and not earlier:
        return []
    formatter = find_formatter(context)
    texts = [_format_output(output, formatter, " (earlier iteration)") for output in earlier] if earlier else []
    texts += [_format_output(output, formatter, "") for output in outputs]
    joined = "\n\n---\n\n".join(texts)
    return [f"## Context from Previous Tasks\n\n{joined}"]


def list_delegation_sections(request: DelegationRequest, context: RunContext) -> Iterator[str]:
    """Yield the sections of a delegation before its task's sections."""
    if request.priority is not DelegationPriority.NORMAL:
        yield f"## Priority\n\n{request.priority}"
    if request.scope:
        values = "\n".join(f"- {name}: {format_data(value, context)}" for name, value in request.scope.items())
        yield f"## Scope\n\n{values}"


def list_format_sections(kind: TypeForm[object] | None) -> Iterator[str]:
    """Yield the section with the schema of an output type; nothing for text."""
    if kind is not None and (spec := output_type(kind).spec) is not None:
        schema = to_json(spec.schema, indent=2).decode()
        yield f"## Output Format\n\nAnswer with JSON that matches this schema, and nothing else:\n\n{schema}"


def _format_output(output: TaskOutput, formatter: ContextFormatter | None, note: str) -> str:
    text = output.raw if formatter is None else formatter.format_json(output.raw)
    return f"### {output.role}: {output.description}{note}\n\n{text}"


def format_revision(revision: Revision) -> str:
    """Return the section with the feedback on an earlier attempt, and its output."""
    feedback = f"\n\n### Feedback\n\n{revision.feedback}" if revision.feedback else ""
    previous = f"\n\n### Previous Output\n\n{revision.previous}" if revision.previous else ""
    return f"## Revision Instructions (Attempt {revision.attempt}){feedback}{previous}"
