"""Ticket triage: what is worth most is done first, in the state that a ticket is in."""

import pytest

from examples.ticket_triage import ResolvedTicket, Security, Ticket, Triage, Warned, agent
from tactician import Platform, ProcessStatus
from tactician.testing import ScriptedModel

READ_AND_SORT = ["Triage.read", "Triage.sort"]


@pytest.fixture
def platform() -> Platform:
    """No model is asked anything."""
    return Platform(models=ScriptedModel())


@pytest.mark.parametrize(
    ("text", "steps", "handled_by"),
    {
        "what is worth more comes first, and the goal before what is worth less": (
            "The shop is down",
            [*READ_AND_SORT, "Critical.page_engineer", "Critical.update_status_page", "Critical.escalate"],
            "critical response",
        ),
        "a bug": ("The app crashes", [*READ_AND_SORT, "Bug.log_bug"], "engineering"),
        "a question": ("Where is the handbook?", [*READ_AND_SORT, "Question.answer"], "support"),
        "another team's action is triggered by a ticket": (
            "I lost my password",
            ["Triage.read", "Security.warn_security", "Triage.sort", "Question.answer"],
            "support",
        ),
    }.values(),
)
async def test_a_ticket_is_dealt_with_by_its_kind(
    platform: Platform, text: str, steps: list[str], handled_by: str
) -> None:
    process = await platform.start(agent, text)
    assert process.status is ProcessStatus.COMPLETED, process.failure
    assert [run.action for run in process.history] == steps
    assert isinstance(process.result, ResolvedTicket)
    assert process.result.handled_by == handled_by


async def test_a_state_forgets_who_was_warned_before_it(platform: Platform) -> None:
    process = await platform.start(agent, "Login is down, whatever password one tries")
    assert [run.action for run in process.history][1:4] == [
        "Security.warn_security",
        "Triage.sort",
        "Critical.page_engineer",
    ]
    assert str(process.result) == "Escalated to the engineer on call (critical response)"


async def test_a_component_alone_does_what_is_worth_while_and_is_never_done(platform: Platform) -> None:
    process = await platform.start(Security(), Ticket(text="I lost my password"))
    assert [run.action for run in process.history] == ["Security.warn_security"]
    assert process.last(Warned) == Warned(who="the security team")
    assert process.status is ProcessStatus.STUCK


async def test_a_trigger_needs_what_came_last(platform: Platform) -> None:
    process = await platform.start(Security(), Ticket(text="I lost my password"), Warned(who="somebody"))
    assert not process.history
    assert process.status is ProcessStatus.STUCK


async def test_triage_does_without_the_other_team(platform: Platform) -> None:
    process = await platform.start(Triage(), "I lost my password")
    assert process.status is ProcessStatus.COMPLETED, process.failure
    assert [run.action for run in process.history] == [*READ_AND_SORT, "Question.answer"]
