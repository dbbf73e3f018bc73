"""Traces of stored runs, made from their steps: no listener has to be there while they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pydantic import JsonValue

from tactician.events import SpanKind, encode
from tactician.llm import AssistantMessage, Message, UsageTally, describe_messages
from tactician.loop import read_messages
from tactician.platform.run_views import RunView
from tactician.process import ActionRun, read_history
from tactician.runs import Live, RunStatus, RunStep
from tactician.trace import ModelUse, TraceNode, TraceNote, TracePause, merge_uses, subtract_use

_Keys: TypeAlias = tuple[str, ...]
_KINDS: Final = {
    "task": SpanKind.TASK,
    "draft": SpanKind.TASK,
    "revision": SpanKind.TASK,
    "skipped": SpanKind.TASK,
    "phase": SpanKind.PHASE,
    "review": SpanKind.REVIEW,
    "phase_review": SpanKind.REVIEW,
    "remote task": SpanKind.DELEGATION,
}
"""Kinds of nodes, by the kinds of the steps that complete them."""
_HASH_LENGTH: Final = 16
_RESTING: Final = frozenset({"waiting", "paused", "resting", "stuck"})


@dataclass(slots=True, eq=False)
class _OpenNode:
    """Node while its steps are read.

    Attributes:
        last: time of its last step, or of the last step inside it.
        answer: the last answer of a model in it, whose tool calls its next steps carry out.
    """

    id: str
    kind: str
    name: str
    started: float
    last: float
    ended: float | None = None
    status: str = "completed"
    error: str | None = None
    pauses: list[TracePause] = field(default_factory=list)
    used: list[ModelUse] = field(default_factory=list)
    facts: dict[str, JsonValue] = field(default_factory=dict)
    content: dict[str, JsonValue] = field(default_factory=dict)
    notes: list[TraceNote] = field(default_factory=list)
    inside: list[_OpenNode] = field(default_factory=list)
    answer: AssistantMessage | None = None

    def close(self, run_id: str, further: Iterable[TraceNode] = ()) -> TraceNode:
        """Return the finished node, with further nodes inside it."""
        children = sorted((*(child.close(run_id) for child in self.inside), *further), key=lambda node: node.started)
        return TraceNode(
            self.id,
            self.kind,
            self.name,
            self.started,
            self.last if self.ended is None else self.ended,
            self.status,
            run_id,
            error=self.error,
            pauses=tuple(self.pauses),
            used=tuple(self.used),
            facts=self.facts,
            content=self.content,
            notes=tuple(self.notes),
            children=tuple(children),
        )


class StoredTraceBuilder:
    """Builder of the tree of a stored run, from its steps.

    Args:
        view: the run.
        steps: its steps, oldest first.
        inside: trees of the runs inside it that have records of their own.
    """

    def __init__(self, view: RunView, steps: Sequence[RunStep], inside: Iterable[TraceNode] = ()) -> None:
        self._view = view
        self._steps = steps
        self._inside = tuple(inside)
        began = view.started_at or (steps[0].at if steps else view.changed_at or 0.0)
        self._root = _OpenNode(view.id, SpanKind.RUN, view.name, began, began, status=view.status)
        self._open: dict[_Keys, _OpenNode] = {(): self._root}
        self._spent: dict[str, ModelUse] = {}
        self._rested_at: float | None = None

    def build(self) -> TraceNode:
        """Return the node of the run."""
        for number, step in enumerate(self._steps, start=1):
            self._add(step, str(number))
        if not self._steps:  # a process of this program, which no store has
            self._add_history(self._root, (), self._view.history, self._view.id)
        self._describe_run()
        return self._root.close(self._view.id, self._inside)

    def _add(self, step: RunStep, number: str) -> None:
        """Add a step. What it did began when the step before it in the same run ended."""
        keys = step.path[1:]
        node = self._find(keys, step.at)
        if self._rested_at is not None:
            self._root.pauses.append(TracePause(self._rested_at, step.at))
            self._rested_at = None
        used, node_id = self._take_usage(step), f"{self._view.id}#{number}"
        match step.kind:
            case "answer":
                self._add_model_call(node, step, node_id, used)
                used = ()
            case "tool":
                self._add_tool_call(node, keys, step, node_id)
            case "action":
                self._add_actions(node, keys, step, node_id)
            case "output" | "function":
                node.content["output"] = step.detail
            case kind if kind in _KINDS:
                self._complete(node, keys, step, node_id)
            case _:
                self._note(step)
        node.used += used
        self._drop(step)
        self._touch(keys, step.at)

    def _add_model_call(self, around: _OpenNode, step: RunStep, id: str, used: Sequence[ModelUse]) -> None:
        messages = _find_messages(step)
        call = _OpenNode(id, SpanKind.MODEL, step.name, around.last, step.at, used=list(used))
        if messages and isinstance(messages[-1], AssistantMessage):
            around.answer = messages[-1]
            call.content["answer"] = encode(describe_messages(messages[-1:]))
            messages = messages[:-1]
        if messages:
            call.content["prompt"] = encode(describe_messages(messages))
        around.inside.append(call)

    def _add_tool_call(self, around: _OpenNode, keys: _Keys, step: RunStep, id: str) -> None:
        """Add the call of a tool; the run that it was, if any, is its content."""
        calls = () if around.answer is None else around.answer.tool_calls
        named = [call for call in calls if call.name == step.name]
        call = next((call for call in named if (*keys, call.id) in self._open), named[0] if named else None)
        inside = None if call is None else self._open.pop((*keys, call.id), None)
        node = inside or _OpenNode(id, SpanKind.TOOL, step.name, around.last, step.at)
        node.kind, node.name, node.ended = SpanKind.TOOL, step.name, step.at
        if call is not None:
            node.content["arguments"] = call.arguments
        node.content["result"] = step.detail
        if inside is None:
            around.inside.append(node)

    def _add_actions(self, around: _OpenNode, keys: _Keys, step: RunStep, id: str) -> None:
        """Add the actions that a step ended, with what they put onto the blackboard."""
        nodes = self._add_history(around, keys, _find_action_runs(step), id)
        if nodes and (objects := _find_objects(step)):
            nodes[-1].content["objects"] = objects

    def _add_history(self, around: _OpenNode, keys: _Keys, runs: Iterable[ActionRun], id: str) -> list[_OpenNode]:
        """Add actions. What ran inside an action is known already."""
        return [self._add_action(around, keys, run, f"{id}.{place}") for place, run in enumerate(runs)]

    def _add_action(self, around: _OpenNode, keys: _Keys, run: ActionRun, id: str) -> _OpenNode:
        node = self._open.pop((*keys, run.action), None)
        if node is None:
            node = _OpenNode(id, SpanKind.ACTION, run.action, run.started_at, run.started_at)
            around.inside.append(node)
        node.kind, node.started, node.ended = SpanKind.ACTION, run.started_at, run.started_at + run.seconds
        node.status, node.error = "completed" if run.error is None else "failed", run.error
        node.facts["outputs"] = list(run.outputs)
        if run.attempts > 1:
            node.facts["attempts"] = run.attempts
        return node

    def _complete(self, around: _OpenNode, keys: _Keys, step: RunStep, id: str) -> None:
        """End a task, a phase or a review: the node of its run, if any."""
        candidates = [own for own in self._open if own[:-1] == keys and own and _is_key_of(own[-1], step.name)]
        inside = self._open[candidates[-1]] if candidates else None
        own = around if keys and _is_key_of(keys[-1], step.name) else inside
        node = own or _OpenNode(id, SpanKind.RUN, step.name, around.last, step.at)
        node.kind, node.name, node.ended = _KINDS[step.kind], step.name, step.at
        node.status = "skipped" if step.kind == "skipped" else "completed"
        node.content["decision" if node.kind == SpanKind.REVIEW else "output"] = step.detail
        if own is None:
            around.inside.append(node)

    def _note(self, step: RunStep) -> None:
        if step.kind in ("suspended", *_RESTING):
            self._rested_at = step.at
        if step.kind != "progress":
            text = " ".join(filter(None, (step.name, step.detail)))
            self._root.notes.append(TraceNote(_name_step(step), step.at, text))

    def _find(self, keys: _Keys, at: float) -> _OpenNode:
        """Return the node of a run inside the run; with the nodes around it, if nothing is known of it yet."""
        if (known := self._open.get(keys)) is not None:
            return known
        around = self._find(keys[:-1], at)
        node = _OpenNode(f"{self._view.id}/{'/'.join(keys)}@{at}", SpanKind.RUN, keys[-1], around.last, around.last)
        around.inside.append(node)
        self._open[keys] = node
        return node

    def _drop(self, step: RunStep) -> None:
        """Close the nodes whose checkpoints the step dropped: the next run of the name is another."""
        for operation in step.operations:
            if operation.kind == "drop":
                for keys in [keys for keys in self._open if keys[: len(operation.keys)] == operation.keys and keys]:
                    del self._open[keys]

    def _touch(self, keys: _Keys, at: float) -> None:
        for end in range(len(keys) + 1):
            if (node := self._open.get(keys[:end])) is not None:
                node.last = max(node.last, at)

    def _take_usage(self, step: RunStep) -> tuple[ModelUse, ...]:
        """Return what models used since the last step."""
        usages = UsageTally.of(step.spent["usage"]).by_model
        now = merge_uses(use for model, usage in usages.items() for use in ModelUse.of(usage, model))
        used = [subtract_use(use, self._spent.get(model)) for model, use in now.items()]
        self._spent = now
        return tuple(use for use in used if use.requests)

    def _describe_run(self) -> None:
        view, root = self._view, self._root
        is_over = view.status in _RESTING or RunStatus(view.status).is_terminal
        root.ended, root.error = root.last if is_over else None, view.failure
        forked = None if view.forked_from is None else f"{view.forked_from[0]}, step {view.forked_from[1]}"
        facts = {"runnable": view.kind, "goal": view.goal, "forked from": forked, "model": view.model}
        root.facts |= {name: fact for name, fact in facts.items() if fact}
        if view.output:
            root.content["output"] = view.output
        if view.objects:
            root.content["blackboard"] = [
                {"type": item.type, "name": item.binding, "value": item.value, "hidden": item.is_hidden}
                for item in view.objects
            ]
        if view.conditions:
            root.content["conditions"] = dict(view.conditions)
        for request in view.pending:
            root.notes.append(TraceNote("waits for", root.last, f"{request.kind} {request.id}: {request.prompt}"))


def _is_key_of(key: str, name: str) -> bool:
    """Return whether a key of a checkpoint stands for a name: long names are cut, with a hash behind them."""
    beginning, dash, digest = key.rpartition("-")
    return key == name or bool(dash and len(digest) == _HASH_LENGTH and name.startswith(beginning))


def _name_step(step: RunStep) -> str:
    return "RunSuspended" if step.kind == "suspended" else step.kind


def _find_messages(step: RunStep) -> tuple[Message, ...]:
    """Return the messages that a step added to the conversation of its run."""
    keys = step.path[1:]
    return tuple(
        message
        for operation in step.operations
        if operation.keys == keys and "messages" in operation.data
        for message in read_messages(operation.data)
    )


def _find_action_runs(step: RunStep) -> Iterator[ActionRun]:
    """Yield the actions that ended with a step."""
    for operation in step.operations:
        if operation.keys == step.path[1:] and "history" in operation.data:
            yield from read_history(operation.data)


def _find_objects(step: RunStep) -> list[JsonValue]:
    """Return the objects that a step added to the blackboard."""
    entries = (
        entry
        for operation in step.operations
        if isinstance(board := operation.data.get("board"), list)
        for entry in board
    )
    values = (entry.get("value") for entry in entries if isinstance(entry, Mapping) and entry.get("kind") == "add")
    return [encode(value.encode() if isinstance(value, Live) else value) for value in values]
