"""Tasks of other programs as Runnables."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from datetime import timedelta

from typing_extensions import override

from tactician.agents import BaseRunnable
from tactician.agents.remote import RemoteTask
from tactician.conversation import Conversation
from tactician.errors import MeshUnavailableError, RequestFailedError, RequestRejectedError, RequestTimeoutError
from tactician.mesh.calls.channel import MeshChannel
from tactician.mesh.calls.fallback import CallFallback, is_for_fallback
from tactician.mesh.calls.options import MeshCallOptions
from tactician.mesh.calls.reply_cache import ReplyCache
from tactician.mesh.messages.message import Priority
from tactician.mesh.sources import MeshSource
from tactician.runs import Budget, Input, RunContext, RunResult
from tactician.suggestions import suggest_options


@suggest_options
class RemoteTaskRunnable(BaseRunnable[object]):
    """Task of another program, as a Runnable. Create it with `Mesh.task`.

    It fits wherever a Runnable does. In a run that a node of this program continues, it waits as for a person: the run
    is suspended, and the reply continues it, on any machine. What the provider uses counts in the run.

    Args:
        source: the mesh, or where a run finds it.
        capability: name of the capability.
        options: the options.
        description: purpose of the task.

    Attributes:
        source: the same.
        capability: the same.
        options: the same.
    """

    def __init__(self, source: MeshSource, capability: str, options: MeshCallOptions, description: str = "") -> None:
        self.name = capability
        self.description = description or describe_task(capability, options)
        self.source = source
        self.capability = capability
        self.options = options

    @override
    @suggest_options
    async def run(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        priority: Priority | None = None,
        deadline: timedelta | None = None,
    ) -> RunResult[object]:
        """Ask for the work, and wait for the reply.

        Args:
            input: text, or what has a JSON form.
            context: the context; see `BaseRunnable.run`.
            budget: the budget of the run, whose rest bounds the provider.
            conversation: the conversation so far.
            priority: rank among the requests that wait at the node.
            deadline: time from now by which the reply is needed.

        Raises:
            RequestRejectedError: when the node refuses the request.
            RequestFailedError: when its work fails.
            RequestTimeoutError: when the reply does not come in time.
            MeshUnavailableError: when no node accepts the request.
        """
        if priority is None and deadline is None:
            return await super().run(input, context=context, budget=budget, conversation=conversation)
        changed = copy(self)
        changed.options = replace(
            self.options, priority=priority or self.options.priority, deadline=deadline or self.options.deadline
        )
        return await BaseRunnable.run(changed, input, context=context, budget=budget, conversation=conversation)

    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        fallback = CallFallback(self.capability, self.options, context)
        if fallback.is_used:
            return await fallback.run(input)
        mesh = self.source.resolve(context)
        replies = None if self.options.max_age is None else ReplyCache(mesh, self.capability, self.options, context)
        if replies is not None and (earlier := await replies.find(input)) is not None:
            return RunResult(earlier.output, tally=context.tally, run_id=context.run_id)
        channel = MeshChannel(self.capability, self.options, mesh, context)
        try:
            result = await RemoteTask(self.name, channel, context).run(input)
        except (MeshUnavailableError, RequestRejectedError, RequestTimeoutError, RequestFailedError) as error:
            if not is_for_fallback(self.options, error):
                raise
            return await fallback.use(input, error)
        if replies is not None:
            await replies.keep(input, result.output)
        return result


def describe_task(capability: str, options: MeshCallOptions) -> str:
    """Return the purpose of a task that nobody has described."""
    return f"Asks {options.on or 'another program'} for {capability}."
