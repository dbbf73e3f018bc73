"""What an editor shows of a run: its text, its thoughts, and the calls of tools with their changes of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from acp.helpers import (
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ContentToolCallContent,
    FileEditToolCallContent,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolKind,
    UserMessageChunk,
)

from tactician.coding.events import FileChanged, SuiteMeasured
from tactician.coding.tools.approvals import describe_change
from tactician.events import Event
from tactician.llm import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from tactician.loop import ThinkingReceived, ToolAnswered, ToolCalled, ToolReturned
from tactician.loop.answer_text import AnswerReader
from tactician.runs import RunCompleted
from tactician.secret_pieces import PieceMasking
from tactician.secrets import Masking

Update: TypeAlias = AgentMessageChunk | AgentThoughtChunk | ToolCallStart | ToolCallProgress | UserMessageChunk
_CallContent: TypeAlias = ContentToolCallContent | FileEditToolCallContent
_MOST_SHOWN: Final = 20_000
"""Characters of a result of a tool that an editor gets."""
_KINDS: Final[dict[str, ToolKind]] = {
    "read_file": "read",
    "glob": "search",
    "grep": "search",
    "symbols": "search",
    "repository_map": "search",
    "edit_file": "edit",
    "replace_lines": "edit",
    "apply_patch": "edit",
    "write_file": "edit",
    "shell": "execute",
    "run_tests": "execute",
    "build": "execute",
    "git": "execute",
}
_EDITS: Final = ("edit_file", "write_file")


class UpdateWriter:
    """Writer of the updates of a session.

    Args:
        root: the folder of the session: editors want whole paths.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._masking = Masking()
        self._reader = AnswerReader()
        self._text = PieceMasking(self._masking)
        self._thoughts = PieceMasking(self._masking)
        self._shown: set[str] = set()
        self._turn = 0

    def begin(self) -> None:
        """Begin a new run of the session."""
        self._turn += 1
        self._reader = AnswerReader()
        self._text, self._thoughts = PieceMasking(self._masking), PieceMasking(self._masking)

    def write(self, event: Event) -> Iterator[Update]:
        """Yield the updates for an event of a run."""
        if text := self._text.add(self._reader.read(event)):
            yield update_agent_message_text(text)
        match event:
            case ThinkingReceived() if thought := self._thoughts.add(event.text):
                yield update_agent_thought_text(thought)
            case ToolCalled():
                yield from self._flush()
                yield self.show_call(event.call)
            case ToolReturned() | ToolAnswered():
                yield self._end_call(event.call, event.result)
            case SuiteMeasured():
                yield update_agent_thought_text(f"{event.describe().capitalize()}.\n")
            case FileChanged() if event.kind == "deleted":
                yield update_agent_thought_text(f"{event.file} was deleted.\n")
            case RunCompleted():
                yield from self._flush()

    def write_text(self, text: str) -> AgentMessageChunk:
        """Return the update for a text that is not the model's."""
        return update_agent_message_text(self._masking.mask(text))

    def _flush(self) -> Iterator[Update]:
        """Yield what waited for the end of a word."""
        if text := self._text.finish():
            yield update_agent_message_text(text)
        if thought := self._thoughts.finish():
            yield update_agent_thought_text(thought)

    def name_call(self, call: ToolCall) -> str:
        """Return the id of a call for the editor: the ids of models repeat in later prompts."""
        return f"{self._turn}:{call.id}"

    def show_call(self, call: ToolCall) -> ToolCallStart | ToolCallProgress:
        """Return the update for a call that begins, or that waits for a permission and is known by then."""
        call_id = self.name_call(call)
        if call_id in self._shown:
            return update_tool_call(call_id, status="in_progress")
        self._shown.add(call_id)
        return self._start(call, call_id)

    def _start(self, call: ToolCall, call_id: str) -> ToolCallStart:
        arguments = _read(call)
        return start_tool_call(
            call_id,
            self._masking.mask(_describe(call, arguments)),
            kind=_KINDS.get(call.name, "other"),
            status="in_progress",
            content=self._write_content(call, arguments),
            locations=self._locate(arguments),
            raw_input=self._masking.mask_json(dict(arguments)),
        )

    def _write_content(self, call: ToolCall, arguments: Mapping[str, str]) -> list[_CallContent]:
        """Return a change of a file as the editor draws it, or the patch or the command in words."""
        if call.name in _EDITS and "path" in arguments:
            after = arguments.get("new_text", arguments.get("content", ""))
            path = str(self._root / arguments["path"])
            mask = self._masking.mask
            before = arguments.get("old_text")
            return [tool_diff_content(path, mask(after), None if before is None else mask(before))]
        question = describe_change(call)
        return [] if question is None else [self._show(question.partition("\n")[2])]

    def _show(self, text: str) -> ContentToolCallContent:
        return tool_content(text_block(self._masking.mask(text[:_MOST_SHOWN])))

    def _locate(self, arguments: Mapping[str, str]) -> list[ToolCallLocation]:
        path = arguments.get("path")
        return [] if path is None else [ToolCallLocation(path=str(self._root / path))]

    def _end_call(self, call: ToolCall, result: ToolResult) -> ToolCallProgress:
        """Return the update for the end of a call. A change that was made stays as it was shown."""
        is_shown = call.name in _EDITS and not result.is_error
        return update_tool_call(
            self.name_call(call),
            status="failed" if result.is_error else "completed",
            content=None if is_shown else [self._show(result.content)],
        )

    def replay(self, message: Message) -> Iterator[Update]:
        """Yield the updates for a message of an earlier conversation."""
        mask = self._masking.mask
        match message:
            case UserMessage():
                self._turn += 1
                yield update_user_message_text(mask(message.text))
            case AssistantMessage():
                if message.text:
                    yield update_agent_message_text(mask(message.text))
                for call in message.tool_calls:
                    yield self._start(call, self.name_call(call))
            case ToolResult():
                yield self._end_call(ToolCall(message.call_id, message.name, "{}"), message)


def _read(call: ToolCall) -> dict[str, str]:
    """Return the arguments of a call that are texts; none of a call that cannot be read."""
    try:
        return {name: value for name, value in call.parse_arguments().items() if isinstance(value, str)}
    except ValueError:
        return {}


def _describe(call: ToolCall, arguments: Mapping[str, str]) -> str:
    """Return the title of a call: the tool and what it is about."""
    subjects = (arguments.get(name) for name in ("command", "path", "pattern", "name", "arguments", "action"))
    subject = next((subject for subject in subjects if subject), "")
    first = subject.partition("\n")[0]
    return f"{call.name.replace('_', ' ')} {first}".strip()
