"""The example of phases with reviews, on its script."""

from __future__ import annotations

from examples.quarterly_report import agent, script
from tactician import PhaseDecision, RunContext
from tests.ensemble.support import prompt_of


async def test_figures_and_report_are_done_again_until_the_reviews_approve() -> None:
    model = script()
    result = await agent.run("Acme", context=RunContext.over(model))
    assert result.output == "Revenue grew by 12 % from Q3 to Q4. Prices rose."
    reviews = {name: output.review for name, output in result.phase_outputs.items()}
    assert [reviews[name].attempts for name in ("ingestion", "analysis", "reporting")] == [0, 2, 2]
    assert reviews["analysis"].history[0].decision == PhaseDecision.retry_predecessor(
        "the figures of Q4 are missing", "ingestion"
    )
    assert reviews["reporting"].decision == PhaseDecision.approve()
    assert result.phase_outputs["ingestion"].raw == "Q3: 4.1 million. Q4: 4.6 million."


async def test_the_feedback_is_in_the_prompts_of_the_tasks_that_are_done_again() -> None:
    model = script()
    await agent.run("Acme", context=RunContext.over(model))
    assert "### Feedback\n\nthe figures of Q4 are missing\n\n### Previous Output\n\nQ3: 4.1 million." in prompt_of(
        model, 3
    )
    assert "Revision" not in prompt_of(model, 4)
    assert "### Feedback\n\nthe report must include data of Q3 and Q4" in prompt_of(model, 7)
