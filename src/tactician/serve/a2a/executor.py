"""Execution of tasks in this process. Followers of a task get its texts as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Final, TypeAlias

from tactician.clock import Clock
from tactician.errors import RunConflictError, StoreError, TacticianError
from tactician.events import Event
from tactician.events.event import new_id
from tactician.loggers import get_logger
from tactician.loop import read_answer_text
from tactician.platform import Platform
from tactician.runs import (
    Response,
    RunCompleted,
    RunContext,
    RunRecord,
    RunResult,
    RunStore,
    keep_responses,
    stream_events,
)
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.task_run import TASK_RUNS, PublishedTask
from tactician.stores.document import Lease

_logger = get_logger(__name__)
_Work: TypeAlias = Callable[[RunContext], Awaitable[RunResult[object]]]
_CLAIM_ATTEMPTS: Final = 20
_CLAIM_PAUSE: Final = 0.05
"""Seconds between two attempts to claim a task that asks: its previous holder releases it in a moment."""
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
        self._owner = f"a2a-{new_id()}"
        self._feeds: dict[str, TaskFeed] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def find_feed(self, task_id: str) -> TaskFeed | None:
        """Return the feed of a task that runs here."""
        return self._feeds.get(task_id)

    @property
    def clock(self) -> Clock:
        """The time of the platform."""
        return self._platform.services.clock

    @property
    def has_room(self) -> bool:
        """True when another task may run."""
        return len(self._tasks) < self._settings.max_parallel

    async def start(self, task_id: str | None = None) -> bool:
        """Claim a task, or any that can continue, and let it run. Return whether there was any."""
        if not self.has_room:
            return False
        if (claimed := await self._claim(task_id)) is not None:
            self._spawn(claimed[0].run_id, self._continue_claimed(*claimed))
        return claimed is not None

    async def keep_answers(self, task_id: str, responses: Mapping[str, Response]) -> None:
        """Keep answers to requests of a task that waits, in the store: it takes them when it continues.

        Raises:
            RunConflictError: when another process continues the task.
            ResponseError: when the task does not wait for that any more.
            StoredStateError: when an answer cannot be stored.
        """
        for _ in range(_CLAIM_ATTEMPTS):
            if (claimed := await self._claim(task_id)) is not None:
                await keep_responses(*claimed, self._platform.context(), responses)
                return
            await self._platform.services.clock.sleep(_CLAIM_PAUSE)
        raise RunConflictError(f"The task {task_id} is being continued: send the message again once it asks.")

    async def stop(self, task_id: str) -> None:
        """Interrupt a task, if it runs here."""
        if (task := self._tasks.get(task_id)) is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def aclose(self) -> None:
        """Interrupt all tasks. They continue when a server starts again."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _claim(self, task_id: str | None) -> tuple[RunRecord, Lease] | None:
        runs = RunStore(self._platform.store)
        return await runs.claim(self._owner, self._settings.lease, run_id=task_id, names=(TASK_RUNS,))

    def _continue_claimed(self, record: RunRecord, lease: Lease) -> _Work:
        return lambda context: self._runnable.continue_claimed(
            record, lease, context=context, seconds=self._settings.lease
        )

    def _spawn(self, task_id: str, work: _Work) -> None:
        feed = self._feeds[task_id] = TaskFeed()
        task = self._tasks[task_id] = asyncio.create_task(self._run(task_id, feed, work))
        task.add_done_callback(lambda _: self._tasks.pop(task_id, None))

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
