"""Notifications of changes of tasks, to addresses that were checked when they were set, and again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Final

from a2a.server.context import ServerCallContext
from a2a.server.tasks import PushNotificationConfigStore
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config
from a2a.types import Task, TaskPushNotificationConfig, TaskStatusUpdateEvent
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict, ParseDict
from typing_extensions import override

from tactician.a2a.wire import to_json_object
from tactician.clock import Clock
from tactician.errors import ConfigurationError
from tactician.loggers import get_logger
from tactician.notifications.webhooks import NotificationError, Webhook, WebhookSender, check_webhook_address, send_once
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.task_documents import TaskDocument, TaskDocuments
from tactician.serve.a2a.task_states import ENDED, MOVING, TaskViews

_logger = get_logger(__name__)
_MOST_TARGETS: Final = 10
_SECONDS: Final = 5.0
"""Seconds of each attempt at a notification."""


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
            others = tuple(saved_config for saved_config in task.push if saved_config.get("id") != config.id)
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
        return (
            []
            if task is None
            else [ParseDict(saved_config, TaskPushNotificationConfig()) for saved_config in task.push]
        )

    @override
    async def delete_info(self, task_id: str, context: ServerCallContext, config_id: str | None = None) -> None:
        def edit(task: TaskDocument) -> TaskDocument:
            return replace(
                task,
                push=tuple(
                    saved_config for saved_config in task.push if config_id not in (None, saved_config.get("id"))
                ),
            )

        await self._documents.change(task_id, edit)


class Notifier:
    """Notifier of the changes of tasks, also of those that other processes continue.

    What was sent last is in the document of the task: a server that starts again sends what was not sent.

    Args:
        documents: documents of tasks.
        views: views of tasks.
        settings: settings of the server.
        clock: the time.
    """

    def __init__(self, documents: TaskDocuments, views: TaskViews, settings: A2aSettings, clock: Clock) -> None:
        self._documents = documents
        self._views = views
        self._allows_private = settings.allows_private_push
        self._clock = clock
        self.targets = NotificationTargets(documents)

    async def check_address(self, url: str) -> None:
        """Check an address that notifications are to be sent to.

        Raises:
            InvalidParamsError: when it is private, or not an HTTP address.
        """
        try:
            await check_webhook_address(url, allows_private=self._allows_private)
        except ConfigurationError as error:
            raise InvalidParamsError(str(error)) from None

    async def notify(self, task_id: str) -> None:
        """Send the state of a task that has ended, or asks, unless it was sent already."""
        document = await self._documents.load(task_id)
        if document is None or not document.push:
            return
        if (task := await self._views.view(document)) is None or task.status.state in MOVING:
            return
        stamp = f"{task.status.state}/{task.status.timestamp.ToJsonString()}"
        await send_once(stamp, lambda stamp: self._replace_last(task, stamp), lambda: self._send(task))

    async def notify_all(self) -> None:
        """Send the states of all tasks that somebody is notified of."""
        for document in await self._documents.list_notifying():
            await self.notify(document.task_id)

    async def _replace_last(self, task: Task, stamp: str) -> str | None:
        """Store the state that is sent now, and return the last one before; the same for a task that was deleted."""
        last = stamp

        def edit(saved_config: TaskDocument) -> TaskDocument:
            nonlocal last
            last = saved_config.notified
            return replace(saved_config, notified=stamp, is_settled=task.status.state in ENDED)

        return stamp if await self._documents.change(task.id, edit) is None else last

    async def _send(self, task: Task) -> None:
        update = TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=task.status)
        has_result = task.status.state in ENDED and bool(task.artifacts)
        targets = await self.targets.get_info_for_dispatch(task.id)
        async with WebhookSender(self._clock, allows_private=self._allows_private, timeout=_SECONDS) as sender:
            for kind, event in (("task", task), ("status", update)) if has_result else (("status", update),):
                body = json.dumps(MessageToDict(to_stream_response(event))).encode()
                message_id = f"{task.id}-{task.status.state}-{task.status.timestamp.ToMilliseconds()}-{kind}"
                await asyncio.gather(*(_send_to(sender, target, message_id, body) for target in targets))


async def _send_to(sender: WebhookSender, target: TaskPushNotificationConfig, message_id: str, body: bytes) -> None:
    headers = {"X-A2A-Notification-Token": target.token} if target.token else {}
    authentication = target.authentication
    if authentication.scheme and authentication.credentials:
        headers["Authorization"] = f"{authentication.scheme} {authentication.credentials}"
    try:
        await sender.send(Webhook(target.url, headers=headers), message_id, body)
    except (NotificationError, ConfigurationError) as error:
        _logger.warning("a task of A2A: %s", error)
