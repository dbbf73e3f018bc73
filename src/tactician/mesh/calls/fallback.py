"""Fallbacks of calls: a text or a Runnable answers in place of a node that does not."""

from __future__ import annotations

from typing import Final

from tactician.errors import RequestFailedError, RequestRejectedError, RequestTimeoutError
from tactician.mesh.calls.options import MeshCallOptions
from tactician.mesh.events import FallbackUsed
from tactician.runs import Input, RunContext, Runnable, RunResult

_CALLERS_FAULT: Final = frozenset({"invalid_input", "not_allowed", "too_large", "too_many_hops", "unsupported_version"})
"""Reasons of refusals that another answer would only hide."""


def is_for_fallback(options: MeshCallOptions, error: Exception) -> bool:
    """Return whether the fallback answers for an error."""
    if options.fallback is None:
        return False
    if options.fallback_on == "any":
        return True
    if isinstance(error, RequestRejectedError):
        return error.reason not in _CALLERS_FAULT
    if isinstance(error, RequestTimeoutError):
        return error.ticket is None  # with a ticket, the work goes on
    return not isinstance(error, RequestFailedError)


def name_fallback(fallback: str | Runnable | None) -> str:
    """Return the name of a fallback, for events."""
    return "text" if fallback is None or isinstance(fallback, str) else fallback.name


class CallFallback:
    """Fallback of a call in a run. The checkpoint has its use, so that a run that is resumed asks no node again.

    Args:
        capability: name of the capability.
        options: the options of the call.
        context: context of the run.
    """

    def __init__(self, capability: str, options: MeshCallOptions, context: RunContext) -> None:
        assert context.checkpoint is not None
        self._capability = capability
        self._options = options
        self._context = context
        self._checkpoint = context.checkpoint

    @property
    def is_used(self) -> bool:
        """True when the fallback answers since an earlier part of the run."""
        return bool(self._checkpoint.data.get("fallback"))

    async def use(self, input: Input, error: Exception) -> RunResult[object]:
        """Return the answer of the fallback in place of an error."""
        name = name_fallback(self._options.fallback)
        self._context.emit(FallbackUsed, capability=self._capability, fallback=name, reason=str(error))
        self._checkpoint.set(fallback=name)
        await self._context.save_step("fallback", name, self._capability)
        return await self.run(input)

    async def run(self, input: Input) -> RunResult[object]:
        """Return the answer of the fallback."""
        context, fallback = self._context, self._options.fallback
        if fallback is None or isinstance(fallback, str):
            return RunResult(fallback, tally=context.tally, run_id=context.run_id)
        result = await fallback.run(input, context=context)
        return RunResult(result.output, tally=context.tally, run_id=context.run_id)
