"""Functions that do tasks without a model."""

from __future__ import annotations

import inspect

from typing_extensions import override

from tactician.agents import BaseRunnable
from tactician.ensemble.tasks.task import Handler
from tactician.ensemble.values.task_input import TaskInput
from tactician.process.people.questions import allow_questions
from tactician.runs import Input, RunContext, RunResult


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
