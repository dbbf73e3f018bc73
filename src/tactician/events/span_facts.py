"""What events say of the spans that they open and close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tactician.frozen import frozen


class MomentName(StrEnum):
    """Name of a moment of a run that people may be told in words of their own."""

    STARTED = "started"
    PLANNED = "planned"
    ACTING = "acting"
    ACTED = "acted"
    FAILED = "failed"
    WAITING = "waiting"
    COMPLETED = "completed"
    ENDED = "ended"


@frozen
class RunMoment:
    """RunMoment of a run, for a personality to put in words.

    Attributes:
        name: its name.
        values: what the words name: `agent`, `goals`, `plan`, `action` or `status`.
    """

    name: MomentName
    values: Mapping[str, str] = field(default_factory=dict)


class SpanKind(StrEnum):
    """Kind of span. Event classes of your own may have others."""

    RUN = "run"
    PLAN = "plan"
    ACTION = "action"
    MODEL = "model"
    TOOL = "tool"
    SEARCH = "search"
    TASK = "task"
    PHASE = "phase"
    REVIEW = "review"
    DELEGATION = "delegation"


@frozen
class SpanFacts:
    """Facts about a span that one of its events knows.

    Attributes:
        name: its name.
        status: its state after the event, such as `"completed"`, `"failed"` or `"waiting"`.
        error: why it failed.
        started: when it began, of a span whose beginning and end are in one event; the time of the event by default.
        ended: when it ended, likewise.
        facts: names, numbers and usage.
        content: what models, tools and people said, for those who want it.
        place: the place of a run in the outermost run, which is the same when that continues elsewhere.
        whole_content: content that is large or repeats other content, such as the whole conversation with a model.
    """

    name: str = ""
    status: str = ""
    error: str | None = None
    started: float | None = None
    ended: float | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    content: Mapping[str, object] = field(default_factory=dict)
    whole_content: Mapping[str, object] = field(default_factory=dict)
    place: str = ""


NO_FACTS = SpanFacts()
