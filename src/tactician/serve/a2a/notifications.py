"""Notifications of changes of tasks, sent by the SDK to addresses that were checked when they were set, and again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from a2a.server.context import ServerCallContext
from a2a.server.tasks import BasePushNotificationSender, PushNotificationConfigStore
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config
from a2a.types import Task, TaskPushNotificationConfig, TaskStatusUpdateEvent
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from a2a.utils.push_url_validator import validate_push_notification_url
from google.protobuf.json_format import ParseDict
from typing_extensions import override

from tactician.a2a import open_http, to_json_object
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.task_documents import TaskDocument, TaskDocuments
from tactician.serve.a2a.task_states import ENDED, MOVING, TaskViews

_MOST_TARGETS: Final = 10


class NotificationTargets(PushNotificationConfigStore):
    """Targets of the notifications of tasks, in the documents of these."""

    def __init__(self, documents: TaskDocuments) -> None:
        self._documents = documents

    @override
    async def set_info(
        self, task_id: str, notification_config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        config = normalize_push_notification_config(task_id, notification_config)

        def edit(task: TaskDocument) -> TaskDocument:
            others = tuple(known for known in task.push if known.get("id") != config.id)
            if len(others) >= _MOST_TARGETS:
                raise InvalidParamsError(f"A task has at most {_MOST_TARGETS} targets of notifications.")
            return replace(task, push=(*others, to_json_object(config)), is_settled=False)

        if await self._documents.change(task_id, edit) is None:
            raise TaskNotFoundError
        return config

    @override
    async def get_info(self, task_id: str, context: ServerCallContext) -> list[TaskPushNotificationConfig]:
        return await self.get_info_for_dispatch(task_id)

    @override
    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        task = await self._documents.load(task_id)
        return [] if task is None else [ParseDict(known, TaskPushNotificationConfig()) for known in task.push]

    @override
    async def delete_info(self, task_id: str, context: ServerCallContext, config_id: str | None = None) -> None:
        def edit(task: TaskDocument) -> TaskDocument:
            return replace(task, push=tuple(known for known in task.push if config_id not in (None, known.get("id"))))

        await self._documents.change(task_id, edit)


class Notifier:
    """Notifier of the changes of tasks, also of those that other processes continue.

    What was sent last is in the document of the task: a server that starts again sends what was not sent.
    """

    def __init__(self, documents: TaskDocuments, views: TaskViews, settings: A2aSettings) -> None:
        self._documents = documents
        self._views = views
        self._validate: Callable[[str], Awaitable[bool]] | None = (
            None if settings.allows_private_push else validate_push_notification_url
        )
        self.targets = NotificationTargets(documents)

    async def check_address(self, url: str) -> None:
        """Check an address that notifications are to be sent to.

        Raises:
            InvalidParamsError: when it is private, or not an HTTP address.
        """
        is_http = url.startswith(("http://", "https://"))
        if not is_http or (self._validate is not None and not await self._validate(url)):
            raise InvalidParamsError("Notifications are not sent to this address: it must be public, and HTTP.")

    async def notify(self, task_id: str) -> None:
        """Send the state of a task that has ended, or asks, unless it was sent already."""
        document = await self._documents.load(task_id)
        if document is None or not document.push:
            return
        if (task := await self._views.view(document)) is None or task.status.state in MOVING:
            return
        stamp = f"{task.status.state}/{task.status.timestamp.ToJsonString()}"
        has_ended = task.status.state in ENDED

        def edit(known: TaskDocument) -> TaskDocument:
            return replace(known, notified=stamp, is_settled=has_ended)

        if await self._documents.change(task_id, edit) is not None and document.notified != stamp:
            await self._send(task)

    async def notify_all(self) -> None:
        """Send the states of all tasks that somebody is notified of."""
        for document in await self._documents.list_notifying():
            await self.notify(document.task_id)

    async def _send(self, task: Task) -> None:
        async with open_http(is_private=self._validate is None) as http:
            sender = BasePushNotificationSender(http, self.targets, push_url_validator=self._validate)
            if task.status.state in ENDED and task.artifacts:
                await sender.send_notification(task.id, task)
            update = TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=task.status)
            await sender.send_notification(task.id, update)
