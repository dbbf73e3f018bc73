"""Arguments of another kind, as a program without a type checker passes them: mistakes with their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from math import inf, nan
from typing import Any

import pytest

from tactician import (
    Agent,
    Delegation,
    Ensemble,
    HierarchicalConstraints,
    Phase,
    PhaseReview,
    Review,
    Task,
    Workflow,
)
from tactician.ensemble import DelegationRequest, EnsembleDefinitionError
from tactician.errors import DeclarationError, TacticianError
from tests.ensemble.support import over, places_of

WRONG: Sequence[object] = (
    None, 0, -1, 5, 2.5, nan, inf, True, "", " ", "x", b"x", [], [None], [{}], ["x"], {}, {"a": 1}, {1: 2}, object(),
    Agent, Agent(role="A"), Task("t"), (Task("u"),), Phase("p", [Task("v")]), Workflow.PARALLEL, Review.after(),
    "\ud800" * 99,
)  # fmt: skip


def approve(_: object) -> str:
    """Approve."""
    return "APPROVE"


def constrained(**limits: object) -> Ensemble:
    """Return a hierarchy with these limits."""
    limit: Any = HierarchicalConstraints
    return Ensemble("E", [Task("t", role="A")], workflow=Workflow.HIERARCHICAL, constraints=limit(**limits))


MAKERS: dict[str, tuple[Callable[..., Any], Callable[..., object]]] = {
    "Task": (Task, lambda **more: Ensemble("E", [Task(**{"description": "d", **more})])),
    "Ensemble": (Ensemble, lambda **more: Ensemble(**{"name": "E", "tasks": [Task("t")], **more})),
    "Phase": (Phase, lambda **more: Ensemble("E", phases=[Phase(**{"name": "P", "tasks": [Task("t")], **more})])),
    "PhaseReview": (PhaseReview, lambda **more: PhaseReview(**{"reviewer": approve, **more})),
    "by_person": (PhaseReview.by_person, PhaseReview.by_person),
    "Review": (Review.after, Review.after),
    "HierarchicalConstraints": (HierarchicalConstraints, constrained),
    "Delegation": (Delegation, Delegation),
    "DelegationRequest": (DelegationRequest, lambda **more: DelegationRequest(**{"role": "r", "task": "t", **more})),
}
PLACES = [(name, place) for name, (kind, _) in MAKERS.items() for place in signature(kind).parameters if place != "_"]


async def check(name: str, place: str, value: object) -> str | None:
    """Return what is wrong with a value of an argument."""
    try:
        made = MAKERS[name][1](**{place: value})
        if isinstance(made, Ensemble):
            await made.check(context=over())
    except TacticianError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("name", "place"), PLACES)
async def test_whatever_is_passed_is_taken_or_is_a_mistake_with_its_place(name: str, place: str) -> None:
    messages = [message for value in WRONG if (message := await check(name, place, value)) is not None]
    assert [message for message in messages if place not in message] == []
    is_free = (name, place) == ("DelegationRequest", "output_type")
    assert is_free or messages, "nothing is wrong"


@pytest.mark.parametrize(
    ("make", "place", "message"),
    [
        (lambda some: Task("Go", context=some), "context", "is not a list"),
        (lambda some: Task("Go", tools=some), "tools", "is not a list"),
        (lambda some: Task("Go", role=some), "role", "is not a text"),
        (lambda some: Task("Go", max_tool_calls=some), "max_tool_calls", "is not a whole number"),
        (lambda some: Task("Go", memory=[some]), "memory", "is not a list of texts"),
        (lambda some: Ensemble("E", some), "tasks", "is not a list"),
        (lambda some: Ensemble("E", [Task("t")], agents=some), "agents", "is not a list"),
        (lambda some: Ensemble("E", [Task("t")], rate_limit=some), "rate_limit", "is not a number"),
        (lambda some: Ensemble("E", phases=some), "phases", "is not a list"),
        (lambda some: Phase("p", some), "tasks", "is not a list"),
        (lambda some: Phase("p", [Task("t")], after=some), "after", "is not a list"),
        (lambda some: PhaseReview(approve, max_retries=some), "max_retries", "is not a whole number"),
        (lambda some: PhaseReview.by_person(some), "role", "is not a text"),
    ],
)
def test_an_object_of_another_kind_is_named_with_its_place(
    make: Callable[[Any], object], place: str, message: str
) -> None:
    with pytest.raises(EnsembleDefinitionError, match=message) as caught:
        make(Task("Some"))
    assert places_of(caught.value.problems)[0] == place


def test_the_other_mistakes_are_reported_with_it() -> None:
    wrong: Any = Task("Research")
    with pytest.raises(EnsembleDefinitionError) as caught:
        Task("Go", context=wrong, max_tool_calls=0, role=5)  # type: ignore[call-overload]
    assert places_of(caught.value.problems) == ["role", "context", "max_tool_calls"]
    with pytest.raises(EnsembleDefinitionError) as caught:
        Ensemble("", wrong, max_parallel=True, on_error="stop")  # type: ignore[arg-type]
    assert places_of(caught.value.problems) == ["tasks", "max_parallel", "name", "on_error"]


def test_a_request_of_a_delegation_takes_the_text_of_a_priority() -> None:
    request = replace(DelegationRequest("Writer", "Write"), priority="high")  # type: ignore[arg-type]
    assert request.priority.value == "high"
    assert request.priority is type(request.priority).HIGH
    with pytest.raises(DeclarationError, match="priority: 'urgent' is not a DelegationPriority"):
        replace(request, priority="urgent")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "place"),
    [
        ({"max_calls_per_worker": {"A": "2"}}, "max_calls_per_worker['A']"),
        ({"max_calls_per_worker": ["A"]}, "max_calls_per_worker"),
        ({"required_workers": [3]}, "required_workers"),
        ({"stages": [[3]]}, "stages[0]"),
        ({"stages": 3}, "stages"),
        ({"max_delegations": "3"}, "max_delegations"),
    ],
)
async def test_limits_of_another_kind_are_named_with_their_place(limits: dict[str, object], place: str) -> None:
    with pytest.raises(EnsembleDefinitionError) as caught:
        await constrained(**limits).check(context=over())
    assert places_of(caught.value.problems) == [f"constraints.{place}"]


async def test_a_long_id_of_any_characters_is_a_key() -> None:
    result = await Ensemble("E", [Task("\ud800" * 99, handler=lambda _: "done")]).run(context=over())
    assert result.raw == "done"
