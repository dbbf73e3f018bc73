"""Events of a task for those who follow it: pieces of its text, states, and the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import TypeAlias

from a2a.types import Artifact, Part, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent

from tactician.errors import RunNotFoundError
from tactician.platform.follow import RunClient
from tactician.serve.a2a.executor import TaskFeed
from tactician.serve.a2a.task_states import ENDED, MOVING, RESULT

TaskEvent: TypeAlias = Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent


class TaskFollower:
    """Follower of a task, which runs here or elsewhere.

    Args:
        task_id: its id.
        runs: client of the runs of tasks.
        load: returns the task as it is now.
        find_feed: returns its feed, while it runs here.
        closing: set when the server stops.
    """

    def __init__(
        self,
        task_id: str,
        runs: RunClient,
        load: Callable[[], Awaitable[Task]],
        find_feed: Callable[[], TaskFeed | None],
        closing: asyncio.Event,
    ) -> None:
        self._task_id = task_id
        self._runs = runs
        self._load = load
        self._find_feed = find_feed
        self._closing = closing

    async def wait(self) -> Task:
        """Return the task once it has ended, asks for input, or waits for somebody of this program."""
        if (feed := self._find_feed()) is not None:
            await feed.wait()  # the run here also sends notifications, after it has ended
        with suppress(RunNotFoundError):
            await self._runs.wait(self._task_id, self._closing)
        return await self._load()

    async def follow(self, *, until_end: bool) -> AsyncGenerator[TaskEvent]:
        """Yield the task, and then its changes, until it has ended or, unless `until_end`, asks for input."""
        feed = self._find_feed()
        task = await self._load()
        yield task
        if feed is not None and task.status.state == TaskState.TASK_STATE_SUBMITTED:
            task.status.CopyFrom(TaskStatus(state=TaskState.TASK_STATE_WORKING, timestamp=task.status.timestamp))
            yield _create_update(task)
        while not (_is_over(task, until_end) or self._closing.is_set()):
            pieces = None if feed is None else TaskPieces(task, feed)
            if pieces is None:
                await self._runs.pause(self._closing)
            else:
                async for piece in pieces.read():
                    yield piece
            feed, latest = self._find_feed(), await self._load()
            for event in _list_changes(task, latest, pieces):
                yield event
            task = latest


class TaskPieces:
    """Pieces of the text of a task, as events. None waits for the next: an empty one is marked as the last.

    Attributes:
        text: the text so far.
    """

    def __init__(self, task: Task, feed: TaskFeed) -> None:
        self._task = task
        self._feed = feed
        self.text = ""

    async def read(self) -> AsyncGenerator[TaskArtifactUpdateEvent]:
        """Yield all pieces as they come."""
        queue = self._feed.subscribe()
        try:
            while (piece := await queue.get()) is not None:
                is_first, self.text = not self.text, self.text + piece
                yield self._create_event(piece, append=not is_first)
        finally:
            self._feed.unsubscribe(queue)

    def end(self) -> TaskArtifactUpdateEvent | None:
        """Return the end of the text, if there is any text."""
        return self._create_event("", append=True, is_last=True) if self.text else None

    def _create_event(self, text: str, *, append: bool, is_last: bool = False) -> TaskArtifactUpdateEvent:
        return TaskArtifactUpdateEvent(
            task_id=self._task.id,
            context_id=self._task.context_id,
            artifact=Artifact(artifact_id=RESULT, parts=[Part(text=text, media_type="text/plain")]),
            append=append,
            last_chunk=is_last,
        )


def _list_changes(before: Task, after: Task, pieces: TaskPieces | None) -> Iterator[TaskEvent]:
    """Yield the events that lead from a state of a task to another."""
    whole = after.artifacts[0] if after.artifacts and not before.artifacts else None
    text = "" if pieces is None else pieces.text
    if whole is not None and not (text and [part.text for part in whole.parts] == [text]):
        yield TaskArtifactUpdateEvent(
            task_id=after.id, context_id=after.context_id, artifact=whole, append=False, last_chunk=True
        )
    elif pieces is not None and (last := pieces.end()) is not None:
        yield last
    if (after.status.state, after.status.message) != (before.status.state, before.status.message):
        yield _create_update(after)


def _create_update(task: Task) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=task.status)


def _is_over(task: Task, until_end: bool) -> bool:
    return task.status.state in ENDED or (not until_end and task.status.state not in MOVING)
