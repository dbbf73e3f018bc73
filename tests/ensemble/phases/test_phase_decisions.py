"""Decisions on phases: as objects, as JSON and as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import PhaseDecision
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput

READER = output_type(PhaseDecision)
FEEDBACK = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1).map(str.strip)
NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=20)
DECISIONS = st.one_of(
    st.just(PhaseDecision.approve()),
    FEEDBACK.filter(bool).map(PhaseDecision.retry),
    FEEDBACK.filter(bool).map(PhaseDecision.reject),
    st.builds(PhaseDecision.retry_predecessor, FEEDBACK.filter(bool), st.none() | NAMES),
)


@given(DECISIONS)
def test_the_text_of_a_decision_is_read_as_the_same_decision(decision: PhaseDecision) -> None:
    assert READER.parse(str(decision)) == decision
    assert READER.accept(str(decision)) == decision


@given(st.text())
def test_any_other_text_is_no_decision_and_no_approval(text: str) -> None:
    if text.strip().upper() == "APPROVE":
        return
    try:
        decision = READER.parse(text)
    except InvalidOutput:
        return
    assert decision.feedback


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("APPROVE", PhaseDecision.approve()),
        ("  approve\n", PhaseDecision.approve()),
        ("RETRY: more detail", PhaseDecision.retry("more detail")),
        ("RETRY:more\nand: more", PhaseDecision.retry("more\nand: more")),
        ("RETRY_PREDECESSOR: fix it", PhaseDecision.retry_predecessor("fix it")),
        ("RETRY_PREDECESSOR data ingestion: fix it", PhaseDecision.retry_predecessor("fix it", "data ingestion")),
        ("REJECT: made up", PhaseDecision.reject("made up")),
        ('RETRY: write {"verdict": "approve"}', PhaseDecision.retry('write {"verdict": "approve"}')),
        ('{"verdict": "retry", "feedback": "more"}', PhaseDecision.retry("more")),
    ],
)
def test_each_form_is_read(text: str, decision: PhaseDecision) -> None:
    assert READER.parse(text) == decision


@pytest.mark.parametrize(
    "wrong",
    [
        '{"verdict": "retry"}', '{"verdict": "accept"}', '{"verdict": "reject", "feedback": " "}',
        '{"verdict": "retry", "feedback": "x", "phase": "y"}', "RETRY now: x", "OK",
    ],
)  # fmt: skip
def test_what_is_no_decision_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidOutput):
        READER.parse(wrong)


def test_a_decision_needs_its_reason() -> None:
    with pytest.raises(ValueError, match="needs feedback"):
        PhaseDecision.retry(" ")
    with pytest.raises(ValueError, match="leave it out"):
        PhaseDecision("retry", "more", "first")


def test_a_decision_is_one_of_four() -> None:
    with pytest.raises(ValueError, match="the verdict 'accept' is not one of 'approve', 'retry'"):
        PhaseDecision("accept", "fine")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the feedback 5 is not a text"):
        PhaseDecision("retry", 5)  # type: ignore[arg-type]
