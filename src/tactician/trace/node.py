"""Nodes of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Final

import pydantic

from tactician.frozen import frozen
from tactician.llm import Usage

UNKNOWN_MODEL: Final = "unknown"


@frozen
class ModelUse:
    """Use of a model. What is not known is left out of the sums, and counted.

    Attributes:
        model: the model, as `instance:model`.
        requests: number of requests.
        input_tokens: tokens of the requests that reported them; `None` when none did.
        output_tokens: likewise.
        unmetered: number of requests that reported no tokens.
        cost: US dollars of the requests whose price is known; `None` when no price is.
        unpriced: number of requests whose price is not known.
    """

    model: str
    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    unmetered: int = 0
    cost: float | None = None
    unpriced: int = 0

    @classmethod
    def of(cls, usage: Usage, model: str) -> tuple[ModelUse, ...]:
        """Return the use of each model in a usage; what names no model counts for `model`."""
        return tuple(cls._of_part(part, part.model or model) for part in usage.parts or (usage,))

    @classmethod
    def _of_part(cls, usage: Usage, model: str) -> ModelUse:
        requests = max(usage.requests, 1)
        if not usage.total_tokens:
            return cls(model or UNKNOWN_MODEL, requests, unmetered=requests, unpriced=requests)
        cost = usage.cost
        return cls(
            model or UNKNOWN_MODEL,
            requests,
            usage.input_tokens,
            usage.output_tokens,
            cost=cost,
            unpriced=requests if cost is None else 0,
        )

    @property
    def total_tokens(self) -> int | None:
        """Known input and output tokens together; `None` when nothing is known."""
        return _add(self.input_tokens, self.output_tokens)

    def __add__(self, other: ModelUse) -> ModelUse:
        return ModelUse(
            self.model if self.model == other.model else "",
            self.requests + other.requests,
            _add(self.input_tokens, other.input_tokens),
            _add(self.output_tokens, other.output_tokens),
            self.unmetered + other.unmetered,
            None if self.cost is None and other.cost is None else (self.cost or 0.0) + (other.cost or 0.0),
            self.unpriced + other.unpriced,
        )


@frozen
class TracePause:
    """Time in which a node waited, or nobody ran it.

    Attributes:
        started: seconds since the epoch.
        ended: seconds since the epoch.
    """

    started: float
    ended: float


@frozen
class TraceNote:
    """Something that happened inside a node, and took no time of its own.

    Attributes:
        kind: the type of the event.
        time: seconds since the epoch.
        text: a line without content.
        content: the words of people or models.
    """

    kind: str
    time: float
    text: str
    content: Mapping[str, pydantic.JsonValue] = field(default_factory=dict)


@frozen
class TraceNode:
    """Node of a trace: a run, a task, a call of a model, a tool, or whatever else begins and ends.

    Attributes:
        id: the id of the event that began it.
        kind: its kind, as in `SpanKind`.
        name: its name.
        started: its beginning, in seconds since the epoch.
        ended: its end; `None` when no event tells of it.
        status: `"completed"`, `"failed"`, `"waiting"`, `"running"`, `"interrupted"`, or another status of its run.
        run_id: the run.
        task_id: the task of an ensemble that it is, or is a part of.
        error: why it failed.
        pauses: times in which it waited.
        used: use of models by itself, without the nodes inside it.
        facts: names and numbers.
        content: the words of models, tools and people, as far as they were captured.
        notes: what happened inside it.
        children: the nodes inside it, in the order in which they began.
    """

    id: str
    kind: str
    name: str
    started: float
    ended: float | None = None
    status: str = "running"
    run_id: str = ""
    task_id: str | None = None
    error: str | None = None
    pauses: tuple[TracePause, ...] = ()
    used: tuple[ModelUse, ...] = ()
    facts: Mapping[str, pydantic.JsonValue] = field(default_factory=dict)
    content: Mapping[str, pydantic.JsonValue] = field(default_factory=dict)
    notes: tuple[TraceNote, ...] = ()
    children: tuple[TraceNode, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Seconds from its beginning to its end, pauses included; `None` when no event tells of its end."""
        return None if self.ended is None else max(0.0, self.ended - self.started)

    @property
    def use_by_model(self) -> dict[str, ModelUse]:
        """Use of each model by the node and all inside it."""
        return merge_uses(use for node in self.walk() for use in node.used)

    @property
    def total_use(self) -> ModelUse:
        """Use of all models by the node and all inside it."""
        return sum_uses(self.use_by_model.values())

    @property
    def cost(self) -> float | None:
        """US dollars of the node and all inside it, as far as prices are known; `None` when no price is."""
        return self.total_use.cost

    def walk(self) -> Iterator[TraceNode]:
        """Yield the node, and then all inside it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def merge_uses(uses: Iterable[ModelUse]) -> dict[str, ModelUse]:
    """Return the sum of uses by model."""
    merged: dict[str, ModelUse] = {}
    for use in uses:
        merged[use.model] = merged[use.model] + use if use.model in merged else use
    return merged


def sum_uses(uses: Iterable[ModelUse]) -> ModelUse:
    """Return the sum of uses of all models."""
    total = ModelUse("")
    for use in uses:
        total += replace(use, model="")
    return total


def _add(left: int | None, right: int | None) -> int | None:
    return right if left is None else left + (right or 0)
