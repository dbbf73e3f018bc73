"""Drawings of ensembles with phases."""

from __future__ import annotations

from tactician import Ensemble, Phase, PhaseReview, Task, Workflow


def test_reviews_stand_behind_the_last_tasks_and_lead_back_to_the_first_ones() -> None:
    a, b = Task("a", handler=lambda task: ""), Task("b", handler=lambda task: "")
    gather = Phase("gather", [a, b], workflow=Workflow.PARALLEL, review=PhaseReview.by_person("editor"))
    c = Task("c", context=[a], handler=lambda task: "")
    write = Phase("write", [c, Task("d", context=[c])], after=[gather], review=PhaseReview(lambda task: "APPROVE"))
    assert Ensemble("E", phases=[gather, write]).to_mermaid().splitlines() == [
        "flowchart LR",
        '    task_0["a<br/>(deterministic)"]',
        '    task_1["b<br/>(deterministic)"]',
        '    task_2["c<br/>(deterministic)"]',
        '    task_3["d<br/>Specialist"]',
        '    review_0{{"review<br/>gather<br/>editor"}}',
        '    review_1{{"review<br/>write<br/>(deterministic)"}}',
        "    task_0 --> task_2",
        "    task_2 --> task_3",
        "    task_0 --> review_0",
        "    task_1 --> review_0",
        '    review_0 -.->|"retry"| task_0',
        '    review_0 -.->|"retry"| task_1',
        "    task_3 --> review_1",
        '    review_1 -.->|"retry"| task_2',
    ]
