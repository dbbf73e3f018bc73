"""What an agent is shown of a long conversation, and how it works on its own."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, cast

from tactician.blueprint.models import said
from tactician.blueprint.settings import (
    AutonomyPart,
    ChainPart,
    CompactionPart,
    ContextPart,
    SlidingPart,
    SummarizationPart,
)
from tactician.blueprint.snapshot import is_plainly_made
from tactician.conversation import (
    Chain,
    CompactToolResults,
    ContextStrategy,
    SlidingWindow,
    Summarization,
    TokenCounter,
)
from tactician.loop import Autonomous
from tactician.names import NameProblem

if TYPE_CHECKING:
    from tactician.blueprint.building import Builder
    from tactician.blueprint.snapshot import Snapshot


def strategy_of(part: ContextPart, builder: Builder) -> ContextStrategy | None:
    """The strategy that a part describes."""
    match part:
        case SlidingPart():
            counter = _counter(part, builder)
            return SlidingWindow(part.max_tokens, part.preserve_developer_messages, counter)
        case SummarizationPart():
            model, prompt = part.summarization_model, part.summarization_prompt
            return Summarization(part.max_tokens, part.keep_recent_messages, model, prompt, _counter(part, builder))
        case CompactionPart():
            return CompactToolResults(part.after, part.keep_last)
    inner = [strategy_of(one, builder.at("strategies", place)) for place, one in enumerate(part.strategies)]
    return Chain(tuple(one for one in inner if one is not None))


def context_part(strategy: ContextStrategy, snapshot: Snapshot) -> ContextPart | None:
    """What is to be said of a strategy; `None` when there are no words for it."""
    match strategy:
        case SlidingWindow():
            return SlidingPart(
                strategy_type="sliding",
                preserve_developer_messages=strategy.preserve_system,
                max_tokens=strategy.max_tokens,
                token_counter_class_name=_counter_name(strategy.counter, snapshot),
            )
        case Summarization():
            return SummarizationPart(
                strategy_type="summarization",
                summarization_model=strategy.model,
                keep_recent_messages=strategy.keep_recent,
                max_tokens=strategy.max_tokens,
                summarization_prompt=strategy.prompt,
                token_counter_class_name=_counter_name(strategy.counter, snapshot),
            )
        case CompactToolResults():
            return CompactionPart(strategy_type="compaction", after=strategy.after, keep_last=strategy.keep_last)
        case Chain():
            inner = [context_part(one, snapshot.at("strategies", n)) for n, one in enumerate(strategy.strategies)]
            said_of = tuple(one for one in inner if one is not None)
            return ChainPart(strategy_type="chain", strategies=said_of) if said_of else None
    snapshot.problem(f"a {type(strategy).__name__} has no place in a blueprint")
    return None


def autonomy_of(part: AutonomyPart) -> Autonomous:
    """The autonomy that a part describes."""
    given, groups = said(part), part.enabled_tool_groups
    given["max_iterations"] = part.max_iterations or None
    return Autonomous(**(given | {"enabled_tool_groups": None if groups is None else frozenset(groups)}))


def autonomy_part(autonomy: Autonomous) -> AutonomyPart:
    """What is to be said of an agent's autonomy."""
    given = {field.name: getattr(autonomy, field.name) for field in fields(autonomy)}
    groups = autonomy.enabled_tool_groups
    given["max_iterations"] = autonomy.max_iterations or 0
    return AutonomyPart.model_validate(given | {"enabled_tool_groups": None if groups is None else sorted(groups)})


def _counter(part: SlidingPart | SummarizationPart, builder: Builder) -> TokenCounter | None:
    if (name := part.token_counter_class_name) is None:
        return None

    def made() -> TokenCounter:
        kind = builder.names.find(name)
        if not isinstance(kind, type):
            raise NameProblem(f"{name!r} is no class")
        counter = builder.names.made(name, kind)
        if not callable(getattr(counter, "count", None)):
            raise NameProblem(f"{name!r} counts nothing: it has no method `count`")
        return cast("TokenCounter", counter)

    return builder.tried(made, "tokenCounterClassName")


def _counter_name(counter: TokenCounter | None, snapshot: Snapshot) -> str | None:
    if counter is None:
        return None
    kind = type(counter)
    if not is_plainly_made(counter):
        snapshot.problem(f"a {kind.__name__} was made with arguments, which no name tells", "tokenCounterClassName")
        return None
    return snapshot.import_path(kind, f"the class {kind.__name__}", "tokenCounterClassName")
