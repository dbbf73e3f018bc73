"""Requests of A2A, whatever their transport, as work on the durable runs of a platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.request_handler import validate_request_params
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InvalidRequestError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.input_mode_validator import validate_input_modes
from a2a.utils.task import apply_history_length, validate_history_length
from typing_extensions import override

from tactician.platform import Platform
from tactician.runs.progress.store import RunStore
from tactician.serve.a2a.card import CardSource
from tactician.serve.a2a.contexts import find_endpoint
from tactician.serve.a2a.executor import TaskExecutor
from tactician.serve.a2a.follower import TaskFollower
from tactician.serve.a2a.intake import TaskIntake
from tactician.serve.a2a.masking import mask_errors
from tactician.serve.a2a.notifications import Notifier
from tactician.serve.a2a.settings import A2aSettings
from tactician.serve.a2a.task_documents import TaskDocument, TaskDocuments
from tactician.serve.a2a.task_list import check_list_request, create_page
from tactician.serve.a2a.task_run import PublishedTask
from tactician.serve.a2a.task_states import ENDED, TaskViews


@mask_errors
class TaskHandler(RequestHandler):
    """Handler of the requests of A2A.

    Args:
        platform: platform with the store.
        runnable: the Runnable of all tasks.
        cards: the card, and the skills on it.
        settings: settings of the server.

    Attributes:
        notifier: notifier of changes of tasks.
        executor: executor of tasks.
        closing: set when the server stops.
    """

    def __init__(
        self,
        platform: Platform,
        runnable: PublishedTask,
        cards: CardSource,
        settings: A2aSettings,
    ) -> None:
        self._cards = cards
        self._settings = settings
        self._documents = TaskDocuments(platform.store)
        self._views = TaskViews(RunStore(platform.store), settings)
        self.notifier = Notifier(self._documents, self._views, settings, platform.services.clock)
        self.executor = TaskExecutor(platform, runnable, settings, self.notifier.notify)
        self.closing = asyncio.Event()
        self._intake = TaskIntake(self.executor, self._documents, self._views, settings)

    @override
    @validate_request_params
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        document = await self._accept(params, context)
        if params.configuration.return_immediately:
            return apply_history_length(await self._load_task(document.task_id), params.configuration)
        task = await self._follow(document.task_id).wait()
        if (reply := await self._views.find_reply(document)) is not None:
            return reply
        return apply_history_length(task, params.configuration)

    @override
    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        document = await self._accept(params, context)
        async for event in self._follow(document.task_id).follow(until_end=False):
            yield apply_history_length(event, params.configuration) if isinstance(event, Task) else event

    @override
    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        document = await self._find(params.id, context)
        task = await self._load_task(document.task_id)
        if task.status.state in ENDED:
            raise UnsupportedOperationError(f"The task {task.id} has ended: get it.")
        async for event in self._follow(document.task_id).follow(until_end=True):
            yield event

    @override
    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        validate_history_length(params)
        document = await self._find(params.id, context)
        return apply_history_length(await self._load_task(document.task_id), params)

    @override
    @validate_request_params
    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        check_list_request(params)
        listed = await self._documents.list_tasks(context.user.user_name, params.context_id or None)
        documents = [document for document in listed if _belongs_to(document, context)]
        views = [await self._view(document, with_result=params.include_artifacts) for document in documents]
        return create_page([task for task in views if task is not None], params)

    @override
    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        document = await self._find(params.id, context)
        if (await self._load_task(document.task_id)).status.state in ENDED:
            raise TaskNotCancelableError
        await self.executor.runs.cancel(document.task_id, "cancelled by the client")
        await self.notifier.notify(document.task_id)
        task = await self._load_task(document.task_id)
        if task.status.state != TaskState.TASK_STATE_CANCELED:
            raise TaskNotCancelableError
        return task

    @override
    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        await self._find(params.task_id, context)
        await self.notifier.check_address(params.url)
        return await self.notifier.targets.set_info(params.task_id, params, context)

    @override
    @validate_request_params
    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        await self._find(params.task_id, context)
        for config in await self.notifier.targets.get_info(params.task_id, context):
            if config.id == params.id:
                return config
        raise TaskNotFoundError(f"The task {params.task_id} has no target of notifications {params.id!r}.")

    @override
    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        await self._find(params.task_id, context)
        return ListTaskPushNotificationConfigsResponse(
            configs=await self.notifier.targets.get_info(params.task_id, context)
        )

    @override
    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        await self._find(params.task_id, context)
        await self.notifier.targets.delete_info(params.task_id, context, params.id)

    @override
    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        if find_endpoint(context) or (card := self._cards.find_extended_card()) is None:
            raise UnsupportedOperationError("There is no extended card.")
        if not context.user.is_authenticated:
            raise InvalidRequestError("The extended card is for authenticated users: send a token.")
        return card

    async def _accept(self, params: SendMessageRequest, context: ServerCallContext) -> TaskDocument:
        """Let a task run that a message starts or answers, and return its document."""
        message, configuration = params.message, params.configuration
        validate_history_length(configuration)
        validate_input_modes(message, self._cards.get_card())
        target = configuration.task_push_notification_config
        is_notified = configuration.HasField("task_push_notification_config")
        if is_notified:
            await self.notifier.check_address(target.url)
        if message.task_id:
            accepted = await self._intake.answer(message, await self._find(message.task_id, context))
        else:
            endpoint = find_endpoint(context)
            skills = self._cards.list_skills(endpoint, is_authenticated=context.user.is_authenticated)
            accepted = await self._intake.start(message, context.user.user_name, skills)
        if is_notified:
            await self.notifier.targets.set_info(accepted.document.task_id, target, context)
        await accepted.begin()
        return accepted.document

    async def _find(self, task_id: str, context: ServerCallContext) -> TaskDocument:
        """Return the document of a task of this user.

        Raises:
            TaskNotFoundError: when the task does not exist.
        """
        document = None if "\0" in task_id else await self._documents.load(task_id)
        is_visible = document is not None and _belongs_to(document, context)
        if document is None or not is_visible or document.owner != context.user.user_name:
            raise TaskNotFoundError(f"There is no task {task_id!r}.")
        return document

    async def _load_task(self, task_id: str) -> Task:
        """Return a task as it is now.

        Raises:
            TaskNotFoundError: when its run was deleted.
        """
        document = await self._documents.load(task_id)
        task = None if document is None else await self._view(document)
        if task is None:
            raise TaskNotFoundError(f"The task {task_id!r} no longer exists.")
        return task

    async def _view(self, document: TaskDocument, *, with_result: bool = True) -> Task | None:
        """Return a task, or delete what is left of it when its run was deleted."""
        is_running = self.executor.find_feed(document.task_id) is not None
        task = await self._views.view(document, is_running=is_running, with_result=with_result)
        if task is None:
            await self._documents.delete(document.task_id)
        return task

    def _follow(self, task_id: str) -> TaskFollower:
        return TaskFollower(
            task_id,
            self.executor.runs,
            lambda: self._load_task(task_id),
            lambda: self.executor.find_feed(task_id),
            self.closing,
        )


def _belongs_to(document: TaskDocument, context: ServerCallContext) -> bool:
    """Return whether a task is visible at the endpoint of a request: a skill's endpoint has the tasks of the skill."""
    return find_endpoint(context) in ("", document.skill)
