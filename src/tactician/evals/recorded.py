"""Cases from what was recorded: runs, failed runs and their forks, and conversations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic_core import to_jsonable_python
from pydantic_evals import Case

from tactician.agents import BaseRunnable
from tactician.errors import AgentNotFoundError, StoredStateError
from tactician.llm import AssistantMessage, Message, Text, UserMessage
from tactician.platform import Platform
from tactician.process import Blackboard, UserInput
from tactician.process.saving.saved_state import is_process, read_board
from tactician.runs import RunState, RunStatus
from tactician.runs.life.inputs import NO_TYPES, restore_input
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.secrets import Masking
from tactician.suggestions import suggest_options

Mask: TypeAlias = Callable[[str], str]
_ENDED = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.TERMINATED)


@suggest_options
async def cases_from_runs(
    platform: Platform,
    *,
    mask: Mask | None = None,
    run_ids: Collection[str] = (),
    names: Collection[str] = (),
    status: str | Collection[str] = (),
    limit: int = 100,
) -> list[Case[Any, Any, Any]]:
    """Return a case for each recorded run, oldest first: its input, and its output as the expected output.

    A run that failed has no expected output, unless a fork of it has completed: then the newest of these forks says
    what the output should have been. Such forks are no cases of their own. The metadata of a case name its run.

    Args:
        platform: the platform with the store.
        mask: function that each text passes through. Keys and passwords are masked in any case.
        run_ids: the runs; by default the newest that have ended.
        names: names of agents; all by default.
        status: a single status, such as `"failed"`, or several; all runs that have ended, by default.
        limit: number of runs at most.

    Raises:
        RunNotFoundError: when the store has no such run.
        StoredStateError: when a run cannot be read.
    """
    statuses = (status,) if isinstance(status, str) else tuple(status) or tuple(each.value for each in _ENDED)
    runs, reader = RunStore(platform.store), _RunCases(platform, _Mask(mask))
    if run_ids:
        records = [await runs.load_readable((await platform.view_run(run_id)).id) for run_id in run_ids]
        listed = [record for record in records if record is not None]
    else:
        listed = await runs.find(statuses=statuses, names=names, limit=limit, newest_first=True)
        listed.reverse()
    return [case for record in _drop_corrections(listed) if (case := await reader.build(record, listed)) is not None]


@suggest_options
async def cases_from_conversations(
    platform: Platform, *, mask: Mask | None = None, ids: Collection[str] = (), limit: int = 100
) -> list[Case[Any, Any, Any]]:
    """Return a case for each answer in the conversations of a store: the messages before it, and its text.

    Args:
        platform: the platform with the store.
        mask: function that each text passes through. Keys and passwords are masked in any case.
        ids: ids of conversations; the newest by default.
        limit: number of conversations at most.
    """
    chosen = ids or [summary.id for summary in await platform.conversations.find_summaries(limit=limit)]
    masked, cases = _Mask(mask), list[Case[Any, Any, Any]]()
    for conversation_id in chosen:
        async with platform.conversations.look(conversation_id) as conversation:
            cases += _list_answers(conversation_id, list(conversation.messages), masked)
    return cases


def _list_answers(conversation_id: str, messages: Sequence[Message], mask: _Mask) -> list[Case[Any, Any, Any]]:
    cases: list[Case[Any, Any, Any]] = []
    spoken = [each for each in messages if isinstance(each, UserMessage | AssistantMessage) and each.text]
    for place, message in enumerate(spoken):
        if isinstance(message, AssistantMessage) and place and isinstance(spoken[place - 1], UserMessage):
            before = [_say(each, mask(each.text)) for each in spoken[:place]]
            cases.append(
                Case(
                    name=f"{conversation_id} {len(cases) + 1}",
                    inputs=before[0].text if len(before) == 1 else before,
                    expected_output=mask(message.text),
                    metadata={"conversation_id": conversation_id},
                )
            )
    return cases


def _say(message: UserMessage | AssistantMessage, text: str) -> UserMessage | AssistantMessage:
    """Return a message of the same speaker."""
    return UserMessage(text) if isinstance(message, UserMessage) else AssistantMessage((Text(text),))


class _Mask:
    """Mask of all texts in a value."""

    def __init__(self, mask: Mask | None) -> None:
        self._own, self._secrets = mask, Masking()

    def __call__(self, text: str) -> str:
        masked = self._secrets.mask(text, "")
        return masked if self._own is None else self._own(masked)

    def apply(self, value: object) -> object:
        """Return plain data with all of its texts masked; other objects without secrets to mask stay as they are."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {key: self.apply(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.apply(each) for each in value)
        if isinstance(value, UserInput):
            return UserInput(self(value.content))
        if isinstance(value, UserMessage | AssistantMessage):
            return _say(value, self(value.text))
        if value is None or isinstance(value, bool | int | float):
            return value
        plain = to_jsonable_python(value, fallback=repr)
        masked = self.apply(plain)
        return value if masked == plain else masked


