"""What processes with the same context id have found out, from one to the next."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tactician.errors import RunConflictError, StoredStateError
from tactician.process import (
    AgentProcess,
    Blackboard,
    PlannedAgentSpec,
    Rejection,
    SavedObject,
    UserInput,
    restored_board,
    saved_objects,
)
from tactician.runs import RunStore

_ATTEMPTS = 5


async def known_in(store: RunStore, context_id: str, agent: PlannedAgentSpec, board: Blackboard) -> Blackboard:
    """A blackboard with the objects of a context that the agent knows the types of, and then those of another one.

    What a goal of the agent gives is left out: it is to be given anew, whoever has found it out on the way.

    Raises:
        StoredStateError: when the context cannot be read.
    """
    kept = await store.load_context(context_id)
    saved = [] if kept is None else _read(context_id, kept[0])
    known = [one for one in saved if one["type"] in agent.types]
    found, anew = restored_board(known, {}, agent), tuple(_given_anew(agent))
    entries = (entry for entry in found.entries if not isinstance(entry.value, anew))
    return Blackboard.of((*entries, *board.entries), board.conditions)


async def keep_context(store: RunStore, context_id: str, process: AgentProcess) -> None:
    """Adds what a process has found out to its context: what is visible on its blackboard, but for what somebody typed
    and for its result, which the next process is to give anew. What is there already is not added again.

    Raises:
        RunConflictError: when others change the context again and again.
    """
    result = process.result
    said = UserInput | Rejection
    found = [e for e in process.blackboard.entries if e.value is not result and not isinstance(e.value, said)]
    fresh = [one for one in saved_objects(Blackboard.of(found, {})) if not one["hidden"]]
    for attempt in range(_ATTEMPTS):
        kept = await store.load_context(context_id)
        text, version = ("[]", 0) if kept is None else kept
        saved = _read(context_id, text)
        added = [one for one in fresh if one not in saved]
        try:
            await store.save_context(context_id, to_json([*saved, *added]).decode(), version)
        except RunConflictError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def _given_anew(agent: PlannedAgentSpec) -> Iterator[type]:
    """The types that keep the action of a goal from running when one is there."""
    for goal in agent.goals:
        action = agent.action(goal.name)
        if action.plan.pre.get(action.condition_ran) is False:
            taken = (*action.input_types, *action.optional_types)
            yield from (kind for kind in goal.output_types if not any(issubclass(one, kind) for one in taken))


def _read(context_id: str, text: str) -> list[SavedObject]:
    try:
        return TypeAdapter(list[SavedObject]).validate_json(text)
    except ValidationError as error:
        raise StoredStateError(f"The context {context_id!r} cannot be read: {error}") from error
