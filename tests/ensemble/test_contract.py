"""The programs of the contract for ensembles, as written, on a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from tactician import (
    END,
    Agent,
    ContextFormat,
    Delegation,
    Edge,
    Ensemble,
    Graph,
    HierarchicalConstraints,
    Loop,
    MapReduce,
    Phase,
    PhaseDecision,
    PhaseReview,
    Platform,
    Reflection,
    Review,
    ReviewDecision,
    ReviewPolicy,
    RunResult,
    RunStatus,
    Scope,
    SqlMemory,
    SqlReflections,
    Task,
    Window,
    Workflow,
    days,
)
from tactician.ensemble import EnsembleResult, ExitReason, TaskFailedError
from tactician.ensemble.values.delegation import (
    DelegationContext,
    DelegationDecision,
    DelegationRequest,
    allow,
    modify,
    reject,
)
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import (
    calculator,
    date_time,
    fetch_page,
    http_request,
    pipeline,
    query_json,
    read_file,
    run_program,
    web_search,
    write_file,
)
from tests.ensemble.support import over, says
from tests.support.stored import JsonStore


class Report(BaseModel):
    text: str


def newsroom(model: ScriptedModel) -> Ensemble:
    """The first program."""
    researcher = says("Researcher", "five findings")
    research = Task("Research {topic}", expected_output="Five findings", agent=researcher)
    report = Task("Write the report", context=[research], output_type=Report)
    check = Task("Count the words", handler=lambda t: len(t.context_outputs[0].raw.split()))
    return Ensemble("Newsroom", [research, report, check], model=model, workflow=Workflow.SEQUENTIAL)


async def test_the_newsroom(tmp_path: Path) -> None:
    ensemble = newsroom(ScriptedModel(Report(text="two words")))
    await ensemble.check({"topic": "AI"})
    assert "Write the report" in ensemble.to_mermaid()
    result = await ensemble.run({"topic": "AI"})
    assert isinstance(result, RunResult)
    assert (result.output, result.raw) == (2, "2")
    assert len(result.task_outputs) == 3
    assert result["Write the report"].parsed == Report(text="two words")
    assert (result.total_tool_calls, result.exit_reason) == (0, ExitReason.COMPLETED)
    assert result.duration >= 0
    assert result.cost is None, "nobody knows what a script costs"
    for name in ("json", "toon", "html"):
        getattr(result.trace, f"to_{name}")(str(tmp_path / f"trace.{name}"))
        assert "Count the words" in (tmp_path / f"trace.{name}").read_text("utf-8")


async def test_all_settings_have_the_names_of_the_contract(tmp_path: Path) -> None:
    address = str(tmp_path / "state.db")
    store = SqlReflections(address)
    memory = SqlMemory(address, scopes={"project": Scope(keep_last=50), "week": Scope(keep_within=days(7))})
    task = Task(
        "Write",
        id="write",
        expected_output="Text",
        role="Writer",
        goal="Write well",
        background="A poet",
        context=(),
        output_type=str,
        max_output_retries=3,
        tools=[calculator, read_file.within(tmp_path), pipeline(fetch_page, query_json, name="prices")],
        input_guardrails=(),
        output_guardrails=(),
        max_tool_calls=25,
        max_tool_output_chars=None,
        memory=["project", "week"],
        review=None,
        reflect=Reflection(max_reflections=5, strategy=lambda _: "Be short."),
        when=None,
    )
    ensemble = Ensemble(
        "All",
        [task],
        agents=None,
        model=ScriptedModel("text"),
        tools=[date_time, write_file, web_search, http_request, run_program],
        workflow=None,
        phases=None,
        manager=None,
        constraints=None,
        delegation=None,
        review_policy=ReviewPolicy.NEVER,
        reviewer=None,
        reflections=store,
        memory=memory,
        context_format=ContextFormat.JSON,
        on_error="continue",
        max_parallel=None,
        rate_limit=None,
        budget=None,
        listeners=(),
    )
    assert (await ensemble.run()).raw == "text"
    assert [entry.content for entry in await memory.entries("week")] == ["text"]
    assert [note for one in await store.load("write") for note in one.notes] == ["Be short."]
    await memory.aclose()
    await store.aclose()


async def test_phases_and_their_reviews() -> None:
    gather, verify, draft = (Task(name, handler=lambda _: "x") for name in ("gather", "verify", "draft"))
    reviewer_task = Task("Review", handler=lambda _: PhaseDecision.approve())
    research_phase = Phase("research", [gather, verify])
    review = PhaseReview(reviewer_task, max_retries=2, max_predecessor_retries=2)
    report = Phase("report", [draft], after=[research_phase], workflow=Workflow.PARALLEL, review=review)
    by_function = Phase("function", [Task("f", handler=lambda _: 1)], review=PhaseReview(lambda _: "APPROVE"))
    by_person = Phase("person", [Task("p", handler=lambda _: 1)], review=PhaseReview.by_person("editor"))
    ensemble = Ensemble("E", phases=[research_phase, report, by_function, by_person])
    platform = Platform(models=ScriptedModel(), store=JsonStore()).register(ensemble)
    waiting = await ensemble.run(context=platform.context())
    (request,) = waiting.pending
    result = await platform.respond(waiting.run_id, request.id, PhaseDecision.approve(), role="editor", by="Ann")
    assert isinstance(result, EnsembleResult)
    assert result.phase_outputs["report"].review.attempts == 1
    assert result.phase_outputs["report"].review.decision == PhaseDecision.approve()


async def test_reviews_of_tasks() -> None:
    reviews = [Review.before(), Review.after(prompt=None, timeout=300, on_timeout="exit_early", required_role=None)]
    tasks = [Task("Write", role="Writer", review=reviews), Task("Print", handler=lambda _: "x", review=Review.skip())]
    ensemble = Ensemble("E", tasks, model=ScriptedModel("first", "second"))
    platform = Platform(models=ScriptedModel(), store=JsonStore()).register(ensemble)
    result: object = await ensemble.run(context=platform.context())
    for decision in (
        ReviewDecision.approve(),
        ReviewDecision.retry("why"),
        ReviewDecision.edit("new text"),
    ):
        assert isinstance(result, EnsembleResult)
        result = await platform.respond(result.run_id, result.pending[0].id, decision)
    assert isinstance(result, EnsembleResult)
    assert (result.status, result["Write"].raw) == (RunStatus.COMPLETED, "new text")
    waiting = await Ensemble("E", tasks, model=ScriptedModel()).run(context=platform.context())
    ended = await platform.respond(waiting.run_id, waiting.pending[0].id, ReviewDecision.exit_early())
    assert isinstance(ended, EnsembleResult)
    assert ended.exit_reason is ExitReason.EXIT_EARLY


async def test_a_hierarchy_with_constraints_and_a_delegation_between_peers() -> None:
    model = ScriptedModel(
        ToolCall("delegate_task", role="Researcher", task="Find"),
        ToolCall("delegate_task", role="Writer", task="Write"),
        "done",
    )
    firm = Ensemble(
        "Firm",
        [Task("Report")],
        workflow=Workflow.HIERARCHICAL,
        agents=[says("Researcher", "facts"), says("Writer", "text")],
        manager=Agent(role="Boss", model=model),
        constraints=HierarchicalConstraints(
            required_workers={"Researcher"},
            allowed_workers={"Researcher", "Writer"},
            max_calls_per_worker={"Writer": 2},
            max_delegations=10,
            stages=[["Researcher"], ["Writer"]],
        ),
    )
    assert [output.raw for output in (await firm.run(context=over())).task_outputs] == ["facts", "text", "done"]

    def policy(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
        if request.task == "Lie":
            return reject("no lies")
        return modify(request) if context.depth else allow()

    calls = [ToolCall("delegate_task", role="Writer", task=task) for task in ("Lie", "Write")]
    analyst = Agent(role="Analyst", goal="Know all", allow_delegation=True, model=ScriptedModel(*calls, "known"))
    office = Ensemble(
        "Office",
        [Task("Analyse", agent=analyst)],
        agents=[analyst, says("Writer", "text")],
        delegation=Delegation(max_depth=3, policies=[policy]),
    )
    result = await office.run(context=over())
    assert [response.status.value for response in result.delegations] == ["failure", "success"]


async def test_loops_graphs_and_map_reduces() -> None:
    draft, critique = Task("draft", handler=lambda _: "text"), Task("critique", handler=lambda _: "APPROVED")
    loop = Loop(
        [draft, critique],
        until=lambda t: "APPROVED" in t.last.raw,
        max_iterations=5,
        on_limit="return_last",
        memory=Window(2),
        outputs="all",
    )
    ask, answer = Task("ask", handler=lambda _: "why"), Task("answer", handler=lambda _: "because")
    graph = Graph(
        {"ask": ask, "answer": answer},
        start="ask",
        edges=[Edge("ask", "answer", when=lambda t: t.last.raw == "why"), Edge("ask", END), Edge("answer", END)],
        max_steps=50,
    )
    many = MapReduce(
        list(range(7)),
        map=lambda item: Task(f"item {item}", handler=lambda _: item),
        reduce=lambda outputs: Task("sum", handler=lambda t: sum(int(output.raw) for output in t.context_outputs)),
        chunk_size=5,
        direct=lambda items: Task("direct", handler=lambda _: "direct"),
        max_levels=10,
    )
    small = MapReduce(
        ["a"],
        map=lambda item: Task(item),
        reduce=lambda outputs: Task("r"),
        max_tokens=8_000,
        direct=lambda items: Task("at once", handler=lambda _: "direct"),
    )
    result = await Ensemble("E", [loop, graph, many, small]).run(context=over())
    assert [output.raw for output in result.task_outputs] == ["APPROVED", "because", "21", "direct"]


async def test_errors_carry_what_was_completed() -> None:
    def fail(task: object) -> str:
        raise LookupError("gone")

    tasks = [Task("a", handler=lambda _: "x"), Task("b", handler=fail), Task("c", handler=lambda _: "y")]
    with pytest.raises(TaskFailedError) as caught:
        await Ensemble("E", tasks).run(context=over())
    error = caught.value
    assert (list(error.completed), list(error.failed), list(error.skipped)) == (["a"], ["b"], ["c"])
    assert error.result.trace.roots
