"""Further attempts of Runnables at a valid output, as an `Agent` has them in its own conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tactician.agents import Agent
from tactician.ensemble.work.assignment import Assignment
from tactician.llm.usage import UsageTally
from tactician.runs import OutputError, RunContext, RunResult

_LONGEST_REPLY: Final = 10_000


async def run_with_output_retries(job: Assignment, prompt: str, place: RunContext) -> RunResult[object]:
    """Run the Runnable of a task until its output is valid.

    An `Agent` corrects its answer in its conversation. Any other Runnable runs again, with the prompt of the task, its
    last output, and what is wrong with that. The usage of all runs counts.

    Args:
        job: the task.
        prompt: the prompt of the task.
        place: the context of the task.

    Raises:
        OutputError: when no output is valid.
        Exception: any that the Runnable raised.
    """
    retries = 0 if isinstance(job.runnable, Agent) or job.task.output_type is None else job.task.max_output_retries
    failed: list[RunResult[None]] = []
    text = prompt
    while True:
        inside = place if not failed else place.at(f"output-{len(failed) + 1}")
        try:
            result = await job.runnable.run(text, context=inside)
        except OutputError as error:
            if len(failed) >= retries:
                raise
            failed.append(error.result)
            text = f"{prompt}\n\n{_describe_mistake(error)}"
        else:
            return _add_results(result, failed) if failed else result


def _describe_mistake(error: OutputError) -> str:
    reply = error.last_reply[:_LONGEST_REPLY]
    return f"## Correction\n\nYour last answer was not valid: {error}\n\nAnswer again, corrected.\n\n{reply}"


def _add_results(result: RunResult[object], failed: list[RunResult[None]]) -> RunResult[object]:
    """Return the result with the usage and the conversations of the runs before it."""
    tally = UsageTally()
    for attempt in (*failed, result):
        tally.add(attempt.usage)
    return replace(result, tally=tally, related=(*failed, *result.related))
