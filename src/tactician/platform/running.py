"""Runs of Runnables of any kind, and their options."""

from __future__ import annotations

from typing_extensions import TypedDict

from tactician.agents import BaseRunnable, PlannedAgent
from tactician.conversation import Conversation
from tactician.errors import ConfigurationError
from tactician.platform.runner import Objects
from tactician.process import ProcessOptions
from tactician.process.objects import Named
from tactician.runs import Budget, RunContext, Runnable, RunResult
from tactician.suggestions import describe_unknown_option


class RunOptions(TypedDict, total=False):
    """Options of `Platform.run`.

    Attributes:
        budget: budget of the run and of all nested runs; by default the budget of the Runnable.
        conversation: conversation so far, which gets the input and the answer; see `Agent.run`.
        named: further objects for a planned agent, by their names.
        options: settings of the process of a planned agent.
    """

    budget: Budget | None
    conversation: Conversation | None
    named: Named | None
    options: ProcessOptions | None


async def run_anything(
    runnable: Runnable, objects: Objects, context: RunContext, options: RunOptions
) -> RunResult[object]:
    """Run a Runnable with objects as its input.

    Raises:
        ConfigurationError: for an option that this Runnable does not take.
        TypeError: for an option that no run has.
    """
    value = objects[0] if len(objects) == 1 else objects
    if isinstance(runnable, PlannedAgent):
        _check_options(options, "", *RunOptions.__annotations__)
        return await runnable.run(value, context=context, **options)
    budget, conversation = options.get("budget"), options.get("conversation")
    if isinstance(runnable, BaseRunnable):
        _check_options(options, f"{runnable.name!r}, which is no planned agent,", "budget", "conversation")
        return await runnable.run(value, context=context, budget=budget, conversation=conversation)
    _check_options(options, f"{runnable.name!r} ({type(runnable).__name__})")
    return await runnable.run(value, context=context)


def _check_options(options: RunOptions, runnable: str, *taken: str) -> None:
    for name, value in options.items():
        if name not in RunOptions.__annotations__:
            raise TypeError(describe_unknown_option("run", name, RunOptions.__annotations__))
        if name not in taken and value is not None:
            raise ConfigurationError(f"{runnable} takes no {name}: leave {name}= out")
