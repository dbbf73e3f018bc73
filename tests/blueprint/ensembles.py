"""Any ensemble, for hypothesis: tasks with all that a blueprint can say of them, alone or in phases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from tactician import (
    END,
    Agent,
    Budget,
    Edge,
    Ensemble,
    Graph,
    HierarchicalConstraints,
    InProcessMemory,
    InProcessReflections,
    Loop,
    MapReduce,
    Phase,
    PhaseReview,
    Reflection,
    Review,
    Scope,
    SqlMemory,
    SqlReflections,
    Task,
    Window,
    Workflow,
)
from tactician.context_format import ContextFormat, ToonFormatter
from tactician.ensemble import Delegation, ReviewPolicy
from tactician.ensemble.tasks.task import TaskLike
from tactician.stores import StoreVariable
from tactician.stores.address import StoreAddress
from tests.blueprint import acme
from tests.blueprint.constellations import KEYS, agents, labels, leaves, models, numbers, texts, tools, traces, types

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
        "memory": draw(st.sampled_from([(), ("project",), ("style", "project")])),
        "reflect": draw(st.sampled_from([False, True, Reflection(3), Reflection(strategy=acme.find_improvement)])),
    }
    kind = draw(st.sampled_from(["agent", "shared", "made", "handler"]))
    if kind == "handler":
        settings["handler"] = acme.count_words
    elif kind == "made":
        settings |= {"role": draw(st.none() | filled), "goal": draw(st.none() | filled), "model": draw(models())}
        settings |= {"output_type": draw(types), "tools": draw(tools)}
    else:
        settings["agent"] = shared if kind == "shared" else draw(agents() | leaves())
    return Task(f"{name} {draw(texts)}", **settings)


scalars = texts | st.integers() | st.booleans()
items = st.lists(scalars | st.dictionaries(labels, scalars, max_size=2), min_size=1, max_size=3)
end = st.sampled_from([None, acme.is_done])


def makers(name: str) -> st.SearchStrategy[Any]:
    """The function that makes a task, or a task as a template."""
    goals = st.none() | filled
    return st.just(acme.make_task) | st.builds(
        lambda text, goal: Task(f"{name} {text} {{item}}", goal=goal), texts, goals
    )


LEARNING: dict[str, Any] = {"memory": acme.Diary(), "reflections": acme.Journal()}


@st.composite
def groups(draw: st.DrawFn, name: str, shared: Agent[object], context: list[Task], depth: int) -> TaskLike:
    """A loop, a graph, a map-reduce or an ensemble, in which the tasks may be such groups again."""
    settings: dict[str, Any] = {"id": f"{name} group", "description": draw(st.just("") | filled)}
    if context:
        settings["context"] = draw(st.none() | st.lists(st.sampled_from(context), unique=True))
    inner: list[Task] = []
    for number in range(draw(st.integers(1, 3))):
        inner.append(draw(parts(f"{name}.{number}", shared, [*context, *inner], depth - 1)).as_task())
    match draw(st.sampled_from(["loop", "graph", "map", "ensemble"])):
        case "loop":
            memory = st.sampled_from(["accumulate", "fresh", Window(2)])
            outputs, limit = st.sampled_from(["last", "final_task", "all"]), st.sampled_from(["flag", "raise"])
            settings |= {"memory": draw(memory), "outputs": draw(outputs), "on_limit": draw(limit)}
            return Loop(inner, until=draw(end), max_iterations=draw(numbers), **settings)
        case "graph":
            states = {f"{draw(labels)} {place}'\".[": task for place, task in enumerate(inner)}
            names = list(states)
            edges = [Edge(name, END, when=acme.is_done) for name in names]
            edges += [Edge(name, other) for name, other in zip(names, [*names[1:], END], strict=True)]
            return Graph(states, start=names[0], edges=edges, max_steps=draw(numbers), **settings)
        case "map":
            sizes: list[dict[str, Any]] = [{}, {"chunk_size": 2}, {"max_tokens": 9, "estimate": acme.estimate}]
            settings |= {
                **draw(st.sampled_from(sizes)),
                "max_levels": draw(numbers),
                "max_parallel": draw(st.none() | numbers),
            }
            source = draw(items | st.just(acme.list_items))
            settings |= {"direct": draw(st.none() | makers("direct")), "max_parallel": draw(st.none() | numbers)}
            return MapReduce(source, map=draw(makers("map")), reduce=draw(makers("reduce")), **settings)
    return Ensemble(f"{name} crew", [draw(tasks("inner", shared, [])), Task("last")], model=draw(models()), **LEARNING)


def parts(name: str, shared: Agent[object], context: list[Task], depth: int = 2) -> st.SearchStrategy[TaskLike]:
    """A task, or a group in its place, or a task that a group does."""
    task = tasks(name, shared, context)
    if depth == 0:
        return task
    group = st.deferred(lambda: groups(name, shared, context, depth))
    done = group.map(lambda it: Task(f"{name} done", handler=it.as_task().handler, when=acme.is_due))
    return task | task | group | done


addresses: st.SearchStrategy[StoreAddress] = st.sampled_from(
    ["notes.db", "sqlite:///notes.db", StoreVariable("ACME_KEY", KEYS)]
)
memories: st.SearchStrategy[Any] = st.one_of(
    st.just(acme.Diary()),
    st.builds(
        lambda keep, age, embedder: InProcessMemory({"project": Scope(keep, age), "style": Scope()}, embedder=embedder),
        numbers,
        st.none() | numbers.map(lambda seconds: timedelta(seconds=seconds)),
        st.sampled_from([None, "text-embedding-3-small"]),
    ),
    st.builds(lambda address: SqlMemory(address, {"project": Scope(), "style": Scope(5)}), addresses),
)
stores: st.SearchStrategy[Any] = st.one_of(
    st.just(acme.Journal()),
    st.builds(lambda keep: InProcessReflections(keep_last=keep), st.integers(1, 1_000)),
    st.builds(lambda keep: SqlReflections("notes.db", keep_last=keep), st.integers(1, 1_000)),
)


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
        "context_format": draw(
            st.sampled_from([None, ContextFormat.JSON, acme.Upper(), ToonFormatter(indent=4, delimiter="\t")])
        ),
        "delegation": draw(st.none() | st.builds(Delegation, st.integers(1, 5))),
        "memory": draw(memories),
        "reflections": draw(stores),
        "rate_limit": draw(st.none() | st.integers(1, 9) | st.floats(0.1, 9)),
        "reviewer": draw(st.sampled_from([None, acme.answer])),
        "listeners": draw(st.sampled_from([(), (acme.listen,)])),
        "synthesize": draw(models()),
    }
    shared: Agent[object] = Agent("Shared", role=draw(st.none() | filled), goal=draw(st.none() | filled))
    kind = draw(st.sampled_from(["phases", "hierarchy", "tasks"]))
    made: list[Task] = []
    for number in range(draw(st.integers(1, 3))):
        made.append(draw(parts(str(number), shared, made, 0 if kind == "hierarchy" else 2)).as_task())
    if kind == "phases":
        phases: list[Phase] = []
        for number, task in enumerate(made):
            review = draw(phase_reviews(made[: number + 1]))
            phases.append(Phase(f"p{number} {draw(labels)}", [task], after=phases, review=review))
        ensemble = Ensemble(
            "Team", phases=phases, workflow=draw(st.sampled_from([None, Workflow.PARALLEL])), **settings
        )
    elif kind == "hierarchy":
        constraints = HierarchicalConstraints(
            required_workers={"Boss's friend"}, max_calls_per_worker={"Boss's friend": 2}
        )
        friend = Agent("Friend", role="Boss's friend")
        named = {str(getattr(task.agent, "name", "")): task.agent for task in made if task.agent is not None}
        made = [replace(task, agent=named.get(str(getattr(task.agent, "name", "")))) for task in made]
        members = [friend, *named.values()]
        settings["review_policy"] = ReviewPolicy.NEVER  # a hierarchy does not run its tasks one by one
        made = [replace(task, when=None, review=None, output_guardrails=(), reflect=False, memory=()) for task in made]
        agentless: dict[str, Any] = {"role": None, "goal": None, "background": None, "model": None, "tools": ()}
        made = [
            replace(task, **agentless) if task.agent is None and task.handler is None else task for task in made
        ]  # no agent is made for these
        workflow, manager = Workflow.HIERARCHICAL, draw(st.none() | st.just(Agent("Boss")))
        ensemble = Ensemble(
            "Firm", made, agents=members, workflow=workflow, manager=manager, constraints=constraints, **settings
        )
    else:
        ensemble = Ensemble("Line", made, workflow=draw(st.sampled_from([None, Workflow.PARALLEL])), **settings)
    ensemble.trace = draw(traces)
    return ensemble
