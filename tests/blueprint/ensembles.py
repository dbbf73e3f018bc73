"""Any ensemble, for hypothesis: tasks with all that a blueprint can say of them, alone or in phases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tactician import Agent, Budget, Ensemble, HierarchicalConstraints, Phase, PhaseReview, Review, Task, Workflow
from tactician.context_format import ContextFormat
from tactician.ensemble import Delegation, ReviewPolicy
from tests.blueprint import acme
from tests.blueprint.constellations import agents, labels, models, numbers, texts, tools, traces, types

filled = texts.filter(str.strip)
reviews = st.lists(
    st.builds(Review.after, st.none() | filled, timeout=st.none() | st.integers(0, 99).map(float))
    | st.just(Review.before(required_role="editor", on_timeout="reject")),
    max_size=1,
)


@st.composite
def tasks(draw: st.DrawFn, name: str, shared: Agent[object], context: list[Task]) -> Task:
    """A task, which may have some of these as context."""
    settings: dict[str, Any] = {
        "id": draw(st.sampled_from([f"{name} task", ""])),
        "expected_output": draw(st.just("") | filled),
        "context": draw(st.none() | st.lists(st.sampled_from(context), unique=True)) if context else None,
        "max_output_retries": draw(st.integers(0, 9)),
        "max_tool_calls": draw(numbers),
        "max_tool_output_chars": draw(st.none() | numbers),
        "output_guardrails": draw(st.sampled_from([[], [acme.Polite]])),
        "when": draw(st.sampled_from([None, acme.is_due])),
        "review": draw(reviews),
    }
    kind = draw(st.sampled_from(["agent", "shared", "made", "handler"]))
    if kind == "handler":
        settings["handler"] = acme.count_words
    elif kind == "made":
        settings |= {"role": draw(st.none() | filled), "goal": draw(st.none() | filled), "model": draw(models())}
        settings |= {"output_type": draw(types), "tools": draw(tools)}
    else:
        settings["agent"] = shared if kind == "shared" else draw(agents())
    return Task(f"{name} {draw(texts)}", **settings)


@st.composite
def phase_reviews(draw: st.DrawFn, seen: list[Task]) -> PhaseReview | None:
    """A review by a task, a function or a person; or none."""
    person = PhaseReview.by_person(
        draw(st.none() | filled), prompt=draw(texts), timeout=draw(st.none() | numbers.map(float))
    )
    task = Task("Review it", context=draw(st.none() | st.just(seen)), role=draw(st.none() | filled))
    limit = draw(st.integers(0, 5))
    return draw(st.sampled_from([None, person, PhaseReview(task, limit), PhaseReview(acme.check_length, 2, limit)]))


@st.composite
def ensembles(draw: st.DrawFn) -> Ensemble:
    """An ensemble of tasks or of phases."""
    settings: dict[str, Any] = {
        "model": draw(models()),
        "tools": draw(tools),
        "description": draw(st.none() | filled),
        "on_error": draw(st.sampled_from(["fail_fast", "continue"])),
        "max_parallel": draw(st.none() | numbers),
        "review_policy": draw(st.sampled_from(ReviewPolicy)),
        "budget": draw(st.none() | st.builds(Budget, tokens=st.none() | numbers, turns=st.none() | numbers)),
        "capture": draw(st.sampled_from([None, "standard"])),
        "context_format": draw(st.sampled_from([None, ContextFormat.JSON])),
        "delegation": draw(st.none() | st.builds(Delegation, st.integers(1, 5))),
    }
    shared: Agent[object] = Agent("Shared", role=draw(st.none() | filled), goal=draw(st.none() | filled))
    made: list[Task] = []
    for number in range(draw(st.integers(1, 4))):
        made.append(draw(tasks(str(number), shared, made)))
    if draw(st.booleans()):
        phases: list[Phase] = []
        for number, task in enumerate(made):
            review = draw(phase_reviews(made[: number + 1]))
            phases.append(Phase(f"p{number} {draw(labels)}", [task], after=phases, review=review))
        ensemble = Ensemble(
            "Team", phases=phases, workflow=draw(st.sampled_from([None, Workflow.PARALLEL])), **settings
        )
    elif draw(st.booleans()):
        constraints = HierarchicalConstraints(
            required_workers={"Boss's friend"}, max_calls_per_worker={"Boss's friend": 2}
        )
        friend = Agent("Friend", role="Boss's friend")
        members = [friend, *dict.fromkeys(task.agent for task in made if task.agent is not None)]
        settings["review_policy"] = ReviewPolicy.NEVER  # a hierarchy does not run its tasks one by one
        made = [replace(task, when=None, review=None, output_guardrails=()) for task in made]
        workflow, manager = Workflow.HIERARCHICAL, draw(st.none() | st.just(Agent("Boss")))
        ensemble = Ensemble(
            "Firm", made, agents=members, workflow=workflow, manager=manager, constraints=constraints, **settings
        )
    else:
        ensemble = Ensemble("Line", made, workflow=draw(st.sampled_from([None, Workflow.PARALLEL])), **settings)
    ensemble.trace = draw(traces)
    return ensemble