class _RunCases:
    """Reader of stored runs as cases."""

    def __init__(self, platform: Platform, mask: _Mask) -> None:
        self._platform, self._mask, self._runs = platform, mask, RunStore(platform.store)

    async def build(self, record: RunRecord, listed: Sequence[RunRecord]) -> Case[Any, Any, Any] | None:
        """Return the case of a run; `None` for a run without an input."""
        header = record.header
        full = await self._runs.load(record.run_id)
        if full is None or (inputs := self._read_inputs(full, await self._load_beginning(full))) is None:
            return None
        corrected = [each for each in listed if _is_correction(each, record)]
        source = corrected[-1] if corrected else record if record.status is RunStatus.COMPLETED else None
        metadata = {"run_id": record.run_id, "agent": record.name, "status": record.status.value}
        if header.failure is not None:
            metadata["failure"] = self._mask(header.failure)
        if corrected:
            metadata["corrected_by"] = corrected[-1].run_id
        expected = None if source is None else self._mask.apply(await self._platform.output(source.run_id))
        return Case(name=record.run_id, inputs=inputs, expected_output=expected, metadata=metadata)

    async def _load_beginning(self, record: RunRecord) -> RunState:
        """Return the state of a run at its beginning, or of now, where its first step is gone."""
        try:
            return await self._runs.load_state(record, at=1)
        except StoredStateError:
            return await self._runs.load_state(record)

    def _read_inputs(self, record: RunRecord, state: RunState) -> object:
        data = state.tree.data
        if is_process(data):
            objects = [entry.value for entry in Blackboard.replay(read_board(data)).entries]
            objects = [getattr(each, "value", each) for each in objects]
            plain = [_simplify(each) for each in objects]
            return self._mask.apply(plain[0] if len(plain) == 1 else tuple(plain)) if plain else None
        return self._mask.apply(restore_input(state.start["input"], self._find_types(record.name)))

    def _find_types(self, name: str) -> Any:  # noqa: ANN401
        try:
            runnable = self._platform.find_agent(name)
        except AgentNotFoundError:
            return NO_TYPES
        return runnable.input_types if isinstance(runnable, BaseRunnable) else NO_TYPES


def _simplify(value: object) -> object:
    """Return an object of a blackboard as a case has it: text for what a user spoken, and data for what is stored."""
    if isinstance(value, UserInput):
        return value.content
    if isinstance(value, Mapping) and "type" in value and "value" in value:
        inner = value["value"]
        return inner["content"] if isinstance(inner, Mapping) and "content" in inner else inner
    return value


def _is_correction(fork: RunRecord, record: RunRecord) -> bool:
    origin = fork.header.forked_from
    return origin is not None and origin[0] == record.run_id and fork.status is RunStatus.COMPLETED


def _drop_corrections(listed: Sequence[RunRecord]) -> list[RunRecord]:
    return [each for each in listed if not any(_is_correction(each, other) for other in listed)]
