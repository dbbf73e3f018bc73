"""Execution of tasks in this process. Followers of a task get its texts as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Final, TypeAlias

from tactician.errors import StoreError, TacticianError
from tactician.events import Event
from tactician.loggers import get_logger
from tactician.loop import read_answer_text
from tactician.platform import Platform
from tactician.platform.follow import RunClient
from tactician.runs import RunCompleted, RunContext, RunResult
from tactician.runs.progress.record import RunRecord
from tactician.runs.runnable import stream_events
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.task_run import TASK_RUNS, PublishedTask
from tactician.stores.document import Lease

_logger = get_logger(__name__)
_Work: TypeAlias = Callable[[RunContext], Awaitable[RunResult[object]]]
_MOST_WAITING: Final = 10_000
"""Number of pieces that a follower may be behind; then it gets the rest as a whole, at the end."""


class TaskFeed:
    """Texts of a task that runs here, for any number of followers."""

    def __init__(self) -> None:
        self._text = ""
        self._followers: set[asyncio.Queue[str | None]] = set()
        self._is_closed = False

    def add(self, text: str) -> None:
        """Pass a piece on to all who follow."""
        self._text += text
        for queue in list(self._followers):
            if queue.qsize() > _MOST_WAITING:
                self._followers.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(text)

    def close(self) -> None:
        """Let all followers know that the run has gone as far as it can."""
        self._is_closed = True
        for queue in self._followers:
            queue.put_nowait(None)

    async def wait(self) -> None:
        """Wait until the run has gone as far as it can."""
        queue = self.subscribe()
        try:
            while await queue.get() is not None:
                pass
        finally:
            self.unsubscribe(queue)

    def subscribe(self) -> asyncio.Queue[str | None]:
        """Return a queue with the text so far, and then what comes; `None` is its end."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        if self._text:
            queue.put_nowait(self._text)
        if self._is_closed:
            queue.put_nowait(None)
        self._followers.add(queue)
        return queue

    def unsubscribe(self, queue: asyncio.Queue[str | None]) -> None:
        """Forget a follower."""
        self._followers.discard(queue)


class TaskExecutor:
    """Executor of tasks.

    Args:
        platform: platform with the store.
        runnable: the Runnable of all tasks.
        settings: settings of the server.
        on_rest: called with the id of a task whose run has gone as far as it can.

    Attributes:
        runs: client of the runs of tasks.
    """

    def __init__(
        self,
        platform: Platform,
        runnable: PublishedTask,
        settings: A2aSettings,
        on_rest: Callable[[str], Awaitable[None]],
    ) -> None:
        self._platform = platform
        self._runnable = runnable
        self._settings = settings
        self._on_rest = on_rest
        self._feeds: dict[str, TaskFeed] = {}
        self.runs = RunClient(platform, name="a2a", names=(TASK_RUNS,), lease=settings.lease, poll=settings.poll)

    def find_feed(self, task_id: str) -> TaskFeed | None:
        """Return the feed of a task that runs here."""
        return self._feeds.get(task_id)

    async def start(self, task_id: str | None = None) -> bool:
        """Claim a task, or any that can continue, and let it run. Return whether there was any."""
        has_room = self.runs.running < self._settings.max_parallel
        return has_room and await self.runs.continue_here(self._continue, task_id) is not None

    def _continue(self, record: RunRecord, lease: Lease) -> Coroutine[object, object, None]:
        seconds = self._settings.lease
        feed = self._feeds[record.run_id] = TaskFeed()
        return self._run(
            record.run_id,
            feed,
            lambda context: self._runnable.continue_claimed(record, lease, context=context, seconds=seconds),
        )

    async def _run(self, task_id: str, feed: TaskFeed, work: _Work) -> None:
        """Run a task as far as it can go. Its record says how it ended."""
        try:
            texts = read_answer_text(_drop_result(stream_events(work, self._platform.context())))
            async with aclosing(texts):
                async for text in texts:
                    feed.add(text)
        except StoreError as error:
            _logger.warning("the task %s: %s", task_id, error)
        except TacticianError as error:
            _logger.info("the task %s: %s", task_id, error)
        except Exception:
            _logger.exception("the task %s failed", task_id)
        finally:
            if self._feeds.get(task_id) is feed:
                del self._feeds[task_id]
            feed.close()
        await self._on_rest(task_id)


async def _drop_result(events: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
    """Yield the events of a run without its result, which becomes an artifact."""
    async with aclosing(events):
        async for event in events:
            if not isinstance(event, RunCompleted):
                yield event
