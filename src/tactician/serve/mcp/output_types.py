"""Types of the outputs of tools, as far as they are known before a call."""

from __future__ import annotations

from typing import TypeAlias

from tactician.agents.function import FunctionRunnable
from tactician.ensemble import Ensemble, ReviewPolicy, Task
from tactician.runs import Runnable
from tactician.tools import FunctionTool, Tool

OutputType: TypeAlias = object
"""Type of an output, as an annotation has it."""


def find_tool_type(tool: Tool) -> OutputType | None:
    """Return the type of what a tool returns, as its function declares it."""
    return tool.result_type if isinstance(tool, FunctionTool) else None


def find_runnable_type(runnable: Runnable) -> OutputType | None:
    """Return the type of the output of a Runnable; for an ensemble, only where no other output can take its place."""
    if isinstance(runnable, Ensemble):
        return _find_ensemble_type(runnable)
    if isinstance(runnable, FunctionRunnable):
        return runnable.result_type
    declared: OutputType | None = getattr(runnable, "output_type", None)
    return declared


def _find_ensemble_type(ensemble: Ensemble) -> OutputType | None:
    last = ensemble.tasks[-1] if ensemble.tasks else None
    is_certain = (
        not ensemble.phases
        and ensemble.workflow.ends_with_last
        and ensemble.on_error == "fail_fast"
        and ensemble.review_policy is ReviewPolicy.NEVER
        and not any(task.when or task.review for task in ensemble.tasks)
        and ensemble.synthesize is None
    )
    if not is_certain or type(last) is not Task:
        return None
    return last.output_type or getattr(last.agent, "output_type", None)
