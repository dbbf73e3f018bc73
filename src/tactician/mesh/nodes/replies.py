"""Replies for runs of the platform that wait for them, here or on another machine."""

from __future__ import annotations

from collections.abc import Callable

from tactician.errors import AlreadyAnsweredError, ResponseError, RunConflictError, RunNotFoundError
from tactician.events.bus import EventEmitter
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import RequestProgressed
from tactician.mesh.messages.replies import MeshReply, ProgressReport
from tactician.platform import Platform
from tactician.platform.follow import RunClient
from tactician.resilience.backoff import compute_backoff
from tactician.runs import RunStatus

_FIRST_DELAY, _LONGEST_DELAY = 0.3, 5.0
"""Seconds after which a reply comes again for a run that has not been saved yet: longer each time."""


class ReplyTaker:
    """Taker of the replies that come into the queue of a node.

    A request of a run has an id that begins with the id of the run. The reply is kept as the answer to what the run
    waits for, and a worker of any instance continues the run.

    Args:
        platform: the platform.
        mesh: the connection.
        wake: lets the worker look for runs at once.
    """

    def __init__(self, platform: Platform, mesh: MeshConnection, wake: Callable[[], None]) -> None:
        self._platform = platform
        self._mesh = mesh
        self._client = RunClient(platform, wake=wake, name="mesh")

    async def take(self, reply: MeshReply, deliveries: int = 1) -> float:
        """Take a reply, and return the seconds after which it has to come again; 0 when nobody needs it any longer.

        Raises:
            StoreError: when the store does not answer.
        """
        if self._mesh.calls.note(reply) or not await self._is_early(reply):
            return 0.0
        return compute_backoff(deliveries, base=_FIRST_DELAY, factor=2, longest=_LONGEST_DELAY)

    def note_progress(self, report: ProgressReport) -> None:
        """Tell the listeners of the platform of the progress of a request whose run is suspended."""
        run_id, separator, _ = report.request_id.partition(".")
        if separator and self._mesh.calls.find(report.request_id) == ():
            emitter = EventEmitter(self._platform.services.bus, run_id, (), self._mesh.clock)
            emitter.emit(
                RequestProgressed,
                request_id=report.request_id,
                capability="",
                node=report.node,
                message=report.message,
                share=report.share,
            )

    async def _is_early(self, reply: MeshReply) -> bool:
        """Keep a reply as the answer to what a run waits for, and return whether the run may still come to wait."""
        run_id, separator, _ = reply.request_id.partition(".")
        if not separator:
            return False
        answer = reply.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        try:
            await self._client.answer(run_id, {reply.request_id: answer})
        except (RunNotFoundError, AlreadyAnsweredError):
            return False
        except (RunConflictError, ResponseError):
            return await self._may_wait(run_id, reply.request_id)
        return False

    async def _may_wait(self, run_id: str, request_id: str) -> bool:
        """Return whether a run that has just not taken a reply may wait for it, now or later."""
        try:
            record = await self._client.find(run_id)
        except RunNotFoundError:
            return False
        if record.status in (RunStatus.RUNNING, RunStatus.NOT_STARTED):
            return True
        # It may have been suspended since: then it waits for this reply.
        return not record.has_ended and any(
            request.id == request_id and not request.is_answered for request in record.header.pending
        )
