"""Replies for runs of the platform that wait for them, here or on another machine."""

from __future__ import annotations

from collections.abc import Callable

from tactician.errors import AlreadyAnsweredError, ResponseError, RunConflictError, RunNotFoundError, StoreError
from tactician.events.bus import EventEmitter
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import RequestProgressed
from tactician.mesh.messages.replies import MeshReply, ProgressReport
from tactician.platform import Platform
from tactician.platform.follow import RunClient
from tactician.runs import RunStatus

_LATER = 0.3
"""Seconds after which a reply comes again for a run that has not been saved yet."""


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

    async def take(self, reply: MeshReply) -> float:
        """Take a reply, and return the seconds after which it has to come again; 0 when nobody needs it any longer."""
        return 0.0 if self._mesh.calls.note(reply) else await self._answer(reply)

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

    async def _answer(self, reply: MeshReply) -> float:
        run_id, separator, _ = reply.request_id.partition(".")
        if not separator:
            return 0.0
        answer = reply.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        try:
            await self._client.answer(run_id, {reply.request_id: answer})
        except (RunNotFoundError, AlreadyAnsweredError):
            return 0.0
        except (RunConflictError, StoreError):
            return _LATER
        except ResponseError:
            return _LATER if await self._is_moving(run_id) else 0.0
        return 0.0

    async def _is_moving(self, run_id: str) -> bool:
        """Return whether a run may still come to wait for the reply."""
        try:
            status = (await self._client.find(run_id)).status
        except RunNotFoundError:
            return False
        return status in (RunStatus.RUNNING, RunStatus.NOT_STARTED)
